#include "orchestrator/service/held_calls.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "orchestrator/service/work_waits.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "states/compensation.h"
#include "states/held_timeouts.h"
#include "states/state.h"

namespace millrace {
namespace {

/// The most calls of an instance that are read for its timer.
constexpr size_t kMostCallsOfATimer = 100;

bool is_suspended(size_t kind, bool is_held) {
  return is_held && std::find(kHeldTimeouts.begin(), kHeldTimeouts.end(),
                              static_cast<TimeoutKind>(kind)) != kHeldTimeouts.end();
}

void note_sooner(std::optional<TimePoint>& first, const std::optional<TimePoint>& at) {
  if (at) first = std::min(first.value_or(*at), *at);
}

/// Whether the pause of a service may hold calls of the instance, of which the head is enough.
bool may_have_held_calls(const NamespaceSettings& settings, const Instance& instance,
                         const Workflow& workflow) {
  const State* const state = state_of(workflow, instance);
  if (state == nullptr) return false;
  const auto services = state->services();
  return std::any_of(services.begin(), services.end(),
                     [&](const auto& name) { return settings.paused.contains(name); });
}

}  // namespace

bool is_held_by_service(const NamespaceSettings& settings, const Instance& instance,
                        const Function* function, const Call& call) {
  if (function == nullptr || instance.cancelling || !waits_for_begin(call)) return false;
  const auto* const service = std::get_if<NamedService>(&function->runs);
  return service != nullptr && settings.paused.contains(service->name);
}

std::optional<TimePoint> counting_deadline(const Instance& instance, const Call& call,
                                           bool is_held) {
  std::optional<TimePoint> first;
  if (instance.paused) return first;
  for (size_t i = 0; i < kTimeoutKinds; ++i) {
    if (!is_suspended(i, is_held)) note_sooner(first, call.deadlines[i]);
  }
  return first;
}

CallTimer call_timer(const NamespaceSettings& settings, const Instance& instance,
                     const Workflow& workflow, TimePoint deadline) {
  std::optional<TimePoint> counts;
  std::optional<TimePoint> suspended;
  for (size_t i = 0; i < instance.calls.size(); ++i) {
    const Call& call = instance.calls[i];
    const Function* const function = called_function(instance, workflow, i);
    const bool is_held = is_held_by_service(settings, instance, function, call);
    note_sooner(counts, call.retry_at);
    note_sooner(counts, counting_deadline(instance, call, is_held));
    for (size_t kind = 0; kind < kTimeoutKinds; ++kind) {
      if (is_suspended(kind, is_held)) note_sooner(suspended, call.deadlines[kind]);
    }
  }
  if (suspended != deadline || (counts && *counts <= deadline)) return {.at = deadline};
  return {.at = counts.value_or(deadline), .is_held = !counts};
}

Result<CallTimer> call_timer(const PausedServices& paused, const Instance& head,
                             TimePoint deadline) {
  const CallTimer stored{.at = deadline};
  const bool may_be_held = !paused.settings.paused.empty() && !head.paused && !head.cancelling &&
                           head.calls.size() <= kMostCallsOfATimer && paused.reads_left > 0;
  if (!may_be_held) return stored;
  const auto workflow = paused.definitions.find_or_load(paused.view, head.revision);
  if (!workflow && !is_damaged_row(workflow.error())) return tl::unexpected(workflow.error());
  if (!workflow || !may_have_held_calls(paused.settings, head, **workflow)) return stored;
  --paused.reads_left;
  auto calls = read_some_calls(paused.view, head, 0, head.calls.size());
  if (!calls && !is_damaged_row(calls.error())) return tl::unexpected(calls.error());
  if (!calls) return stored;
  Instance with_calls = head;
  with_calls.calls = *std::move(calls);
  return call_timer(paused.settings, with_calls, **workflow, deadline);
}

}  // namespace millrace
