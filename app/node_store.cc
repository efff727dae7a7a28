#include "app/node_store.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "orchestrator/definition/loader.h"
#include "orchestrator/service/view_reads.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

CopiedStore::CopiedStore(Environment& environment, const Clock& clock, KnownAt known_at)
    : environment_(environment),
      clock_(clock),
      known_at_(std::move(known_at)),
      definitions_(load_stored),
      queries_(definitions_, started_, clock_) {}

// The time is asked for before the snapshot is taken, so the copy has at least what was known then.
// A batch has its time from before its commit, so the copy has what the log had at that time, too.
Result<NodeStore::Copy> CopiedStore::copy() const {
  const TimePoint known_at = known_at_();
  auto reads = std::make_unique<ViewReads>(queries_, TRY(Snapshot::take(environment_)));
  const TimePoint as_of = std::max(known_at, TRY(reads->time()));
  const uint64_t position = TRY(reads->position());
  return Copy{.reads = std::move(reads),
              .position = position,
              .age = std::max(Duration(0), clock_.now() - as_of)};
}

}  // namespace millrace
