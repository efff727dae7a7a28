// Findings of the store check: what does not fit in a store, by a stable code, with its place, what
// was found there, what should be there and what to do (docs/store-check.md has the table).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json.h"
#include "model/instance.h"
#include "orchestrator/store/disk/table.h"

namespace millrace {

/// One kind of finding. The order is of no meaning; the code is the name that stays.
enum class StoreFault : uint8_t {
  kStoreDamaged,
  kFormat,
  kStoreKey,
  kNoteDamaged,
  kRowKey,
  kRowRecord,
  kRowSeal,
  kRowPlain,
  kRowJson,
  kRowEvent,
  kRowValue,
  kRowTime,
  kMetaUnknown,
  kMetaMissing,
  kTreeMissing,
  kPurgeTarget,
  kCounterBehind,
  kNumberTwice,
  kNamespaceMissing,
  kNamespaceSettings,
  kWorkflowMissing,
  kDefinitionMissing,
  kDefinitionUnknown,
  kDefinitionUnloadable,
  kInstanceMissing,
  kInstanceNoHead,
  kInstanceKey,
  kInstanceTwice,
  kInstanceStatus,
  kInstanceState,
  kInstanceParts,
  kInstanceStuck,
  kInstanceTimers,
  kInstanceListeners,
  kInstanceSeal,
  kInstanceIdempotency,
  kInstanceCaller,
  kCallState,
  kCallTask,
  kCallChild,
  kTaskCaller,
  kErrandTwice,
  kHistoryMissing,
  kHistoryOwner,
  kHistoryOrder,
  kHistoryCount,
  kHistoryOrphan,
  kGroupCounts,
  kGroupEvent,
  kGroupNumber,
  kScheduleMissing,
  kScheduleUnknown,
  kSentMessage,
  kRecentPlace,
  kFanOutEvent,
  kIdempotencyInstance,
};

struct StoreFaultKind {
  StoreFault fault;
  std::string_view code;      ///< `history.orphan`: stable, for programs
  std::string_view expected;  ///< what every sound store has in that place
  std::string_view action;    ///< what to do about it
};

/// Every kind, once.
std::span<const StoreFaultKind> fault_kinds();
const StoreFaultKind& kind_of(StoreFault fault);

struct StoreFinding {
  StoreFault fault{};
  std::string table;  ///< name of the tree, or the file in the data folder
  std::string key;    ///< readable
  std::string found;
  std::string space;  ///< name of the namespace, or `number 7`; empty: of none
  std::optional<InstanceId> instance;
};

/// `history/17: …; expected: …`: one line.
std::string to_string(const StoreFinding& finding);

/// What a check has come to.
struct StoreReport {
  std::vector<StoreFinding> findings;     ///< the first ones, StoreCheckOptions::most_findings
  std::map<std::string, uint64_t> codes;  ///< how many there are of each, those left out as well
  std::map<std::string, uint64_t> rows;   ///< how many were looked at, by tree
  uint64_t unreadable = 0;                ///< sealed rows whose key is not here

  bool sound() const { return codes.empty(); }
  uint64_t count() const;
};

/// {"sound", "items": [{"code", "table", "key", "namespace"?, "instance"?, "found", "expected",
/// "action"}], "codes": {code: n}, "rows": {tree: n}, "unreadable"}
Json to_json(const StoreReport& report);

}  // namespace millrace
