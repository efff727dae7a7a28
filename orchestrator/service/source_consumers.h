// SourceConsumers: the consumers that stay at the broker while their sources exist, because their
// streams drop the messages that no consumer wants. When a source was deleted, or reads another
// stream, its consumer must go: otherwise the stream keeps messages that no program reads. For one
// thread.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "orchestrator/ports/origin_streams.h"
#include "orchestrator/store/rows/source_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// The consumer of a source that consumes its stream.
struct SourceConsumer {
  std::string stream;
  std::string name;  ///< consumer_name()

  auto operator<=>(const SourceConsumer&) const = default;
};

/// What the rows of one commit say about the sources.
struct SourcesLook {
  std::map<SourcePlace, std::string> read;  ///< to be read, with the names of their namespaces
  std::map<SourcePlace, SourceConsumer> consumers;  ///< also of sources that are paused
  /// Whether all rows could be read: otherwise a source that is missing may exist.
  bool is_whole = true;
};

/// Damaged rows are left out; the store check names them. Errors: `store.*`.
Result<SourcesLook> look_at_sources(const View& view);

class SourceConsumers {
 public:
  /// Notes the consumers of a look that is whole. Returns the sources that had another consumer in
  /// the look before: their readers must end before release().
  std::set<SourcePlace> update(std::map<SourcePlace, SourceConsumer> now);

  /// Deletes the consumers that no source has any more. Those that cannot be deleted now are
  /// deleted by a later call.
  void release(OriginStreams& origins);

  /// Logs the consumers that could not be deleted.
  void log_left() const;

 private:
  std::map<SourcePlace, SourceConsumer> now_;
  std::set<SourceConsumer> left_;
};

}  // namespace millrace
