// The owner of the streams: of all processes that use the same prefix on a NATS account one at a
// time, or they would take each other's answers. It is a message in the stream `<PREFIX>_OWNER`,
// written by compare-and-set on the sequence of the one before. A newcomer asks the process that
// the message names; one that answers keeps the streams. No clock of one process is compared with
// that of another.
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

// nats.h, which only sources of broker/ include, calls it so.
struct __natsMsg;  // NOLINT(bugprone-reserved-identifier)

namespace millrace {

class Listening;

/// The error of a process that may not use the streams: another one owns them.
inline constexpr std::string_view kOwnerError = "broker.owner";

/// A process, as the message of the owner describes it.
struct OwnerRecord {
  std::string store;    ///< id of its store
  std::string process;  ///< random: this start of a process
  std::string folder;   ///< Environment::mark(): tells the folder of the store from a copy
  std::string host;
  int64_t pid = 0;
  std::string started;  ///< RFC 3339
  std::string address;  ///< where it answers HTTP
  bool ended = false;   ///< it has ended and owns nothing any more

  bool operator==(const OwnerRecord&) const = default;
};

Json encode(const OwnerRecord& record);
/// nullopt: it is none, or names no process.
std::optional<OwnerRecord> decode_owner(std::string_view json);
/// For messages: who it is and where.
std::string describe(const OwnerRecord& record);

/// What to do about the newest message of the owner. Pure.
enum class OwnerStep {
  kOwned,  ///< it is ours
  kClaim,  ///< nobody owns the streams: put ours in its place
  kAsk,    ///< ask the process that it names
  kLost,   ///< another process has put its own in the place of ours
};
struct StoredOwner {
  OwnerRecord record;
  uint64_t sequence = 0;
};
/// `found`: what the stream holds; `self`: this process; `claimed`: the sequence of our message, 0:
/// there was none. A message before ours means that the broker has lost ours.
OwnerStep next_step(const std::optional<StoredOwner>& found, const OwnerRecord& self,
                    uint64_t claimed);

/// `<PREFIX>_OWNER`: keeps the newest owners, without a bound on their age.
StreamSettings owner_stream(const StreamOptions& options);

struct OwnerSettings {
  StreamOptions streams;
  OwnerRecord self;
  bool take_over = false;  ///< also from a process that answers
  /// Connections that count as connected only while this process owns the streams (`guarded`).
  std::vector<Connection*> guarded;
  std::function<void()> on_owned = [] {};                           ///< once; on a thread of ours
  std::function<void(const Error&)> on_lost = [](const Error&) {};  ///< the same
  /// One that is asked and silent for so long is replaced, and one that is not connected after
  /// three times as long.
  Duration patience{3'000};
};

/// Claims the streams as soon as there is a broker, and looks again and again whether they are
/// still its own. What it guards may be used for 0.8 × patience from when that was asked last: a
/// process that was stopped and goes on finds itself locked out before it has looked.
class StreamOwner {
 public:
  /// `connection` and those that are guarded outlive it. Nothing is claimed before start().
  StreamOwner(Connection& connection, OwnerSettings settings);

  /// Gives the streams back, so that the next one need not wait.
  ~StreamOwner();
  StreamOwner(const StreamOwner&) = delete;
  StreamOwner& operator=(const StreamOwner&) = delete;

  void start();

  /// Waits until the streams are ours. Ok also where that can't be known yet: there was no broker
  /// for `without_broker`, or it could not say. Error `broker.owner` names the owner.
  Status wait_until_decided(Duration without_broker) const;

  /// Ok while the streams are ours. Errors: `broker.owner`, `broker.unreachable` (it is not known).
  Status health() const;

 private:
  /// What came of a question.
  enum class Heard { kNothing, kNobody, kAnswer };
  /// What came of asking again and again.
  enum class Found {
    kAlive,
    kSilent,  ///< it may come back
    kEnded,
  };
  using Time = std::chrono::steady_clock::time_point;

  void run();
  Status look();
  Result<std::optional<StoredOwner>> newest() const;
  Status claim(uint64_t behind);
  Status replace(uint64_t behind);
  Result<Found> find_out(const OwnerRecord& owner);
  Status check_round_trip() const;
  Heard ask(const OwnerRecord& owner);
  void on_message(__natsMsg* message);
  void give_back();
  void owned(Time asked_at);
  void lose(std::string message);
  bool listen();
  bool pause(Duration time);

  Connection& connection_;
  const OwnerSettings settings_;
  const StreamSettings stream_;
  const std::string subject_;
  StreamKeeper keeper_;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool stopping_ = false;
  Status health_ = fail("broker.unreachable", "not connected yet");
  bool lost_ = false;  ///< for good
  Heard heard_ = Heard::kNothing;
  std::string asked_;    ///< the process
  bool failed_ = false;  ///< the last look failed though there was a broker

  // Only for the thread, and for the destructor behind it.
  uint64_t claimed_ = 0;  ///< the sequence of our message; 0: it is not there
  bool told_ = false;     ///< on_owned was called
  bool soon_ = false;     ///< it looks again at once
  std::unique_ptr<Listening> questions_;

  uint64_t watch_ = 0;
  std::thread thread_;
};

}  // namespace millrace
