// One pull consumer of JetStream. The consumer starts at a cursor, or at the oldest message of a
// work queue. This class keeps requests for messages open at the broker, and reports when the
// consumer is not reliable any more. Private to broker/. For one thread, except interrupt().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/nats_handles.h"
#include "broker/pull_inbox.h"
#include "broker/pull_window.h"
#include "broker/resume.h"
#include "broker/streams.h"
#include "model/cursor.h"

namespace millrace {

/// A consumer of a stream that is not millrace's.
struct ForeignConsumer {
  std::string stream;
  std::vector<std::string> subjects;  ///< filters; empty: all messages
  std::string name;
  /// 0: the consumer needs no acknowledgements. Otherwise it is the durable consumer of a work
  /// queue, with at most so many messages delivered without an acknowledgement.
  size_t unacknowledged = 0;
  /// Whether the consumer, which is durable, stays when its reader ends, because the stream drops
  /// the messages that no consumer wants. `name` is the beginning of its two names
  /// (kept_consumers.h).
  bool stays = false;
};

class PullConsumer {
 public:
  /// Creates a consumer for the messages of the stream after `cursor` (resume_point). `stream` is
  /// the present description of the stream. Errors: those of Connection::api, and `broker.stream`
  /// if the stream was deleted and created again meanwhile.
  static Result<std::unique_ptr<PullConsumer>> open(Connection& connection,
                                                    const StreamSettings& wanted,
                                                    const StreamInfo& stream, const Cursor& cursor,
                                                    const PullSettings& settings);

  /// Creates a consumer for the messages of the stream from `from` on; with `headers_only`, the
  /// messages come without their data. `from.loss` is not used. Errors: those of Connection::api.
  static Result<std::unique_ptr<PullConsumer>> open_range(
      Connection& connection, const StreamSettings& wanted, const StreamInfo& stream,
      const ResumePoint& from, bool headers_only, const PullSettings& settings);

  /// Creates the only consumer of a work queue, under the name `name`. The consumer starts with the
  /// oldest message and has at most `unacknowledged` messages delivered without an acknowledgement.
  /// The reader acknowledges each message by its reply subject. A consumer that already has that
  /// name is deleted first, so its unacknowledged messages are delivered again at once.
  static Result<std::unique_ptr<PullConsumer>> open_queue(Connection& connection,
                                                          const StreamSettings& queue,
                                                          std::string_view name,
                                                          size_t unacknowledged,
                                                          const PullSettings& settings);

  /// Creates a consumer of a stream that is not millrace's, for the messages from sequence `first`
  /// on, or for all messages of a work queue. A consumer that already has that name is deleted
  /// first, so its unacknowledged messages are delivered again, in their order. One that stays is
  /// deleted after the new one exists. A consumer that
  /// needs no acknowledgements changes nothing in the stream. Errors: those of Connection::api,
  /// `source.filters`: the NATS server does not know several filters, and `source.other_consumer`:
  /// another consumer takes messages of the work queue.
  static Result<std::unique_ptr<PullConsumer>> open_source(Connection& connection,
                                                           const ForeignConsumer& wanted,
                                                           uint64_t first,
                                                           const PullSettings& settings);

  /// Asks the broker to delete the consumer, unless it stays, and does not wait for the answer.
  ~PullConsumer();
  PullConsumer(const PullConsumer&) = delete;
  PullConsumer& operator=(const PullConsumer&) = delete;

  /// The stream as it was when the consumer was created; not for open_range().
  const StreamInfo& stream() const { return stream_; }
  /// The position after which the consumer started; for open_range() only its sequence.
  const Cursor& start() const { return start_; }
  /// The loss that was found when the consumer was created.
  const std::optional<BrokerLoss>& loss() const { return loss_; }
  /// Whether the stream has other subjects too, so that some sequences belong to messages that this
  /// consumer does not deliver.
  bool is_filtered() const { return filtered_; }
  bool started_at_the_end() const { return started_at_the_end_; }

  enum class Got {
    kMessage,
    kNothing,    ///< there is no message, and next() was not to wait for one, or not longer
    kIdle,       ///< the broker has no more messages to send
    kBusy,       ///< the broker sent a status that concerns only the requests
    kDestroyed,  ///< nats.c freed the next message without returning it: see skip() and end()
    kGap,        ///< messages between the broker and this process were lost
    kBroken,     ///< heartbeat missed, connection lost, or consumer gone
  };

  /// Returns the next message. With `wait`, next() waits as long as heartbeats of the broker come.
  /// After kGap or kBroken, next() returns no more messages.
  Got next(bool wait, NatsMsgHandle& message, DeliveryNumbers& numbers);
  /// The same, but waits no longer than `at_most` for a message or a heartbeat.
  Got next_within(Duration at_most, NatsMsgHandle& message, DeliveryNumbers& numbers);

  /// If next() returned kDestroyed, nats.c has freed a message that has the status 503 (see
  /// poll_inbox()): the next stored message, or a status of the broker. The caller must fetch the
  /// next stored message without this consumer. If the stream has that message, the caller must
  /// call skip(): the consumer then counts the message as delivered.
  void skip();
  /// If the stream has no next message, the freed message was a status of the broker, and the
  /// caller must call end(), which returns kBroken.
  Got end();

  /// After kGap and kBroken: the reason, for messages.
  const std::string& why() const { return why_; }
  /// After kGap and kBroken: true if the reason was a lost connection or a status of the broker;
  /// false if the next message itself may be the reason.
  bool ended_by_server() const { return ended_by_server_; }

  /// Ends next() with kBroken. Any thread.
  void interrupt();

  /// How many messages, or statuses of the broker, have come and were not returned by next().
  size_t waiting() const { return messages_->waiting(); }

  /// The number of delivered messages.
  uint64_t delivered() const { return last_; }

 private:
  PullConsumer(Connection& connection, const PullSettings& settings);

  void note_name(std::string name);
  Status make(const StreamSettings& wanted, const StreamInfo& stream, const Cursor& cursor);
  Status create(const StreamSettings& wanted, const StreamInfo& stream, const ResumePoint& from,
                bool headers_only);
  Status make_queue(std::string_view name, size_t unacknowledged);
  Status make_source(const ForeignConsumer& wanted, uint64_t first);
  Json config_of(uint64_t first) const;
  Status make_kept(const ForeignConsumer& wanted, uint64_t first);
  Result<Json> ask_for_source(const Json& config);
  Status create_source(const std::vector<std::string>& subjects, const std::string& name,
                       Json config);
  Result<ResumePoint> choose_start(const StreamInfo& stream, const Cursor& cursor);
  Result<std::optional<TimePoint>> stamp_of(uint64_t sequence);
  Got note_status(natsMsg* message);
  Got broken(std::string why, bool by_server);
  bool send_requests();

  Connection& connection_;
  const PullSettings& settings_;
  StreamInfo stream_;
  Cursor start_;
  std::optional<BrokerLoss> loss_;
  bool filtered_ = false;
  bool started_at_the_end_ = false;

  std::shared_ptr<natsConnection> handle_;
  std::string inbox_;  ///< each consumer has a new inbox, to which only the broker itself sends
  std::string stream_name_;
  std::string name_;
  bool stays_ = false;        ///< whether the consumer is not deleted by the destructor
  std::string next_subject_;  ///< the subject for requests
  PullWindow window_;
  size_t request_bytes_ = 0;
  uint64_t last_ = 0;  ///< the consumer sequence of the message that was delivered last
  std::string why_;
  bool ended_by_server_ = false;
  std::unique_ptr<PullInbox> messages_;
};

}  // namespace millrace
