// NodeRole: when a node is a standby, takes over, is the active, is deposed, and hands over. Its
// inputs are facts, each with the time at which it was seen; its outputs are actions, which the
// caller carries out. The log decides who is the active; NodeRole decides when it is worth trying,
// and how long an active may act without asking the log again. Two rules keep one active's effects
// apart from those of the next one:
// - A standby appends a `begin` behind the message that it has applied last, and not before
//   `takeover_after` has passed since it read that message, unless the message is an `end`.
// - An active has effects only while its lead is fresh: its latest confirmed append was sent less
//   than 0.8 × `takeover_after` ago. Before it appends an `end`, it stops its effects.
// Pure: no clock, thread or socket. For one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cluster/silence.h"
#include "cluster/takeover_count.h"

namespace millrace {

/// A message that the reader of the log has read.
struct LogHeard {
  enum class What : uint8_t {
    kBegin,
    kCommit,  ///< or a part of one
    kBeat,
    kEnd,
    kForeign,
  };
  What what = What::kBeat;
  uint64_t sequence = 0;
  uint64_t pending = 0;  ///< how many messages of the stream the broker has behind it
  /// How long ago the log stored it: by the broker's time stamp and the clock of this node.
  Duration age{0};
  // Of a kBegin.
  bool is_own = false;   ///< this incarnation appended it
  uint64_t unclean = 0;  ///< as in LogBegin
};

/// What has to be done.
struct NodeAction {
  enum class What : uint8_t {
    kOpenReader,  ///< open the reader of the log, or open it again, behind what was read
    /// Append a `begin` that expects the sequence `expects`. It is sent once. Ends with
    /// begin_taken() or begin_failed().
    kAppendBegin,
    kStartEngine,  ///< load the engine on the folder, with this node's log
    kAppendBeat,   ///< ends with beat_taken() or epoch_lost()
    /// Effects may be performed, and requests answered: all that talks to others than the log.
    kServe,
    kStopServing,
    kDrain,  ///< complete what the engine has, and start nothing; ends with drained()
    /// Append an `end`. The log gets nothing else from this node from now on, also if the engine
    /// has not stopped. Ends with end_taken() or epoch_lost().
    kAppendEnd,
    kReplace,  ///< replace the process by another incarnation; the last action
    kExit,     ///< end the process; the last action
  };
  What what = What::kOpenReader;
  uint64_t expects = 0;     ///< of a kAppendBegin
  uint64_t unclean = 0;     ///< of a kAppendBegin: what it says in LogBegin
  bool is_careful = false;  ///< of a kStartEngine: the inputs are applied one by one
};

class NodeRole {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Settings {
    Duration takeover_after{2'000};    ///< the same on all nodes of the cluster
    Duration max_clock_offset{1'000};  ///< from the broker's time stamps
    Duration engine_limit{30'000};     ///< a turn of a healthy engine is shorter
    Duration drain_limit{500};         ///< how long a drain may take
    Duration end_limit{10'000};        ///< after this time the process ends without an `end`
    bool founds = false;               ///< the node may append the first `begin` of a log
  };

  /// A standby whose folder has the log up to the sequence `position`; 0: nothing of it. The latest
  /// `begin` up to there should be passed to heard() first, for its count of takeovers.
  NodeRole(Settings settings, uint64_t position)
      : settings_(settings),
        silence_(settings.takeover_after),
        takeovers_(position > 0),
        heard_(position),
        applied_(position),
        is_founded_(position > 0) {}

  /// Returns what has to be done now, in this order. It counts as done. To be called after every
  /// fact, and at next_time().
  std::vector<NodeAction> take_actions(Time now);
  /// When take_actions() has something to return if nothing happens before; nullopt: never.
  std::optional<Time> next_time(Time now) const;

  // Facts of the reader of the log.
  void reader_opened() { silence_.opened(); }
  /// The reader was closed, or its connection is lost.
  void reader_closed();
  void heard(const LogHeard& message, Time now);
  /// The broker says that it has `pending` messages behind those that the reader has.
  void broker_heard(uint64_t pending, Time now) { silence_.broker_heard(pending, now); }
  /// The stream of the log has another leader.
  void leader_changed(Time now) { silence_.leader_changed(now); }
  /// The folder has everything of the log up to that sequence.
  void applied(uint64_t sequence);
  /// The node cannot follow the log any further: the log has diverged, its rows are of a newer
  /// format, the disk is full. The node never takes over.
  void follow_failed(Error error) { fault_ = std::move(error); }

  // How a `begin` has ended.
  /// The log has it. `sent`: when it was sent.
  void begin_taken(Time sent);
  /// It was refused, or not answered. Only the reader sees whether the log has it.
  void begin_failed();

  // Facts of an active.
  /// The engine is loaded, and makes its turns.
  void engine_loaded(Time now);
  /// The engine has completed a turn. An engine without work says so as well, every few seconds.
  void turn_completed(Time now) { turn_at_ = now; }
  /// The engine waits for the log to take a commit.
  void commit_started() { ++commits_; }
  /// The log has the commit. `sent`: when its last part was sent first (LogOutcome::sent).
  void commit_taken(Time sent, Time now);
  /// The log has the beat.
  void beat_taken(Time sent);
  void drained() { is_drained_ = true; }
  void end_taken() { is_end_taken_ = true; }
  /// An append has ended with `log.deposed`, `log.lost` or `log.closed`.
  void epoch_lost() { is_epoch_over_ = true; }

  // Facts of the process.
  /// How much the wall clock of this node is ahead of the broker's time stamps. Until the first
  /// call, the node takes nothing over.
  void clock_measured(Duration offset) { clock_offset_ = offset; }
  /// The process is to end (SIGTERM).
  void stop_asked(Time now);

  /// Whether effects may be performed, and requests answered that change nothing. To be asked
  /// before each, because time passes between the actions.
  bool may_serve(Time now) const;
  /// The lead of an active.
  struct NodeLead {
    Time sent;         ///< when its latest confirmed append was sent
    Time fresh_until;  ///< if no further append is confirmed
  };
  /// nullopt: this node is not the active.
  std::optional<NodeLead> node_lead() const;
  /// Whether this node has the epoch, and its engine serves or is to serve.
  bool is_active() const { return step_ == Step::kLeading || step_ == Step::kDraining; }
  /// Why `/readyz` is 503; nullopt: the node is ready.
  std::optional<Error> not_ready(Time now) const;

 private:
  enum class Step : uint8_t {
    kFollowing,
    kBeginning,  ///< a `begin` is under way
    kLeading,
    kDraining,  ///< the engine stops, and then the epoch ends
    kEnding,    ///< an `end` is under way
    kDone,
  };
  enum class Engine : uint8_t { kNone, kLoading, kLoaded };

  void act(Time now);
  void follow(Time now);
  void lead(Time now);
  void drain(Time now);
  void finish();
  void pace(Time now);
  void stop_serving();
  void push(NodeAction::What what) { actions_.push_back({.what = what}); }

  bool has_all(Time now) const { return applied_ == heard_ && silence_.has_all(now); }
  bool is_clock_right() const;
  bool is_engine_alive(Time now) const;
  Duration beat_after() const { return settings_.takeover_after / 4; }
  Duration fresh_for() const { return settings_.takeover_after * 4 / 5; }
  std::optional<Error> standby_not_ready(Time now) const;

  const Settings settings_;
  Step step_ = Step::kFollowing;
  std::vector<NodeAction> actions_;
  bool is_stop_asked_ = false;
  std::optional<Duration> clock_offset_;

  // The log, as far as it is read.
  Silence silence_;
  TakeoverCount takeovers_;
  uint64_t heard_;    ///< the sequence of the latest message that was read
  uint64_t applied_;  ///< up to where the folder has the log
  bool is_founded_;
  bool is_own_epoch_ = false;         ///< the latest `begin` is of this incarnation
  bool has_ended_ = false;            ///< the latest message is an `end`
  std::optional<Time> last_message_;  ///< when the log stored its latest message
  bool is_reader_asked_ = false;
  std::optional<Error> fault_;

  // The latest `begin` of this node.
  std::optional<uint64_t> begin_expects_;
  uint64_t begin_unclean_ = 0;
  Time begin_sent_{};  ///< the first that expects that sequence: the log may have each of them

  // The epoch of this node.
  bool is_epoch_over_ = false;  ///< another node has started an epoch, or this one is lost
  Time confirmed_{};            ///< when the latest append that the log has was sent
  uint64_t commits_ = 0;        ///< under way
  uint64_t beats_ = 0;          ///< under way
  Engine engine_ = Engine::kNone;
  Time turn_at_{};
  bool is_serving_ = false;
  Time leaves_at_{};  ///< when the drain began
  bool is_drained_ = false;
  bool is_end_taken_ = false;
};

}  // namespace millrace
