// How an answer shows a start that the `debounce` or the `batch` of its workflow has put off.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/service/start_predictor.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

/// Whether it is a batch whose instance has started or was given up, and of which only rows are
/// left that are still to be erased.
bool is_batch_over(const PendingStart& pending);

/// "debounce" or "batch": what has put off the start.
std::string_view put_off_by(const PendingStart& pending);

/// Until when newer requests may move the start by the `debounce` of the newest revision; nullopt:
/// it has no `timeout`, or that time has passed, or it is a batch.
std::optional<TimePoint> latest_start(const PendingStart& pending, const Workflow* newest);

struct PendingStartItem {
  Json json;
  size_t bytes = 0;  ///< of the input that was read
};
/// {"workflow","reason","key"?,"instance","since","startsAt","latestAt"?,"inputs"?,"maxSize"?,
/// "refusal"?} of a pending start of the workflow with that id. `key`: what the key of `newest`,
/// the newest revision (null: it cannot be read), yields at `now` for the input, of a batch for its
/// first one;
/// "(sealed)" if it may contain data of a secret; missing without a key, or if it cannot be
/// evaluated. `latestAt`: latest_start(). `refusal` {"code","msg"}: that of the `rateLimit`.
/// `inputs`: of a batch, which is full with `maxSize`. Errors: those of the view.
Result<PendingStartItem> pending_start_item(const View& view, const PendingStartPlace& place,
                                            const PendingStart& pending, std::string_view workflow,
                                            const Workflow* newest, TimePoint now);

/// Why each pending start of the workflow would be refused now, by `singular` or a quota, so that
/// it is tried again at its time and, if it is still refused, every 10 seconds: the members of its
/// item `refusal` {"code","msg"}, and for a singular workflow the instance that has not ended as
/// `holder`
/// {"instance","since"}; an empty object: it is permitted. `quotas`: of the namespace. Errors:
/// those of the view.
Result<Json> refusal_of_pending(const View& view, NamespaceNumber ns, WorkflowNumber number,
                                std::string_view workflow, const Workflow& newest,
                                StartPredictor& quotas);

}  // namespace millrace
