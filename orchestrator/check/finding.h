// Findings of the store check: each inconsistency of a store has a stable code, a place, what was
// found, what was expected and what to do (docs/store-check.md, "Findings").
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

/// One kind of finding. The order has no meaning. Programs use the code (StoreFaultKind), which
/// never changes.
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
  kTreeUnknown,
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
  kInstanceMessageTwice,
  kHistoryMissing,
  kHistoryOwner,
  kHistoryOrder,
  kHistoryCount,
  kHistoryOrphan,
  kGroupCounts,
  kGroupEvent,
  kGroupNumber,
  kQueueEntry,
  kQueueCounts,
  kScheduleMissing,
  kScheduleUnknown,
  kSentMessage,
  kKeptEventPlace,
  kFanOutEvent,
  kIdempotencyInstance,
  kVariablePieces,
  kInstanceBytes,
  kIndexStatus,
  kIndexCount,
  kIndexUsage,
};

struct StoreFaultKind {
  StoreFault fault;
  std::string_view code;      ///< `history.orphan`: stable, for programs
  std::string_view expected;  ///< what every undamaged store has in that place
  std::string_view action;    ///< what the operator should do about the finding
};

/// All kinds of findings, each once.
std::span<const StoreFaultKind> fault_kinds();
const StoreFaultKind& kind_of(StoreFault fault);

struct StoreFinding {
  StoreFault fault{};
  std::string table;  ///< name of the tree, or the file in the data folder
  std::string key;    ///< the key, as readable text
  std::string found;
  std::string ns;  ///< name of the namespace, or `number 7`; empty: the row belongs to no namespace
  std::optional<InstanceId> instance;
};

/// The finding as one line: `history/17: …; expected: …`.
std::string to_string(const StoreFinding& finding);

/// The result of a check.
struct StoreReport {
  std::vector<StoreFinding> findings;     ///< the first StoreCheckOptions::most_findings findings
  std::map<std::string, uint64_t> codes;  ///< the number of all findings, by code
  std::map<std::string, uint64_t> rows;   ///< the number of checked rows, by tree
  uint64_t unreadable = 0;  ///< sealed rows that were not decrypted, because the key is missing
  /// Whether the index, the counts and the sizes were compared with the rows. False: the index is
  /// being computed, or the store has an earlier format.
  bool index_compared = true;

  bool sound() const { return codes.empty(); }
  uint64_t count() const;
};

/// {"sound", "items": [{"code", "table", "key", "namespace"?, "instance"?, "found", "expected",
/// "action"}], "codes": {code: n}, "rows": {tree: n}, "unreadable", "indexCompared"}
Json to_json(const StoreReport& report);

}  // namespace millrace
