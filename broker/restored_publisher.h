// RestoredPublisher: the publisher of a store that was restored from a backup, or copied. Such a
// store applies events again and makes messages again that another process has sent, under the same
// ids. JetStream recognizes an id only within the duplicate window of its stream. So this publisher
// notes, before the event stream counts as opened, which messages of millrace the streams have
// since the backup, and does not send these messages again: they count as acknowledged.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/event_stream.h"
#include "broker/noted_messages.h"
#include "broker/stream_options.h"
#include "model/restored_streams.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/publisher.h"

namespace millrace {

struct RestoredPublisherSettings {
  RestoredStreams restored;  ///< what the store has recorded
  /// Called on the reader thread when the record has changed. It must be on disk when `keep`
  /// returns.
  std::function<Status(const RestoredStreams&)> keep;
  std::string prefix = std::string(kDefaultPrefix);
  /// The limit of noted messages: 96 MiB of memory.
  size_t most = 4'000'000;
};

class RestoredPublisher : public Publisher {
 public:
  /// `reading` is the connection that reads the streams, `publisher` sends all other messages. All
  /// arguments must outlive this object.
  RestoredPublisher(Connection& reading, Publisher& publisher, const Clock& clock,
                    RestoredPublisherSettings settings);

  /// Notes the messages of millrace that the streams have since the backup, as far as they are not
  /// noted yet. For EventStreamSettings::on_opening. Errors: those of each_header() and of `keep`.
  Status note(const StreamOpening& opening);

  /// For a noted message, calls `done` at once, with the sequence that the message has in its
  /// stream. Any other message is sent.
  void publish(NatsMessage message, Done done) override;
  /// A noted message is not sent.
  std::vector<Status> publish_unacknowledged(std::vector<NatsMessage> messages) override;

  struct Counts {
    size_t noted = 0;         ///< messages that are noted
    uint64_t recognized = 0;  ///< messages that were not sent again
    /// Messages of the streams that were not read because of the limit.
    uint64_t unread = 0;
  };
  /// Any thread.
  Counts counts() const;

 private:
  struct NotedStream {
    RestoredStreams::End end;
    NotedMessages messages;
    uint64_t unread = 0;
  };

  bool is_noted(const FoundStream& stream) const;
  size_t forget(const std::string& name);
  Status read(const FoundStream& stream, bool is_events, const std::function<bool()>& stops);
  RestoredStreams::End end_of(const FoundStream& stream) const;
  Status keep_record();
  std::optional<uint64_t> find(const NatsMessage& message);

  Connection& reading_;
  Publisher& publisher_;
  const Clock& clock_;
  const RestoredPublisherSettings settings_;
  std::atomic<uint64_t> recognized_ = 0;

  mutable std::mutex mutex_;
  RestoredStreams record_;  ///< changed by the reader thread only, under the lock
  std::map<std::string, NotedStream> streams_;  ///< by the name of the stream; under the lock
};

}  // namespace millrace
