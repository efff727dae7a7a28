#include "states/visit.h"

#include <fmt/format.h>

#include "base/big_integer.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/excerpt.h"
#include "cloudevents/event_check.h"
#include "cloudevents/json_format.h"
#include "model/hops.h"
#include "states/child_id.h"

namespace millrace {
namespace {

/// The largest event that fits into one message of a broker with the default max_payload of 1 MiB,
/// minus space for headers.
constexpr size_t kMaxGeneratedEventBytes = size_t{1024 - 16} * 1024;

/// The largest factor by which a text grows when its characters are escaped in JSON. The factor of
/// Base64 is smaller.
constexpr size_t kWorstGrowth = 6;

/// An upper bound for the id, the time, and the names and punctuation of the core attributes.
constexpr size_t kEnvelopeBytes = 512;

/// The maximum number of jq programs that are sent to a jq worker in one round trip.
constexpr size_t kQueriesAtOnce = 1'000;

Outcome raise(const Error& error) { return Raise{{error.code, error.message}}; }

Raise data_too_deep() {
  return {{"millrace.limits.data",
           fmt::format("the data would be nested deeper than {} levels", kMaxJsonDepth)}};
}

constexpr std::string_view kTooDeep = "direktiv.limits.depth";

bool is_too_large(const Event& event) {
  const auto size_of = [](const std::optional<std::string>& text) {
    return text ? text->size() : 0;
  };
  size_t size = kEnvelopeBytes + event.source.size() + event.type.size() + size_of(event.data) +
                size_of(event.subject) + size_of(event.dataschema) + size_of(event.datacontenttype);
  for (const auto& [name, value] : event.extensions) {
    const auto* const text = std::get_if<std::string>(&value);
    size += kEnvelopeBytes + name.size() + (text ? text->size() : 0);
  }
  if (size * kWorstGrowth < kMaxGeneratedEventBytes) return false;
  return encode_json_event(event).size() > kMaxGeneratedEventBytes;
}

/// The outcome of reading a damaged row.
Outcome damaged(const Error& error) { return Raise{{std::string(kDamagedStore), error.message}}; }

/// The latest effect that sets the variable with that name; null if none does.
const SetVariable* newest(const std::vector<Effect>& effects, const VariableName& name) {
  for (auto effect = effects.rbegin(); effect != effects.rend(); ++effect) {
    const auto* const set = std::get_if<SetVariable>(&*effect);
    if (set != nullptr && set->name == name) return set;
  }
  return nullptr;
}

}  // namespace

Visit::Visit(Instance& instance, TimePoint now, std::span<const EvaluationResult> results,
             const Lookup& lookup, const std::vector<Effect>& earlier, CallPortion portion)
    : instance_(instance),
      now_(now),
      results_(results),
      lookup_(lookup),
      earlier_(earlier),
      portion_(portion) {}

Evaluated<const EvaluationResult*> Visit::ask(Evaluation evaluation) {
  CHECK(!acted_,
        "a state requested an evaluation after it had acted; expected the evaluation first");
  if (results_used_ < results_.size()) return &results_[results_used_++];
  evaluation.now = now_;
  evaluation.lane = static_cast<uint64_t>(instance_.revision.workflow);
  effects_.emplace_back(Evaluate{.ns = instance_.ns,
                                 .instance = instance_.id,
                                 .step = evaluation_of(instance_),
                                 .before = {results_.begin(), results_.end()},
                                 .evaluation = std::move(evaluation)});
  return tl::unexpected(Outcome(Park{}));
}

Evaluated<std::vector<Json>> Visit::run(std::span<const Job> jobs) {
  std::vector<QueryResult> slow;
  Evaluation evaluation;
  const auto ask_these = [&]() -> std::optional<Outcome> {
    auto asked = ask(std::exchange(evaluation, {}));
    if (!asked) return std::move(asked).error();
    slow.insert(slow.end(), (*asked)->begin(), (*asked)->end());
    return std::nullopt;
  };
  for (const Job& job : jobs) {
    if (job.program->fast != nullptr) continue;
    evaluation.queries.push_back({.program = job.program->text, .input = job.input->shared_text()});
    if (evaluation.queries.size() < kQueriesAtOnce) continue;
    if (auto instead = ask_these()) return tl::unexpected(std::move(*instead));
  }
  if (!evaluation.queries.empty()) {
    if (auto instead = ask_these()) return tl::unexpected(std::move(*instead));
  }

  std::vector<Json> values;
  values.reserve(jobs.size());
  size_t next_slow = 0;
  for (const Job& job : jobs) {
    auto value = job.program->fast ? job.program->fast->run(job.input->value())
                                   : std::move(slow[next_slow++]);
    if (!value) return tl::unexpected(raise(value.error()));
    values.push_back(std::move(*value));
  }
  return values;
}

Evaluated<std::vector<Json>> Visit::run(std::span<const Program* const> programs) {
  std::vector<Job> jobs;
  jobs.reserve(programs.size());
  for (const Program* program : programs) jobs.push_back({program, &instance_.data});
  return run(jobs);
}

Evaluated<std::vector<Json>> Visit::evaluate(std::span<const Over> all) {
  std::vector<Job> jobs;
  for (const Over& one : all) {
    for (const Program& program : one.value->programs()) jobs.push_back({&program, one.input});
  }
  auto results = run(jobs);
  if (!results) return tl::unexpected(std::move(results).error());

  std::span<const Json> rest = *results;
  std::vector<Json> values;
  values.reserve(all.size());
  for (const Over& one : all) {
    const size_t count = one.value->programs().size();
    values.push_back(one.value->assemble(rest.first(count)));
    rest = rest.subspan(count);
  }
  return values;
}

Evaluated<std::vector<Json>> Visit::evaluate(std::span<const Template* const> templates) {
  std::vector<Over> all;
  all.reserve(templates.size());
  for (const Template* one : templates) all.push_back({one, &instance_.data});
  return evaluate(all);
}

Evaluated<Json> Visit::evaluate(const Template& one) {
  const Template* const only = &one;
  auto values = evaluate({&only, 1});
  if (!values) return tl::unexpected(std::move(values).error());
  return std::move(values->front());
}

Evaluated<std::optional<size_t>> Visit::first_true(std::span<const Template> conditions) {
  size_t i = 0;
  while (i < conditions.size()) {
    const Program* const whole = conditions[i].whole();
    if (whole == nullptr || whole->fast != nullptr) {
      auto value = evaluate(conditions[i]);
      if (!value) return tl::unexpected(std::move(value).error());
      if (is_true(*value)) return i;
      ++i;
      continue;
    }
    // One round trip for this condition and the following ones; the jq worker stops at the first
    // condition that is true.
    Evaluation evaluation{.stop_at_true = true};
    for (size_t j = i; j < conditions.size() && conditions[j].whole() != nullptr; ++j) {
      evaluation.queries.push_back({.program = conditions[j].whole()->text,
                                    .input = instance_.data.shared_text(),
                                    .mode = Query::Mode::kCondition});
    }
    const size_t asked_for = evaluation.queries.size();
    auto results = ask(std::move(evaluation));
    if (!results) return tl::unexpected(std::move(results).error());
    for (size_t j = 0; j < (*results)->size(); ++j) {
      const QueryResult& result = (**results)[j];
      if (!result) return tl::unexpected(raise(result.error()));
      if (is_true(*result)) return i + j;
    }
    i += asked_for;
  }
  return std::nullopt;
}

std::optional<Outcome> Visit::validate(const std::string& schema,
                                       const std::optional<Json>& subject) {
  Evaluation evaluation;
  evaluation.queries.push_back(
      {.program = schema,
       .input = subject ? std::make_shared<const std::string>(dump_json(*subject))
                        : instance_.data.shared_text(),
       .mode = Query::Mode::kSchema});
  auto results = ask(std::move(evaluation));
  if (!results) return std::move(results).error();
  const QueryResult& matches = (*results)->front();
  if (!matches) return raise(matches.error());
  return std::nullopt;
}

std::optional<Raise> Visit::set_data(Json data) {
  acted_ = true;
  if (nests_deeper(data, kMaxJsonDepth)) return data_too_deep();
  changed_data_ = true;
  instance_.data = LazyJson(std::move(data));
  return std::nullopt;
}

std::optional<Raise> Visit::put(const std::string& key, Json value) {
  acted_ = true;
  if (!data().is_object()) {
    return Raise{{"direktiv.jq.notObject",
                  fmt::format("\"{}\" cannot be added: the data is {}, not an object", excerpt(key),
                              type_name_of(data()))}};
  }
  if (nests_deeper(value, kMaxJsonDepth - 1)) return data_too_deep();
  changed_data_ = true;
  instance_.data.edit()[key] = std::move(value);
  return std::nullopt;
}

void Visit::listen(size_t entry, EventFilter filter) {
  acted_ = true;
  instance_.listeners.push_back(
      {.entry = static_cast<uint32_t>(entry), .filter = std::move(filter)});
}

void Visit::stop_listening(size_t entry) {
  std::erase_if(instance_.listeners, [&](const Listener& one) { return one.entry == entry; });
}

void Visit::wait_until(TimePoint deadline) {
  acted_ = true;
  instance_.timers.push_back({.kind = TimerKind::kDelay, .deadline = deadline});
}

std::optional<Raise> Visit::publish(Event event, std::optional<TimePoint> at) {
  acted_ = true;
  event.id = fmt::format("{}-{}-{}", to_string(instance_.id), instance_.step, published_++);
  event.time = format_rfc3339(now_);
  const bool begins_chain = at && *at - now_ >= kLongWait;
  const uint32_t hops = begins_chain ? 1 : instance_.hops + 1;
  event.extensions.insert_or_assign(std::string(kHopsAttribute), static_cast<int32_t>(hops));
  if (const Status valid = check_event(event); !valid) {
    return Raise{{"millrace.event.invalid", valid.error().message}};
  }
  if (is_too_large(event)) {
    return Raise{{"millrace.event.tooLarge",
                  fmt::format("the event is larger than {} bytes, the most that can be published",
                              kMaxGeneratedEventBytes)}};
  }
  LazyJson detail = LazyJson::object({{"type", event.type}, {"id", event.id}});
  if (at) detail.edit()["at"] = format_rfc3339(*at);
  if (hops > kMaxHops) detail.edit()["deadLetter"] = kHopsError;
  record(HistoryKind::kPublished, std::move(detail));
  effects_.emplace_back(Publish{.ns = instance_.ns, .event = std::move(event), .at = at});
  return std::nullopt;
}

std::optional<Raise> Visit::refuse_depth() const {
  if (instance_.depth < kMaxDepth) return std::nullopt;
  return Raise{{std::string(kTooDeep),
                fmt::format("subflows are already nested {} deep, which is the limit", kMaxDepth)}};
}

StartTask Visit::task(const Function& function, const Call& call) const {
  StartTask task{.ns = instance_.ns,
                 .task = call.id,
                 .by = instance_.id,
                 .workflow = instance_.revision.workflow,
                 .function = function.id,
                 .attempt = call.attempt,
                 .files = function.files,
                 .input = call.input,
                 .sealed = instance_.sealed | call.sealed};
  if (const auto* service = std::get_if<NamedService>(&function.runs)) task.runs = *service;
  if (const auto* container = std::get_if<Container>(&function.runs)) task.runs = *container;
  return task;
}

void Visit::start_call(size_t index, const Function& function, const ActionPolicy& policy) {
  acted_ = true;
  Call& call = instance_.calls[index];
  call.status = Call::Status::kRunning;
  call.retry_at.reset();
  const Caller caller{.instance = instance_.id,
                      .entered = instance_.entered,
                      .index = static_cast<uint32_t>(index),
                      .attempt = ++call.attempt};
  call.id = child_id(lookup_.id_key(), caller, now_);
  const auto arm = [&](TimeoutKind kind) {
    const auto& timeout = policy.timeouts[kind];
    if (timeout) call.deadlines[static_cast<size_t>(kind)] = timeout->span.after(now_);
  };
  if (call.attempt == 1) call.first_at = now_;
  if (call.attempt == 1 || instance_.retried) arm(TimeoutKind::kScheduleToClose);
  Json detail{{"function", function.id}, {"index", index}, {"attempt", call.attempt}};
  const Subflow* const subflow = function.subflow();
  call.outside = subflow == nullptr;
  call.started = false;
  if (call.outside) {
    arm(TimeoutKind::kScheduleToStart);
    detail["task"] = to_string(call.id);
    StartTask task = this->task(function, call);
    task.caller = caller;
    const auto& heartbeat = policy.timeouts[TimeoutKind::kHeartbeat];
    if (heartbeat) task.heartbeat = heartbeat->span.after(now_) - now_;
    const auto& attempt = policy.timeouts[TimeoutKind::kStartToClose];
    if (attempt) task.start_to_close = attempt->span.after(now_) - now_;
    task.deadline = latest_end(instance_, call);
    effects_.emplace_back(std::move(task));
  } else {
    begin_call(index, policy.timeouts);
    arm(TimeoutKind::kHeartbeat);
    detail.update({{"workflow", subflow->workflow}, {"instance", to_string(call.id)}});
    effects_.emplace_back(StartChild{.ns = instance_.ns,
                                     .child = call.id,
                                     .workflow = subflow->workflow,
                                     .input = call.input,
                                     .caller = caller,
                                     .by = instance_.id,
                                     .depth = instance_.depth + 1,
                                     .hops = instance_.hops,
                                     .sealed = instance_.sealed | call.sealed});
  }
  record(HistoryKind::kCalled, std::move(detail));
  if (!policy.retries || !policy.retries->allows_after(call.attempt)) call.input = {};
}

void Visit::begin_call(size_t index, const TimeoutPolicy& timeouts) {
  Call& call = instance_.calls[index];
  call.started = true;
  call.deadlines[static_cast<size_t>(TimeoutKind::kScheduleToStart)].reset();
  if (const auto& timeout = timeouts[TimeoutKind::kStartToClose]) {
    call.deadlines[static_cast<size_t>(TimeoutKind::kStartToClose)] = timeout->span.after(now_);
  }
}

void Visit::restart_timeout(size_t index, const TimeoutPolicy& timeouts) {
  for (size_t i = 0; i < kTimeoutKinds; ++i) {
    restart_timeout(index, static_cast<TimeoutKind>(i), timeouts);
  }
}

void Visit::restart_timeout(size_t index, TimeoutKind kind, const TimeoutPolicy& timeouts) {
  auto& deadline = instance_.calls[index].deadlines[static_cast<size_t>(kind)];
  const auto& timeout = timeouts[kind];
  if (deadline && timeout) deadline = timeout->span.after(now_);
}

bool Visit::is_held(const Function& function) const {
  const auto* const service = std::get_if<NamedService>(&function.runs);
  return service != nullptr && lookup_.is_held(instance_.ns, *service);
}

Effect stopping(const Instance& instance, const Call& call, bool at_once) {
  if (call.outside) return StopTask{call.id};
  return CancelChild{instance.ns, call.id, at_once};
}

void Visit::stop_call(size_t index) {
  effects_.push_back(stopping(instance_, instance_.calls[index]));
}

void Visit::retry_call(size_t index, TimePoint at) {
  Call& call = instance_.calls[index];
  call.status = Call::Status::kBetween;
  call.retry_at = at;
  for (size_t i = 0; i < kTimeoutKinds; ++i) {
    const bool continues = static_cast<TimeoutKind>(i) == TimeoutKind::kScheduleToClose;
    if (!continues || instance_.retried) call.deadlines[i].reset();
  }
  record(HistoryKind::kRetrying,
         Json{{"index", index}, {"attempt", call.attempt + 1}, {"at", format_rfc3339(at)}});
}

void Visit::arm_calls(std::optional<TimePoint> at) {
  auto& timers = instance_.timers;
  std::erase_if(timers, [](const Timer& timer) { return timer.kind == TimerKind::kCalls; });
  if (instance_.paused) return;
  std::optional<TimePoint> first = at;
  const auto note = [&](const std::optional<TimePoint>& due) {
    if (due) first = std::min(first.value_or(*due), *due);
  };
  for (const Call& call : instance_.calls) {
    note(call.retry_at);
    for (const auto& deadline : call.deadlines) note(deadline);
  }
  if (first) timers.push_back({.kind = TimerKind::kCalls, .deadline = *first});
}

const ServicePolicy* Visit::service_policy(const Function& function) const {
  const auto* const service = std::get_if<NamedService>(&function.runs);
  return service == nullptr ? nullptr : lookup_.service_policy(instance_.ns, *service);
}

std::optional<TimePoint> Visit::last_moved(const Call& call) const {
  return lookup_.last_moved(instance_.ns, call.id);
}

std::optional<Raise> Visit::start_detached(const Function& function, Call call) {
  acted_ = true;
  const Caller place{.instance = instance_.id, .entered = instance_.entered, .index = detached_++};
  call.id = child_id(lookup_.id_key(), place, now_);
  Json detail{{"function", function.id}, {"async", true}};
  const Subflow* const subflow = function.subflow();
  if (subflow == nullptr) {
    detail["task"] = to_string(call.id);
    record(HistoryKind::kCalled, std::move(detail));
    call.attempt = 1;
    effects_.emplace_back(task(function, call));
    return std::nullopt;
  }
  if (instance_.hops >= kMaxHops) {
    return Raise{{std::string(kTooDeep),
                  fmt::format("this subflow would be number {} in a chain of detached subflows of "
                              "which none waited for at least one second; the limit is {}",
                              kMaxHops + 1, kMaxHops)}};
  }
  detail.update({{"workflow", subflow->workflow}, {"instance", to_string(call.id)}});
  record(HistoryKind::kCalled, std::move(detail));
  effects_.emplace_back(StartChild{.ns = instance_.ns,
                                   .child = call.id,
                                   .workflow = subflow->workflow,
                                   .input = std::move(call.input),
                                   .by = instance_.id,
                                   .hops = instance_.hops + 1,
                                   .sealed = instance_.sealed | call.sealed});
  return std::nullopt;
}

Evaluated<std::optional<Variable>> Visit::variable(VariableScope scope, const std::string& key) {
  const VariableName name{owner_of(instance_, scope), key};
  const SetVariable* set = newest(effects_, name);
  if (set == nullptr) set = newest(earlier_, name);
  if (set != nullptr) return note_sealed(set->value);
  auto found = lookup_.variable(name);
  if (!found) return tl::unexpected(damaged(found.error()));
  return note_sealed(std::move(*found));
}

std::optional<Variable> Visit::note_sealed(std::optional<Variable> found) {
  if (found) instance_.sealed |= found->sealed;
  return found;
}

Evaluated<std::optional<std::string>> Visit::secret(std::string_view name) const {
  auto found = lookup_.secret(instance_.ns, name);
  if (!found) return tl::unexpected(damaged(found.error()));
  return std::move(*found);
}

void Visit::set_variable(VariableScope scope, const std::string& key,
                         std::optional<Variable> value) {
  acted_ = true;
  CHECK(!value || value->bytes.size() <= kMaxVariableBytes,
        "a variable to set has {} bytes, expected at most {}", value->bytes.size(),
        kMaxVariableBytes);
  if (value) value->sealed = instance_.sealed;
  effects_.emplace_back(
      SetVariable{.name = {owner_of(instance_, scope), key}, .value = std::move(value)});
}

void Visit::fail_at_end(Error error) {
  acted_ = true;
  if (instance_.error) return;
  record(HistoryKind::kFixed, LazyJson::object({{"code", error.code}, {"msg", error.message}}));
  if (data().is_object() && data().contains("error")) {
    changed_data_ = true;
    instance_.data.edit()["error"] = {{"code", error.code}, {"msg", error.message}};
  }
  instance_.error = std::move(error);
}

void Visit::record(HistoryKind kind, LazyJson detail) {
  history_.push_back({.time = now_, .kind = kind, .detail = std::move(detail)});
}

}  // namespace millrace
