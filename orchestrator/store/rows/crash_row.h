// The crash row: the crash note of a cluster, which says which input the active of the cluster is
// applying. The row is in the log, so the next active has it on any node. Row `crash-note` of table
// `meta`. A damaged row gives an error that names it (damage.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/disk/write_set.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The first minor number of a store with such a row.
inline constexpr uint64_t kMinorOfCrashRow = 4;

/// The key of the row, in kMeta.
inline constexpr std::string_view kCrashRowKey = "crash-note";

/// An instance that an input is for, or that is stepped for it.
struct NotedInstance {
  NamespaceNumber ns{};
  InstanceId id;

  bool operator==(const NotedInstance&) const = default;
};

/// An input that a process applies, alone.
struct NotedInput {
  /// How many processes have started to apply the input and have not committed it, this one
  /// included.
  uint32_t deaths = 0;
  uint64_t sequence = 0;  ///< of the event; 0: the input is for the instance, and not an event
  std::optional<NotedInstance> instance;

  bool operator==(const NotedInput&) const = default;
};

std::string encode(const NotedInput& input);
/// Decoding fails with `store.corrupt`.
Result<NotedInput> decode_noted_input(std::string_view bytes);

/// nullopt: the store has no crash row.
Result<std::optional<NotedInput>> read_crash_row(const View& view);
/// The write-set that puts the row.
WriteSet crash_row_writes(const NotedInput& input);
void erase_crash_row(Transaction& tx);

}  // namespace millrace
