#include "states/visit.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/excerpt.h"
#include "base/json_members.h"
#include "cloudevents/event_check.h"
#include "cloudevents/json_format.h"
#include "model/hops.h"
#include "states/instance_value.h"

namespace millrace {
namespace {

/// The largest event that fits into one message of a broker with the default max_payload of 1 MiB,
/// minus space for headers.
constexpr size_t kMaxGeneratedEventBytes = size_t{1024 - 16} * 1024;

/// The largest factor by which a text grows when its characters are escaped in JSON. JSON data does
/// not grow, unless it becomes Base64, whose factor is smaller than 2.
constexpr size_t kWorstGrowth = 6;
constexpr size_t kWorstGrowthOfJson = 2;

/// An upper bound for the id, the time, and the names and punctuation of the core attributes.
constexpr size_t kEnvelopeBytes = 512;

/// The maximum number of jq programs that are sent to a jq worker in one round trip.
constexpr size_t kQueriesAtOnce = 1'000;

/// The bytes that the fast lane may copy, compare and write for the jq programs that are evaluated
/// together. What needs more goes to a jq worker.
constexpr size_t kFastBytes = kLargeJson;

Outcome raise(const Error& error) { return Raise{{error.code, error.message}}; }

/// Whether the results of one template are together larger than a result may be.
bool exceeds_result(std::span<const LazyJson> results) {
  size_t bytes = 0;
  for (const LazyJson& result : results) bytes += result.weight();
  return results.size() > 1 && bytes > kMaxResultBytes;
}

Raise data_too_deep() {
  return {{"millrace.limits.data",
           fmt::format("the data would be nested deeper than {} levels", kMaxJsonDepth)}};
}

bool is_too_large(const Event& event) {
  const auto size_of = [](const std::optional<std::string>& text) {
    return text ? text->size() : 0;
  };
  size_t size = kEnvelopeBytes + event.source.size() + event.type.size() + size_of(event.subject) +
                size_of(event.dataschema) + size_of(event.datacontenttype);
  for (const auto& [name, value] : event.extensions) {
    const auto* const text = std::get_if<std::string>(&value);
    size += kEnvelopeBytes + name.size() + (text ? text->size() : 0);
  }
  const bool is_json = is_json_content_type(event.datacontenttype);
  const size_t of_data = size_of(event.data) * (is_json ? kWorstGrowthOfJson : kWorstGrowth);
  if (size * kWorstGrowth + of_data < kMaxGeneratedEventBytes) return false;
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
             const Lookup& lookup, const std::vector<Effect>& earlier, CallPortion portion,
             const EarlyEvents* early, const Workflow* workflow, std::optional<TimePoint> asked_at)
    : instance_(instance),
      now_(now),
      program_now_(asked_at.value_or(now)),
      results_(results),
      lookup_(lookup),
      earlier_(earlier),
      portion_(portion),
      early_(early),
      workflow_(workflow) {}

Evaluated<const Bindings*> Visit::bindings(bool names_instance) {
  if (workflow_ == nullptr) return nullptr;
  bindings_.now = program_now_;
  if (!names_instance || instance_value_) return &bindings_;
  auto made = instance_value(instance_, *workflow_, lookup_);
  if (!made) return tl::unexpected(damaged(made.error()));
  instance_value_ = std::move(*made);
  bindings_.instance = &*instance_value_;
  return &bindings_;
}

Evaluated<const EvaluationResult*> Visit::ask(Evaluation evaluation, const Bindings* bindings) {
  CHECK(!acted_,
        "a state requested an evaluation after it had acted; expected the evaluation first");
  if (results_used_ < results_.size()) return &results_[results_used_++];
  evaluation.now = program_now_;
  if (bindings != nullptr && bindings->instance != nullptr) {
    evaluation.instance = bindings->instance->shared_text();
  }
  evaluation.lane = static_cast<uint64_t>(instance_.revision.workflow);
  evaluation.space = static_cast<uint64_t>(instance_.ns);
  effects_.emplace_back(Evaluate{.ns = instance_.ns,
                                 .instance = instance_.id,
                                 .step = evaluation_of(instance_),
                                 .before = {results_.begin(), results_.end()},
                                 .evaluation = std::move(evaluation)});
  return tl::unexpected(Outcome(Park{}));
}

/// Which jobs go to the jq workers depends only on the values, because the visit is repeated from
/// its beginning with the results.
Evaluated<std::vector<LazyJson>> Visit::run(std::span<const Job> jobs) {
  const bool names_instance = std::any_of(
      jobs.begin(), jobs.end(), [](const Job& job) { return job.program->names_instance; });
  const auto bound = bindings(names_instance);
  if (!bound) return tl::unexpected(bound.error());
  std::vector<LazyJson> values;
  values.reserve(jobs.size());
  std::vector<size_t> slow;        // the indexes of the jobs for the jq workers
  std::optional<Failure> failure;  // of the fast lane
  size_t left = kFastBytes;
  const LazyJson* counted = jobs.empty() ? nullptr : jobs.front().input;
  for (const Job& job : jobs) {
    const size_t index = values.size();
    LazyJson& value = values.emplace_back();
    if (failure && job.program->fast != nullptr) continue;  // an error is raised in any case
    // The first input is parsed at most once for all jobs; each further one counts as well.
    const bool is_parsed = job.input != counted && !job.input->is_large();
    const size_t parsed = is_parsed ? job.input->weight() : 0;
    counted = job.input;
    std::optional<QueryResult> result;
    if (job.program->fast != nullptr && parsed <= left) {
      left -= parsed;
      result = job.program->fast->run_within(*job.input, left, jobs.size() > 1, *bound);
    }
    if (!result) {
      slow.push_back(index);
    } else if (*result) {
      value = std::move(**result);
    } else {
      failure = Failure{index, std::move(result->error())};
    }
  }
  if (!slow.empty()) {
    auto failed = run_slow(jobs, slow, *bound, values);
    if (!failed) return tl::unexpected(std::move(failed).error());
    if (*failed && (!failure || (*failed)->job < failure->job)) failure = std::move(**failed);
  }
  if (failure) return tl::unexpected(raise(failure->error));
  return values;
}

Evaluated<std::optional<Visit::Failure>> Visit::run_slow(std::span<const Job> jobs,
                                                         std::span<const size_t> slow,
                                                         const Bindings* bound,
                                                         std::vector<LazyJson>& values) {
  std::optional<Failure> failure;
  while (!slow.empty()) {
    const auto some = slow.first(std::min(slow.size(), kQueriesAtOnce));
    slow = slow.subspan(some.size());
    Evaluation evaluation;
    for (const size_t index : some) {
      evaluation.queries.push_back(
          {.program = jobs[index].program->text, .input = jobs[index].input->shared_text()});
    }
    auto asked = ask(std::move(evaluation), bound);
    if (!asked) return tl::unexpected(std::move(asked).error());
    const EvaluationResult& results = **asked;
    for (size_t i = 0; i < results.size() && i < some.size() && !failure; ++i) {
      if (results[i]) {
        values[some[i]] = *results[i];
      } else {
        failure = Failure{some[i], results[i].error()};
      }
    }
  }
  return failure;
}

Evaluated<std::vector<LazyJson>> Visit::run(std::span<const Program* const> programs) {
  std::vector<Job> jobs;
  jobs.reserve(programs.size());
  for (const Program* program : programs) jobs.push_back({program, &instance_.data});
  return run(jobs);
}

Evaluated<std::vector<LazyJson>> Visit::evaluate(std::span<const Over> all) {
  std::vector<Job> jobs;
  for (const Over& one : all) {
    for (const Program& program : one.value->programs()) jobs.push_back({&program, one.input});
  }
  auto results = run(jobs);
  if (!results) return tl::unexpected(std::move(results).error());

  std::span<const LazyJson> rest = *results;
  std::vector<LazyJson> values;
  values.reserve(all.size());
  for (const Over& one : all) {
    const auto own = rest.first(one.value->programs().size());
    if (exceeds_result(own)) return tl::unexpected(raise(result_too_large().value()));
    values.push_back(one.value->assemble(own));
    rest = rest.subspan(own.size());
  }
  return values;
}

Evaluated<std::vector<LazyJson>> Visit::evaluate(std::span<const Template* const> templates) {
  std::vector<Over> all;
  all.reserve(templates.size());
  for (const Template* one : templates) all.push_back({one, &instance_.data});
  return evaluate(all);
}

Evaluated<LazyJson> Visit::evaluate(const Template& one) {
  const Template* const only = &one;
  auto values = evaluate({&only, 1});
  if (!values) return tl::unexpected(std::move(values).error());
  return std::move(values->front());
}

Evaluated<LazyJson> Visit::evaluate_over(const Template& one, const LazyJson& input) {
  const Over only{.value = &one, .input = &input};
  auto values = evaluate({&only, 1});
  if (!values) return tl::unexpected(std::move(values).error());
  return std::move(values->front());
}

Evaluated<std::optional<size_t>> Visit::first_true(std::span<const Template> conditions) {
  const bool names_instance =
      std::any_of(conditions.begin(), conditions.end(), std::mem_fn(&Template::names_instance));
  const auto bound = bindings(names_instance);
  if (!bound) return tl::unexpected(bound.error());
  size_t left = kFastBytes;
  size_t i = 0;
  while (i < conditions.size()) {
    const Program* const whole = conditions[i].whole();
    std::optional<QueryResult> result;
    if (whole == nullptr) {
      auto value = evaluate(conditions[i]);
      if (!value) return tl::unexpected(std::move(value).error());
      result = QueryResult(std::move(*value));
    } else if (whole->fast != nullptr) {
      result = whole->fast->run_within(instance_.data, left, false, *bound);
    }
    if (result) {
      if (!*result) return tl::unexpected(raise(result->error()));
      if (is_true(**result)) return i;
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
    auto results = ask(std::move(evaluation), *bound);
    if (!results) return tl::unexpected(std::move(results).error());
    for (size_t j = 0; j < (*results)->size(); ++j) {
      const QueryResult& answer = (**results)[j];
      if (!answer) return tl::unexpected(raise(answer.error()));
      if (is_true(*answer)) return i + j;
    }
    i += asked_for;
  }
  return std::nullopt;
}

std::optional<Outcome> Visit::validate(const std::string& schema,
                                       const std::optional<LazyJson>& subject) {
  Evaluation evaluation;
  evaluation.queries.push_back(
      {.program = schema,
       .input = subject ? subject->shared_text() : instance_.data.shared_text(),
       .mode = Query::Mode::kSchema});
  auto results = ask(std::move(evaluation), nullptr);
  if (!results) return std::move(results).error();
  const QueryResult& matches = (*results)->front();
  if (!matches) return raise(matches.error());
  return std::nullopt;
}

std::optional<Raise> Visit::set_data(LazyJson data) {
  acted_ = true;
  if (data.nests_deeper(kMaxJsonDepth)) return data_too_deep();
  changed_data_ = true;
  instance_.data = std::move(data);
  return std::nullopt;
}

std::optional<Raise> Visit::put(const std::string& key, LazyJson value) {
  acted_ = true;
  if (!data().is_object()) {
    return Raise{{"direktiv.jq.notObject",
                  fmt::format("\"{}\" cannot be added: the data is {}, not an object", excerpt(key),
                              data().type_name())}};
  }
  if (value.nests_deeper(kMaxJsonDepth - 1)) return data_too_deep();
  changed_data_ = true;
  instance_.data.set(key, std::move(value));
  return std::nullopt;
}

std::optional<Raise> Visit::put_all(std::map<std::string, LazyJson> members) {
  size_t weight = data().weight();
  for (const auto& [key, value] : members) weight += value.weight();
  if (weight <= kLargeJson || !data().is_object()) {
    for (auto& [key, value] : members) {
      if (auto raised = put(key, std::move(value))) return raised;
    }
    return std::nullopt;
  }
  acted_ = true;
  std::vector<JsonTextMember> texts;
  for (const auto& [key, value] : members) {
    if (value.nests_deeper(kMaxJsonDepth - 1)) return data_too_deep();
    texts.push_back({key, value.text()});
  }
  changed_data_ = true;
  instance_.data = LazyJson::of_text(text_with(data().text(), texts));
  return std::nullopt;
}

std::optional<Outcome> Visit::look_back(std::vector<EarlyListener> listeners, bool fills_each) {
  CHECK(!acted_, "a state looked back after it had acted; expected the look back first");
  if (early_ != nullptr && !*early_) return raise(early_->error());
  // No event came before the instance listens if none was applied by then.
  if (early_ != nullptr || instance_.listen_from.event.sequence == 0) return std::nullopt;
  effects_.emplace_back(LookBack{.ns = instance_.ns,
                                 .instance = instance_.id,
                                 .workflow = instance_.revision.workflow,
                                 .step = evaluation_of(instance_),
                                 .before = {results_.begin(), results_.end()},
                                 .listeners = std::move(listeners),
                                 .fills_each = fills_each,
                                 .until = instance_.listen_from.event,
                                 .asked_at = program_now_,
                                 .consumed = instance_.consumed});
  return Outcome(Park{});
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
  event.id =
      fmt::format(FMT_COMPILE("{}-{}-{}"), to_string(instance_.id), instance_.step, published_++);
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
  if (auto refusal = lookup_.refusal_of_generated(instance_.ns, now_)) {
    return Raise{*std::move(refusal)};
  }
  if (at) {
    if (auto refusal = lookup_.refusal_of_delayed(instance_.ns)) return Raise{*std::move(refusal)};
  }
  LazyJson detail = LazyJson::object({{"type", event.type}, {"id", event.id}});
  if (at) detail.edit()["at"] = format_rfc3339(*at);
  if (hops > kMaxHops) detail.edit()["deadLetter"] = kHopsError;
  record(HistoryKind::kPublished, std::move(detail));
  effects_.emplace_back(Publish{.ns = instance_.ns, .event = std::move(event), .at = at});
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

std::optional<Raise> Visit::refuse_variable(VariableScope scope, const std::string& key,
                                            size_t bytes) const {
  auto refusal = lookup_.refusal_of_variable({owner_of(instance_, scope), key}, bytes);
  if (!refusal) return std::nullopt;
  return Raise{*std::move(refusal)};
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
  if (data().is_object() && data().has_member("error")) {
    changed_data_ = true;
    instance_.data.set("error", LazyJson::object({{"code", error.code}, {"msg", error.message}}));
  }
  instance_.error = std::move(error);
}

void Visit::record(HistoryKind kind, LazyJson detail) {
  history_.push_back({.time = now_, .kind = kind, .detail = std::move(detail)});
}

}  // namespace millrace
