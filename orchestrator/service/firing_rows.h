// What the list of what will fire shows of a firing that has a row of its own: of a pending start,
// and of a throttle that permits its next start or call. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "orchestrator/memory/definition_cache.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Of a pending start its place, and of a throttle its key, of starts or of calls; else nothing.
using FiringRow = std::variant<std::monostate, PendingStartPlace, SlotKey, CallSlotKey>;

/// The workflows of a list of firings, by number.
struct FiringWorkflow {
  std::string id;
  bool paused = false;
  uint32_t latest = 0;  ///< the newest revision
};
using FiringWorkflows = std::map<WorkflowNumber, FiringWorkflow>;

/// Adds to the items of one list what only their rows say.
class FiringRowItems {
 public:
  /// The arguments outlive the object.
  FiringRowItems(const View& view, DefinitionCache& definitions, const FiringWorkflows& workflows,
                 TimePoint now)
      : view_(view), definitions_(definitions), workflows_(workflows), now_(now) {}

  /// Of a pending start pending_start_item(); of a throttle {"queued","key"?,"instance"?}: how many
  /// starts or calls wait, and which is next; of calls also {"service"|"image","global"?,"task"?}.
  /// Errors: those of the view.
  Status add(const FiringRow& row, Json& item);

 private:
  Status add_row(const std::monostate&, Json&) { return {}; }
  Status add_row(const PendingStartPlace& place, Json& item);
  Status add_row(const SlotKey& key, Json& item);
  Status add_row(const CallSlotKey& key, Json& item);

  const View& view_;
  DefinitionCache& definitions_;
  const FiringWorkflows& workflows_;
  const TimePoint now_;
  size_t bytes_ = 0;  ///< of the inputs of pending starts
};

}  // namespace millrace
