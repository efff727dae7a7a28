// Idempotency rows: which instance was started under which idempotency key of its workflow, and
// with which input. Table `idempotency`. Reading takes any View, writing the Transaction. A row
// that is damaged is an error that names it (damage.h).
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

/// Erases the idempotency key with which the instance was started, if there was one.
void erase_idempotency(Transaction& tx, const Instance& head);

}  // namespace millrace
