// How an answer shows a start that the `debounce` or the `batch` of its workflow has put off.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/transaction.h"
#include "states/workflow.h"

namespace millrace {

/// Whether it is a batch whose instance has started or was given up, and of which only rows are
/// left that are still to be erased.
bool is_batch_over(const PendingStart& pending);

/// "debounce" or "batch": what has put off the start.
std::string_view put_off_by(const PendingStart& pending);

struct PendingStartItem {
  Json json;
  size_t bytes = 0;  ///< of the input that was read
};
/// {"kind": "starts","workflow","reason","key"?,"queued": 1,"inputs"?,"instance","since",
/// "startsAt"} of a pending start of the workflow with that id. `key`: what the key of `newest`,
/// the newest revision (null: it cannot be read), yields at `now` for the input, of a batch for its
/// first one; "(sealed)" if it may contain data of a secret; missing without a key, or if it cannot
/// be evaluated. `inputs`: of a batch. Errors: those of the view.
Result<PendingStartItem> pending_start_item(const View& view, const PendingStartPlace& place,
                                            const PendingStart& pending, std::string_view workflow,
                                            const Workflow* newest, TimePoint now);

}  // namespace millrace
