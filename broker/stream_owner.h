// The owner of the streams. Of all processes with the same prefix on a NATS account, only one at a
// time may use the streams, because otherwise they would take the results of each other's tasks. A
// message in the stream `<PREFIX>_OWNER` names the owner. Processes write that message by
// compare-and-set on the sequence of the previous message. A new process asks the named owner; an
// owner that answers keeps the streams. The clocks of two processes are never compared. In a
// cluster the log decides which node is the active (cluster/node_role.h), and the owner message
// follows: the active replaces the message of another node at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/stream_keeper.h"
#include "broker/streams.h"

// Forward declaration of a type of nats.h. Only sources of broker/ include nats.h.
struct __natsMsg;  // NOLINT(bugprone-reserved-identifier)

namespace millrace {

class Listening;

/// The error code of a process that may not use the streams because another process owns them.
inline constexpr std::string_view kOwnerError = "broker.owner";
/// The error code of a node of a cluster of which another node is the active.
inline constexpr std::string_view kDeposedError = "log.deposed";

/// The owner message: describes a process.
struct OwnerRecord {
  std::string store;    ///< the id of the process's store
  std::string process;  ///< a random id; a new one at each start
  std::string folder;  ///< StoreIdentity::folder: differs between a store's folder and a copy of it
  std::string host;
  int64_t pid = 0;
  std::string started;  ///< the start time, RFC 3339
  std::string address;  ///< the process's address for HTTP
  bool ended = false;   ///< the process has ended and does not own the streams any more
  std::string cluster;  ///< the cluster of which the process is the active; empty: none
  uint64_t epoch = 0;   ///< of the process in its cluster; 0: it is in no cluster

  bool operator==(const OwnerRecord&) const = default;
};

Json encode(const OwnerRecord& record);
/// nullopt: `json` is not an owner message, or names no process.
std::optional<OwnerRecord> decode_owner(std::string_view json);
/// The process and its host, for messages.
std::string describe(const OwnerRecord& record);

/// The action that the newest owner message requires. Pure.
enum class OwnerStep {
  kOwned,    ///< this process owns the streams
  kClaim,    ///< there is no owner: publish our message
  kAsk,      ///< ask the named process
  kReplace,  ///< publish our message at once, although the named process may run
  kLost,     ///< another process has replaced our message
  kDeposed,  ///< another node of our cluster has replaced our message
};
struct StoredOwner {
  OwnerRecord record;
  uint64_t sequence = 0;
};
/// `found`: the newest message of the stream; `self`: this process; `claimed`: the sequence of our
/// message, or 0 if there was none. If the newest message is older than ours, the broker has lost
/// ours. A message of our cluster with a lower epoch than ours is of a former active that has not
/// noticed yet that it is deposed.
OwnerStep next_step(const std::optional<StoredOwner>& found, const OwnerRecord& self,
                    uint64_t claimed);

/// The stream `<PREFIX>_OWNER`, which stores the newest owner messages, without a limit on their
/// age.
StreamSettings owner_stream(const StreamOptions& options);

struct OwnerSettings {
  StreamOptions streams;
  OwnerRecord self;
  bool take_over = false;  ///< take the streams even from a process that answers
  /// Connections that count as connected only while this process owns the streams (`guarded`). In a
  /// cluster none: the role of the node decides (NodeRole::may_serve).
  std::vector<Connection*> guarded;
  /// Called once, on a thread of the StreamOwner, when this process owns the streams.
  std::function<void()> on_owned = [] {};
  /// Called once, on a thread of the StreamOwner, when another process owns the streams. Errors:
  /// `broker.owner`; `log.deposed`, that process is a node of the same cluster.
  std::function<void(const Error&)> on_lost = [](const Error&) {};
  /// An owner that does not answer for this time is replaced. An owner with no subscriber on its
  /// subject is replaced after three times this time.
  Duration patience{3'000};
};

/// Claims the streams as soon as there is a broker, and then checks regularly that this process
/// still owns them. The guarded connections may be used for 0.8 × patience after the last check was
/// sent. So a process that was suspended and resumes cannot send before it has checked again.
class StreamOwner {
 public:
  /// `connection` and the guarded connections must outlive this object. Nothing is claimed before
  /// start().
  StreamOwner(Connection& connection, OwnerSettings settings);

  /// Releases the streams, so that the next process need not wait.
  ~StreamOwner();
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;

  void start();

  /// Waits until this process owns the streams. The result is also ok if the owner cannot be known
  /// yet, because there was no broker for `without_broker`, or the broker did not answer. The
  /// errors `broker.owner` and `log.deposed` name the owner.
  /// `is_ending` is asked 20 times a second; empty: the wait goes on. Once it is true, the wait
  /// ends with the error `stopping`, and nothing is claimed any more.
  Status wait_until_decided(Duration without_broker, const std::function<bool()>& is_ending = {});

  /// Ok while this process owns the streams. Errors: `broker.owner`, `log.deposed`,
  /// `broker.unreachable` (the owner is not known).
  Status health() const;

  /// Whether the streams belong to another process, for good.
  bool is_lost() const;

 private:
  /// The result of one question; kNoSubscriber: the subject has no subscriber.
  enum class Heard { kNothing, kNoSubscriber, kAnswer };
  /// The result of repeated questions.
  enum class Found {
    kAlive,
    kSilent,  ///< no answer, but the process may come back
    kEnded,
  };
  using Time = std::chrono::steady_clock::time_point;

  void run();
  Status check_owner();
  Result<std::optional<StoredOwner>> newest() const;
  Status claim(uint64_t behind);
  Status replace(uint64_t behind);
  Result<Found> find_out(const OwnerRecord& owner);
  void log_wait(const OwnerRecord& owner, Duration needed) const;
  Status check_round_trip() const;
  Heard ask(const OwnerRecord& owner);
  void on_message(__natsMsg* message);
  void give_back();
  void owned(Time asked_at);
  void lose(std::string_view code, std::string message);
  bool listen();
  bool pause(Duration time);
  bool is_stopping() const;

  Connection& connection_;
  const OwnerSettings settings_;
  const StreamSettings stream_;
  const std::string subject_;
  StreamKeeper keeper_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool stopping_ = false;
  Status health_ = fail("broker.unreachable", "there is no connection to NATS yet");
  bool lost_ = false;  ///< the streams belong to another process, for good
  Heard heard_ = Heard::kNothing;
  std::string asked_;    ///< the process that was asked
  bool failed_ = false;  ///< the last check failed although there was a broker

  // Only for the owner thread, and afterwards for the destructor.
  uint64_t claimed_ = 0;    ///< the sequence of our message; 0: it is not stored
  uint64_t stored_ = 0;     ///< the sequence in the latest acknowledgement of our message; 0: none
  bool announced_ = false;  ///< on_owned was called
  bool soon_ = false;       ///< check the owner again at once
  std::unique_ptr<Listening> questions_;

  uint64_t watch_ = 0;
  std::thread thread_;
};

}  // namespace millrace
