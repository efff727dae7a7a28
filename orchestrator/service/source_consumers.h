// The consumers that stay at the broker while their sources exist, because their streams drop the
// messages that no consumer wants. When a source was deleted, or reads another stream, its consumer
// must go: otherwise the stream keeps messages that no program reads. A row says which ones must
// (left_consumer_rows.h), so a later process deletes those that this one does not.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "orchestrator/batch/source_consumer.h"
#include "orchestrator/ports/origin_streams.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// A source that is to be read.
struct SourceToRead {
  std::string ns;                          ///< the name of its namespace
  std::optional<SourceConsumer> consumer;  ///< consumer_of()
};

/// What the rows of one commit say about the sources.
struct SourcesLook {
  std::set<SourcePlace> all;                 ///< also those that are paused
  std::map<SourcePlace, SourceToRead> read;  ///< those that are to be read
  std::vector<SourceConsumer> left;          ///< the left consumers, in ascending order
};

/// Damaged rows are left out; the store check names them. Errors: `store.*`.
Result<SourcesLook> look_at_sources(const View& view);

/// Deletes left consumers. For one thread.
class SourceConsumers {
 public:
  /// Deletes the consumers in `left`, which no source has and no reader has open. Returns those
  /// that the broker does not have any more. After an error, which is logged once for each
  /// consumer, the rest waits for the next call, which begins behind the consumer of the error.
  std::vector<SourceConsumer> release(const std::vector<SourceConsumer>& left,
                                      OriginStreams& origins);

 private:
  std::optional<SourceConsumer> failed_;  ///< could not be deleted by the last call
  std::set<SourceConsumer> logged_;       ///< of those that are left
};

}  // namespace millrace
