// The answers to tasks, as workers put them into MILLRACE_RESULTS: read on one thread for as long
// as it lives, through reconnects. An answer stays in the stream until it is acknowledged, so what
// comes while nobody reads, or is read and not stored, comes again. Private to broker/.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/pull_consumer.h"
#include "broker/pull_window.h"
#include "broker/stream_keeper.h"
#include "broker/streams.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// The consumer that we read answers with; the process that owns the streams follows, if there is
/// one. So a former owner that goes on cannot take the consumer of the present one away.
inline constexpr std::string_view kResultsConsumer = "millrace";

class TaskResults {
 public:
  struct Settings {
    StreamSettings stream;
    std::string process;  ///< the owner's; empty: it has none
    PullSettings pull;
    size_t most_unstored = 4'096;  ///< answers that are told ahead of their being stored
  };
  struct Handlers {
    /// Any thread may call `stored`, once, after all else is gone too: the answer leaves the
    /// stream.
    std::function<void(NatsMessage answer, std::function<void()> stored)> answer;
    /// All answers that waited when reading began have been handed out. Once, unless the connection
    /// is lost before.
    std::function<void()> caught_up;
  };

  /// `connection` and `keeper` outlive it. The handlers are called on its thread.
  TaskResults(Connection& connection, StreamKeeper& keeper, Settings settings, Handlers handlers);
  ~TaskResults();
  TaskResults(const TaskResults&) = delete;
  TaskResults& operator=(const TaskResults&) = delete;

  /// Why it does not read at the moment; ok while it does. Changes are logged.
  Status health() const;

 private:
  void run();
  Status open();
  Status delete_others(const std::string& name);
  void read();
  void hand_out(natsMsg* message, const DeliveryNumbers& numbers);
  void note_caught_up();
  void pass_over();
  void set_health(Status health);
  void interrupt();

  Connection& connection_;
  StreamKeeper& keeper_;
  const Settings settings_;
  const Handlers handlers_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool interrupted_ = false;                ///< what is open is of no use any more
  std::unique_ptr<PullConsumer> consumer_;  ///< changed by the thread, under the lock
  Status health_ = fail("broker.unreachable", "not connected yet");

  // Only for the thread.
  bool caught_up_ = false;
  int breaks_ = 0;  ///< ends in a row that nothing explains, without an answer

  uint64_t watch_ = 0;
  std::thread thread_;
};

}  // namespace millrace
