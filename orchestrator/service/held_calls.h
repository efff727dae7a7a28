// Which times of the calls of an instance count: none while the instance is paused, and not those
// that the pause of a service holds, although they are stored. Any thread.
#pragma once

#include <cstddef>
#include <optional>

#include "base/result.h"
#include "base/time.h"
#include "model/definition.h"
#include "model/instance.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

/// Whether the pause of a service holds the timeouts of the call: no worker has started the call,
/// which calls the function, and its instance is not being cancelled. `settings`: of the namespace
/// of the instance. null: of a call of a state that has no such function.
bool is_held_by_service(const NamespaceSettings& settings, const Instance& instance,
                        const Function* function, const Call& call);

/// The earliest deadline of the call that counts; nullopt: none does. `is_held`: as
/// is_held_by_service().
std::optional<TimePoint> counting_deadline(const Instance& instance, const Call& call,
                                           bool is_held);

/// When the timer of the calls of an instance has an effect: its time, or the first one that counts
/// if it is for a timeout that the pause of a service holds. `is_held`: nothing follows before the
/// service is resumed, and `at` is only when the engine looks at the calls again.
struct CallTimer {
  TimePoint at;
  bool is_held = false;
};
/// The instance has its calls.
CallTimer call_timer(const NamespaceSettings& settings, const Instance& instance,
                     const Workflow& workflow, TimePoint deadline);

/// From what call_timer() of a head is made: the settings are those of the namespace of the
/// instance.
struct PausedServices {
  const View& view;
  DefinitionCache& definitions;
  const NamespaceSettings& settings;
  size_t& reads_left;  ///< of how many further instances the calls may be read
};
/// The calls of how many instances an answer reads for its timers.
inline constexpr size_t kMostCallTimers = 1'000;
/// Likewise; `head` has no calls, which are read if the pause of a service may hold some of them.
/// Of an instance with more than 100 calls, of one with damaged rows, and of those for which no
/// read is left, the time of the timer.
/// Errors: those of the view.
Result<CallTimer> call_timer(const PausedServices& paused, const Instance& head,
                             TimePoint deadline);

}  // namespace millrace
