// JetStreamStoredEvents: the StoredEvents of the stream MILLRACE_EVENTS. A single message is read
// with STREAM.MSG.GET, a range through a consumer that lives as long as the call. Any thread.
#pragma once

#include <string>

#include "broker/connection.h"
#include "broker/stream_options.h"
#include "broker/streams.h"
#include "orchestrator/ports/stored_events.h"

namespace millrace {

/// Reads a range of the messages of a stream whose subjects are `subjects`; `range.ns` is not used.
/// Leaves StoredEvent::ns empty. The errors are those of StoredEvents.
Result<StoredEvents::Page> read_range(Connection& connection, const StreamSettings& stream,
                                      const std::string& subjects,
                                      const StoredEvents::Range& range);

class JetStreamStoredEvents final : public StoredEvents {
 public:
  /// `connection` must outlive this object.
  JetStreamStoredEvents(Connection& connection, const StreamOptions& streams);

  Result<StreamSpan> span() override;
  Result<StoredEvent> get(uint64_t sequence) override;
  Result<Page> read(const Range& range) override;

 private:
  std::string namespace_of(const NatsMessage& message) const;

  Connection& connection_;
  const StreamSettings stream_;
  const std::string prefix_;  ///< of the subjects of events on the broker
};

}  // namespace millrace
