// Archived instances: hands pages of ended instances to the archive, and deletes the instances
// whose lines are in the archive. Engine thread only.
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/ports/archiver.h"
#include "orchestrator/store/rows/purge.h"

namespace millrace {

/// Whether a page of the namespace has not ended, or its instances must be in the archive before
/// they are deleted for this reason, and none can be added to its page now (ArchiveQueue::is_free,
/// ArchiveQueue::is_failing, ArchiveQueue::is_reserved).
bool waits_for_archive(const BatchState& batch, NamespaceNumber ns, DeletionReason reason);

/// Deletes an ended instance as delete_ended() does. If it must be in the archive before, adds it
/// to the page of the archive instead, and returns true; its variables count in the budget, and if
/// the page is then full, the budget is spent. Precondition: waits_for_archive() was false when the
/// caller began with the namespace, in this batch.
Result<bool> archive_or_delete(BatchState& batch, const Instance& head, DeletionReason reason,
                               PurgeBudget& budget, const std::function<void(uint64_t row)>& left);

/// Hands the page to the Archiver after the commit. Call it once at the end of a batch.
/// Precondition: ArchiveQueue::has_page(). Errors: those of the store.
Status send_archive_page(BatchState& batch);

/// Applies the result of a page (ArchiveQueue::apply) and notes it in BatchCounts::archives.
void apply_archived(BatchState& batch, const ArchivedPage& page, TimePoint now);

/// Deletes instances whose lines are on disk, as many as one portion should, and moves the
/// committed position of the archive behind their lines. `left`: see delete_ended(). `unit` ends
/// the portion early. Errors: those of the store.
Status delete_archived(BatchState& batch, const std::function<void(uint64_t row)>& left,
                       const WorkBudget* unit = nullptr);

}  // namespace millrace
