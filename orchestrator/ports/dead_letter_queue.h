// DeadLetterQueue: the port that finds and deletes dead letters in the dead-letter queue of the
// broker.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace millrace {

/// The place of a dead letter in the queue.
struct LetterPlace {
  uint64_t sequence = 0;
  TimePoint stored_at;  ///< when the broker stored the dead letter
};

/// Dead letters have ascending sequences, in the order in which the broker stored them. Each
/// function with the parameter `ns` is one request, which waits for the broker for some seconds at
/// most. The request concerns all dead letters under the name `ns`, also those of an earlier
/// namespace with that name. If the broker has no dead-letter queue, there are no dead letters.
/// Errors: `broker.unreachable`, `broker.timeout`, `broker.refused`, `broker.protocol`.
class DeadLetterQueue {
 public:
  virtual ~DeadLetterQueue() = default;

  /// Whether requests can be made: the broker is connected, and this process owns the streams.
  virtual bool is_usable() const = 0;

  /// The number of dead letters.
  virtual Result<uint64_t> count(std::string_view ns) = 0;

  /// The first dead letter with the sequence `from` or a higher one; nullopt: there is none.
  virtual Result<std::optional<LetterPlace>> next(std::string_view ns, uint64_t from) = 0;

  /// Deletes the dead letters with lower sequences than `sequence`, which is at least 2. Returns
  /// how many were deleted.
  virtual Result<uint64_t> delete_before(std::string_view ns, uint64_t sequence) = 0;

  /// Deletes all dead letters but the newest `kept`, at least 1. Returns how many were deleted.
  virtual Result<uint64_t> delete_all_but(std::string_view ns, uint64_t kept) = 0;
};

}  // namespace millrace
