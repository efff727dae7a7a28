// The part of Visit that concerns the calls of a state.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/json.h"
#include "base/lazy_json.h"
#include "model/hops.h"
#include "states/child_id.h"
#include "states/compensation.h"
#include "states/slot_values.h"
#include "states/visit.h"

namespace millrace {
namespace {

constexpr std::string_view kTooDeep = "direktiv.limits.depth";

/// The detail of the record about the start of a call. It is made as text, with its keys sorted: a
/// state may make thousands of calls, and trees take several times as long.
LazyJson start_detail(const Call& call, size_t index, const Function& function) {
  const Subflow* const subflow = function.subflow();
  std::string text = fmt::format(R"({{"attempt":{},"function":)", call.attempt);
  append_json_string(function.id, text);
  text += fmt::format(R"(,"index":{},"{}":"{}")", index, subflow == nullptr ? "task" : "instance",
                      to_string(call.id));
  if (subflow != nullptr) {
    text += R"(,"workflow":)";
    append_json_string(subflow->workflow, text);
  }
  text.push_back('}');
  return LazyJson::of_text(std::move(text));
}

/// Evaluates the key of a limit over the input of the task. Returns whether the task is not
/// refused.
bool evaluate_key(CallKey of, const std::optional<Template>& query, StartTask& task,
                  std::string& value) {
  if (!query) return true;
  auto key = evaluated_call_key(of, *query, task.input);
  if (!key) {
    task.refused = std::move(key).error();
    return false;
  }
  value = *std::move(key);
  return true;
}

/// Evaluates which slot the task needs and which throttle decides about it, if any. The engine ends
/// the attempt with the error of that.
void limit_task(StartTask& task, const CallFlow& flow, TimePoint now) {
  if (!flow.has_limit()) return;
  task.created = now;
  if (const auto& limit = flow.concurrency) {
    TaskSlot& slot = task.slot.emplace(TaskSlot{.limit = limit->limit});
    slot.timeout = limit->timeout;
    if (!evaluate_key(CallKey::kConcurrency, limit->key, task, slot.key)) return;
  }
  if (const auto& limit = flow.throttle) {
    TaskThrottle& throttle = task.throttle.emplace();
    throttle.rate.limit = limit->rate.limit;
    throttle.rate.period = limit->rate.period;
    throttle.timeout = limit->timeout;
    if (!evaluate_key(CallKey::kThrottle, limit->rate.key, task, throttle.key)) return;
  }
  if (!flow.priority) return;
  const auto priority = evaluated_priority(*flow.priority, task.input, "call");
  if (!priority) {
    task.refused = priority.error();
    return;
  }
  if (task.slot) task.slot->priority = *priority;
  if (task.throttle) task.throttle->priority = *priority;
}

}  // namespace

Status Visit::add_result(const LazyJson& result) {
  auto& [entered, bytes] = instance_.result_bytes;
  if (entered != instance_.entered) {
    entered = instance_.entered;
    bytes = 0;
    for (const Call& call : instance_.calls) {
      if (call.status == Call::Status::kDone) bytes += call.result.text().size();
    }
  }
  const uint64_t all = bytes + result.text().size();
  if (all > kMostResultBytes) {
    return fail("millrace.limits.results",
                fmt::format("the results of the calls of the state would have {} bytes together; "
                            "they may have at most {}: let the calls return less, for example "
                            "references to what they have stored, or divide them among states",
                            all, kMostResultBytes));
  }
  bytes = all;
  return {};
}

std::optional<Raise> Visit::refuse_depth() const {
  if (instance_.depth < kMaxDepth) return std::nullopt;
  return Raise{{std::string(kTooDeep),
                fmt::format("subflows are already nested {} deep, which is the limit", kMaxDepth)}};
}

Evaluated<Compensation> Visit::newest_compensation() const {
  if (!instance_.new_compensations.empty()) return instance_.new_compensations.back();
  auto found = lookup_.compensation(instance_, instance_.compensations - 1);
  if (found) return std::move(*found);
  return tl::unexpected<Outcome>(Raise{{std::string(kDamagedStore), found.error().message}});
}

std::optional<Raise> Visit::refuse_compensations(size_t total) const {
  if (workflow_ == nullptr || instance_.compensating) return std::nullopt;
  const CompensationState* const state = compensation_of(*workflow_, instance_.state);
  const bool notes_each = state != nullptr && state->undoes_calls();
  if (!notes_each || total <= kMostCompensations - instance_.compensations) return std::nullopt;
  return too_many_compensations();
}

StartTask Visit::task(const Function& function, const Call& call, const CallFlow& flow) const {
  StartTask task{.ns = instance_.ns,
                 .task = call.id,
                 .by = instance_.id,
                 .workflow = instance_.revision.workflow,
                 .function = function.id,
                 .attempt = call.attempt,
                 .files = function.files,
                 .input = call.input,
                 .sealed = instance_.sealed | call.sealed,
                 .progress = call.progress ? call.progress->json : std::string()};
  if (const auto* service = std::get_if<NamedService>(&function.runs)) task.runs = *service;
  if (const auto* container = std::get_if<Container>(&function.runs)) task.runs = *container;
  limit_task(task, flow, now_);
  return task;
}

void Visit::start_call(size_t index, const Function& function, const ActionPolicy& policy,
                       const CallFlow& flow) {
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
  const Subflow* const subflow = function.subflow();
  call.outside = subflow == nullptr;
  call.started = false;
  if (call.outside) {
    arm(TimeoutKind::kScheduleToStart);
    StartTask task = this->task(function, call, flow);
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
  record(HistoryKind::kCalled, start_detail(call, index, function));
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

std::string Visit::awaited_limit(const Call& call) const { return lookup_.awaited_limit(call.id); }

std::optional<TimePoint> Visit::last_moved(const Call& call) const {
  return lookup_.last_moved(instance_.ns, call.id);
}

std::optional<Raise> Visit::start_detached(const Function& function, Call call,
                                           const CallFlow& flow) {
  acted_ = true;
  const Caller place{.instance = instance_.id, .entered = instance_.entered, .index = detached_++};
  call.id = child_id(lookup_.id_key(), place, now_);
  Json detail{{"function", function.id}, {"async", true}};
  const Subflow* const subflow = function.subflow();
  if (subflow == nullptr) {
    detail["task"] = to_string(call.id);
    record(HistoryKind::kCalled, std::move(detail));
    call.attempt = 1;
    effects_.emplace_back(task(function, call, flow));
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

}  // namespace millrace
