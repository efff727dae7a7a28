#include "orchestrator/service/work_waits.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/ids.h"
#include "orchestrator/service/call_item.h"
#include "orchestrator/service/timer_item.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "states/compensation.h"

namespace millrace {
namespace {

/// The most calls of an instance that a list reads; it counts those of an instance with more.
constexpr size_t kMostReadCalls = 8;
/// The most calls that a list shows of an instance, and the most bytes of their names: a page of
/// 1 000 instances stays below the bytes of a page.
constexpr size_t kMostListedCalls = 4;
constexpr size_t kMostNameBytes = 512;

/// What the instance waits for when the timer is the end of its wait; empty: it is not.
std::string_view end_of_wait(const Timer& timer, const Instance& instance) {
  if (timer.kind == TimerKind::kDelay) return "delay";
  if (timer.kind != TimerKind::kRetry) return "";
  if (instance.awaits_run) return "run";
  // Store format 4 used the timer kRetry for calls.
  return instance.calls.empty() ? "attempt" : "";
}

/// {"calls","function"?} of an instance whose calls are not read.
Json counted_calls(const Instance& instance, const Workflow& workflow) {
  Json item{{"calls", instance.calls.size()}};
  const Function* const first = called_function(instance, workflow, 0);
  const Function* const last = called_function(instance, workflow, instance.calls.size() - 1);
  const bool is_one = first != nullptr && last != nullptr && first->id == last->id;
  if (is_one) item["function"] = first->id;
  return item;
}

size_t name_bytes(const Json& item) {
  return item.value("function", "").size() + item.value("workflow", "").size();
}

/// Adds the calls that have not ended, if there is one.
void add_listed_calls(const Instance& head, const Workflow& workflow,
                      const std::vector<Call>& calls, const StartedTasks& started, Json& item) {
  Json waits = Json::array();
  size_t more = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (has_ended(calls[i])) continue;
    Json wait = call_wait(head, workflow, calls[i], i, started);
    bytes += name_bytes(wait);
    if (more > 0 || waits.size() == kMostListedCalls || bytes > kMostNameBytes) {
      ++more;
    } else {
      waits.push_back(std::move(wait));
    }
  }
  if (!waits.empty()) item["waits"] = std::move(waits);
  if (more > 0) item["moreWaits"] = more;
}

}  // namespace

const Function* called_function(const Instance& instance, const Workflow& workflow, size_t index) {
  const State* const state = state_of(workflow, instance);
  return state == nullptr ? nullptr : state->function_of(index);
}

Json time_wait(const Instance& instance, const Workflow& workflow) {
  if (has_ended(instance.status)) return nullptr;
  for (const auto* const timers : {&instance.timers, &instance.held_timers}) {
    for (const Timer& timer : *timers) {
      const std::string_view what = end_of_wait(timer, instance);
      if (what.empty()) continue;
      Json item{{"until", format_rfc3339(timer.deadline)}, {"what", what}};
      if (timers == &instance.held_timers) item["held"] = true;
      add_consequence(after_timer(timer, TimedInstance(instance), workflow), item);
      return item;
    }
  }
  return nullptr;
}

TimePoint waits_since(const Call& call, const Instance& instance) {
  if (call.status == Call::Status::kRunning) return std::min(time_of(call.id), kLastTime);
  return call.last_error ? call.last_error->at : instance.state_from;
}

Json call_wait(const Instance& instance, const Workflow& workflow, const Call& call, size_t index,
               const StartedTasks& started) {
  Json item{{"index", index},
            {"status", call_status(call, started)},
            {"attempt", call.attempt},
            {"since", format_rfc3339(waits_since(call, instance))}};
  if (const Function* const function = called_function(instance, workflow, index)) {
    item["function"] = function->id;
    if (const Subflow* const subflow = function->subflow()) item["workflow"] = subflow->workflow;
  }
  if (instance.compensating) item["compensates"] = true;
  if (call.attempt > 0) item[call.outside ? "task" : "instance"] = to_string(call.id);
  if (call.retry_at) item["nextRetryAt"] = format_rfc3339(*call.retry_at);
  return item;
}

OpenCalls open_calls(const Instance& instance) {
  OpenCalls open;
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    if (has_ended(instance.calls[i])) continue;
    if (open.shown.size() < kMostShownCallWaits) {
      open.shown.push_back(i);
    } else {
      ++open.more;
    }
  }
  return open;
}

Status add_work_waits(const View& view, const Instance& head, const Workflow& workflow,
                      const StartedTasks& started, Json& item) {
  if (has_ended(head.status)) return {};
  if (Json time = time_wait(head, workflow); !time.is_null()) {
    item["waits"] = Json::array({std::move(time)});
    return {};
  }
  if (head.calls.empty()) return {};
  if (head.calls.size() <= kMostReadCalls) {
    const auto calls = read_some_calls(view, head, 0, kMostReadCalls);
    if (!calls && !is_damaged_row(calls.error())) return tl::unexpected(calls.error());
    if (calls) {
      add_listed_calls(head, workflow, *calls, started, item);
      return {};
    }
  }
  item["waits"] = Json::array({counted_calls(head, workflow)});
  return {};
}

}  // namespace millrace
