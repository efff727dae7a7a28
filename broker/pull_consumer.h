// One pull consumer of JetStream, from its making to its end: it begins where a cursor says, or
// with what a work queue has, keeps requests for messages ahead of us at the server, and tells when
// it can no longer be trusted. Private to broker/; one thread, but for interrupt().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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

class PullConsumer {
 public:
  /// Makes one for what is behind `cursor` in the stream (resume_point); `stream` is as it was just
  /// found. Errors: those of Connection::api, and `broker.stream` if it was made anew meanwhile.
  static Result<std::unique_ptr<PullConsumer>> open(Connection& connection,
                                                    const StreamSettings& wanted,
                                                    const StreamInfo& stream, const Cursor& cursor,
                                                    const PullSettings& settings);

  /// Makes the one consumer of a work queue, under a name of ours: it begins with the oldest
  /// message and holds out at most `unacknowledged` of them, which are acknowledged by their reply
  /// subjects. One that was there by that name is thrown away first, so what it held out comes
  /// again at once.
  static Result<std::unique_ptr<PullConsumer>> open_queue(Connection& connection,
                                                          const StreamSettings& queue,
                                                          std::string_view name,
                                                          size_t unacknowledged,
                                                          const PullSettings& settings);

  /// Asks the server to forget it, without waiting.
  ~PullConsumer();
  PullConsumer(const PullConsumer&) = delete;
  PullConsumer& operator=(const PullConsumer&) = delete;

  /// The stream when the consumer was there.
  const StreamInfo& stream() const { return stream_; }
  /// The position that it began behind.
  const Cursor& start() const { return start_; }
  /// What showed to be gone from the stream when it was made.
  const std::optional<BrokerLoss>& loss() const { return loss_; }
  /// Whether the stream has other subjects too, so that not all sequences are ours.
  bool is_filtered() const { return filtered_; }
  bool started_at_the_end() const { return started_at_the_end_; }

  enum class Got {
    kMessage,
    kNothing,    ///< and it was not asked to wait
    kIdle,       ///< the server has nothing more to send
    kBusy,       ///< the server said something that only concerns the requests
    kDestroyed,  ///< the next message came and was destroyed (poll_inbox); go on by skip() or end()
    kGap,        ///< messages got lost between the server and us
    kBroken,     ///< silence, a lost connection, a consumer that is gone
  };

  /// Waits for as long as the server's signs of life come, or not at all. Behind kGap and kBroken
  /// nothing more is to be had.
  Got next(bool wait, NatsMsgHandle& message, DeliveryNumbers& numbers);

  /// Behind kDestroyed: the next message was read in another way.
  void skip();
  /// Behind kDestroyed: there is no next message, so it was a status of the server.
  Got end();

  /// Behind kGap and kBroken: what ended it, for people.
  const std::string& why() const { return why_; }
  /// Whether that was a lost connection or a status of the server, and so nothing that the next
  /// message could have caused.
  bool ended_by_server() const { return ended_by_server_; }

  /// Ends next() with kBroken. Any thread.
  void interrupt();

  /// How many messages it delivered.
  uint64_t delivered() const { return last_; }

 private:
  PullConsumer(Connection& connection, const PullSettings& settings);

  void note_name(std::string name);
  Status make(const StreamSettings& wanted, const StreamInfo& stream, const Cursor& cursor);
  Status make_queue(std::string_view name, size_t unacknowledged);
  Result<ResumePoint> choose_start(const StreamInfo& stream, const Cursor& cursor, Json& config);
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
  std::string inbox_;  ///< fresh for each consumer: what comes to it is the server's own
  std::string stream_name_;
  std::string name_;
  std::string next_subject_;  ///< where messages are asked for
  PullWindow window_;
  size_t request_bytes_ = 0;
  uint64_t last_ = 0;  ///< the consumer's own sequence of the last message
  std::string why_;
  bool ended_by_server_ = false;
  std::unique_ptr<PullInbox> messages_;
};

}  // namespace millrace
