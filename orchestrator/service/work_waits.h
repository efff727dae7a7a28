// What an instance waits for besides events, as items of its `waits`: the end of a delay, the next
// attempt, and the calls of its state that have not ended. An instance that waits for one of them
// listens for no event. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"
#include "orchestrator/outgoing/started_tasks.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

/// The most calls that an answer about one instance has in `waits`.
inline constexpr size_t kMostShownCallWaits = 20;

/// The function of the call with that index of an instance; null: its workflow has no such call.
const Function* called_function(const Instance& instance, const Workflow& workflow, size_t index);

/// {"until","what":"delay"|"attempt"|"run","held"?}, with add_consequence(), of the timer that ends
/// the wait of the instance: that of a delay, of the next attempt of its state, or of its next run.
/// null: it has no such timer.
Json time_wait(const Instance& instance, const Workflow& workflow);

/// When the call began to wait for what it waits for now: when its attempt was made or failed, or
/// when the state was entered.
TimePoint waits_since(const Call& call, const Instance& instance);

/// {"index","function"?,"workflow"?,"compensates"?,"status","attempt","task"|"instance"?,"since",
/// "nextRetryAt"?} of an open call; without `function` if the workflow has no such call.
Json call_wait(const Instance& instance, const Workflow& workflow, const Call& call, size_t index,
               const StartedTasks& started);

/// The indexes of the first open calls of an instance that was read with its calls.
struct OpenCalls {
  std::vector<size_t> shown;  ///< at most kMostShownCallWaits
  size_t more = 0;            ///< how many others there are
};
OpenCalls open_calls(const Instance& instance);

/// Adds to the list item of an instance what it waits for besides events: "waits", one time_wait()
/// or the first four open calls, whose names have together at most 512 bytes; and "moreWaits", how
/// many others there are. Of an instance with more than eight calls no call is read: it has the one
/// item {"calls","function"?}, how many calls its state has made, with the function if it is the
/// same for the first and the last. Adds nothing if it waits for none of them. Errors: those of the
/// view.
Status add_work_waits(const View& view, const Instance& head, const Workflow& workflow,
                      const StartedTasks& started, Json& item);

}  // namespace millrace
