// Reads the answers that workers put into MILLRACE_RESULTS, on one thread, during the lifetime of
// the object and through reconnects. An answer stays in the stream until it is acknowledged. So an
// answer that comes while there is no reader, or is read but not stored, is delivered again.
// Private to broker/.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "broker/connection.h"
#include "broker/pull_consumer.h"
#include "broker/pull_window.h"
#include "broker/stream_keeper.h"
#include "broker/streams.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// The name of our consumer for answers; if there is an owner, `-` and the owner's
/// OwnerRecord::process follow, and on the active of a cluster `-` and its epoch. So a former owner
/// that is still running cannot take the consumer of the present owner.
inline constexpr std::string_view kResultsConsumer = "millrace";

/// What is done with another consumer of the stream, which allows one. Pure.
enum class OtherConsumer {
  kKept,       ///< not one of millrace; the broker then refuses ours
  kDeleted,    ///< of a former process, or of a former epoch
  kYieldedTo,  ///< of a later epoch of the cluster: this node is not the active any more
};
/// `name`: of that consumer. `epoch`: of this node in its cluster; nullopt: it is in none, and owns
/// the streams.
OtherConsumer judge_consumer(std::string_view name, std::optional<uint64_t> epoch);

class TaskResults {
 public:
  struct Settings {
    StreamSettings stream;
    std::string process;            ///< the owner's process; empty: no owner
    std::optional<uint64_t> epoch;  ///< of the active of a cluster; nullopt: no cluster
    PullSettings pull;
    size_t most_unstored = 4'096;  ///< limit of answers that are reported but not stored yet
    /// No further answer is reported while so many bytes of answers are not stored yet.
    uint64_t most_unstored_bytes = uint64_t{32} << 20;
  };
  struct Handlers {
    /// Call `stored` once, when the answer is stored: `stored` deletes the answer from the stream.
    /// Any thread may call `stored`, even after this object is destroyed.
    std::function<void(NatsMessage answer, std::function<void()> stored)> answer;
    /// Called once: when all answers that waited when reading started have been handed out. If the
    /// connection is lost before that, the call comes after a later reconnect.
    std::function<void()> caught_up;
  };

  /// `connection` and `keeper` must outlive this object. The handlers are called on the thread of
  /// this object.
  TaskResults(Connection& connection, StreamKeeper& keeper, Settings settings, Handlers handlers);
  ~TaskResults();
  TaskResults(const TaskResults&) = delete;
  TaskResults& operator=(const TaskResults&) = delete;

  /// Ok while answers are read; otherwise the reason why they are not. Changes are logged.
  Status health() const;

 private:
  class Unstored;

  void run();
  Status open();
  std::string consumer_name() const;
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
  const std::shared_ptr<Unstored> unstored_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool interrupted_ = false;                ///< the open consumer is unusable
  std::unique_ptr<PullConsumer> consumer_;  ///< changed by the reading thread only, under the lock
  Status health_ = fail("broker.unreachable", "there is no connection to NATS yet");

  // Only for the reading thread.
  bool caught_up_ = false;
  int breaks_ = 0;  ///< consumers in a row that ended for no known reason and without an answer

  uint64_t watch_ = 0;
  std::thread thread_;
};

}  // namespace millrace
