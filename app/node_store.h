// CopiedStore: the store of a node for reads that may be stale (gateway/stale_read.h), while the
// node follows the log or its engine writes to the same store. Any thread.
#pragma once

#include <functional>

#include "base/result.h"
#include "base/time.h"
#include "gateway/node_front.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/outgoing/started_tasks.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

class CopiedStore final : public NodeStore {
 public:
  /// A time at which the log had nothing that the folder lacks, by the clock of this machine.
  using KnownAt = std::function<TimePoint()>;

  /// `environment` and `clock` outlive the CopiedStore, and the store has all rows of a commit.
  /// `known_at` is called on any thread, before each look at the store.
  CopiedStore(Environment& environment, const Clock& clock, KnownAt known_at);

  Result<Copy> copy() const override;

 private:
  Environment& environment_;
  const Clock& clock_;
  const KnownAt known_at_;
  mutable DefinitionCache definitions_;
  const StartedTasks started_;  ///< always empty: only the engine hears of starts without a row
  mutable Queries queries_;
};

}  // namespace millrace
