// StoredLetters: the port that reads and deletes single dead letters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "orchestrator/ports/stored_events.h"

namespace millrace {

/// Dead letters have ascending sequences, in the order in which the broker stored them. Any thread,
/// several at a time. Each call waits for the broker for some seconds at most. A call concerns all
/// dead letters under the name `ns`, also those of an earlier namespace with that name. If the
/// broker has no dead-letter queue, there are no dead letters. Errors: `broker.unreachable`,
/// `broker.timeout`, `broker.refused`, `broker.protocol`.
class StoredLetters {
 public:
  virtual ~StoredLetters() = default;

  struct Range {
    std::string ns;
    std::string reason;  ///< only dead letters with this reason; empty: all
    uint64_t first = 0;  ///< only dead letters with this sequence or a higher one
    uint64_t last = 0;   ///< only dead letters with this sequence or a lower one; 0: all
    size_t limit = 0;    ///< as in StoredEvents::Range
  };

  virtual Result<StreamSpan> span() = 0;

  /// How many dead letters there are of each reason.
  virtual Result<std::map<std::string, uint64_t>> count(std::string_view ns) = 0;

  /// How many dead letters with that reason there are under each name of a namespace, also under
  /// names that no namespace has.
  virtual Result<std::map<std::string, uint64_t>> count_by_namespace(std::string_view reason) = 0;

  /// A dead letter as it is stored, with the headers that millrace added. Error `dlq.not_found`:
  /// there is no dead letter of the namespace with that sequence.
  virtual Result<StoredEvent> get(std::string_view ns, uint64_t sequence) = 0;

  /// The first dead letters of the range, as StoredEvents::read().
  virtual Result<StoredEvents::Page> read(const Range& range) = 0;

  /// Deletes a dead letter; ok also if it does not exist any more. Only while this process owns the
  /// streams.
  virtual Status remove(uint64_t sequence) = 0;

  /// Deletes the dead letters of the reason with the sequence `last` or a lower one; all reasons if
  /// `reason` is empty. Returns how many were deleted. Only while this process owns the streams.
  virtual Result<uint64_t> remove_all(std::string_view ns, std::string_view reason,
                                      uint64_t last) = 0;
};

}  // namespace millrace
