// Idempotency rows: for each idempotency key of a workflow, the instance that was started under it,
// and a fingerprint of its input. Table `idempotency`. Functions that read take any View, functions
// that write the Transaction. A damaged row gives an error that names it (damage.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// A start under an idempotency key.
struct IdempotencyRecord {
  InstanceId instance;
  std::array<uint8_t, 16> input{};  ///< fingerprint of the input's text
};
/// Decoding fails with `store.corrupt`.
std::string encode(const IdempotencyRecord& record);
Result<IdempotencyRecord> decode_idempotency(std::string_view bytes);

Result<std::optional<IdempotencyRecord>> read_idempotency(const View& view, WorkflowNumber workflow,
                                                          std::string_view key);
void write_idempotency(Transaction& tx, WorkflowNumber workflow, std::string_view key,
                       const IdempotencyRecord& record);

/// Erases the row of the instance's idempotency key, if it was started with one.
void erase_idempotency(Transaction& tx, const Instance& head);

}  // namespace millrace
