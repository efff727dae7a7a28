// ClusterWorld: the nodes of a cluster on one log (tests/support/memory_log.h) and one broker. Each
// node has a store and a clock of its own: all clocks advance together, each with its offset. A
// node is down, a standby or an active; more than one node may take itself for the active. The
// process of a node may die at any moment, also in a commit. Nodes take snapshots while others
// commit, and load them. Nothing happens outside the calls of
// the test. For use by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/log_recovery.h"
#include "orchestrator/backup/chunk.h"
#include "orchestrator/backup/rolling_chunks.h"
#include "orchestrator/store/log_follower.h"
#include "os/crash_point.h"
#include "scenarios/stage.h"
#include "tests/simulation/process_outlet.h"
#include "tests/simulation/world.h"
#include "tests/support/all_rows.h"
#include "tests/support/folder.h"
#include "tests/support/memory_log.h"

namespace millrace {

class ClusterWorld;

/// A snapshot that a node has taken.
struct WorldSnapshot {
  std::vector<std::string> chunks;
  LogPosition from;
  LogPosition to;
  RowCounts rows;
};

class WorldNode {
 public:
  /// A standby with an empty store. `offset` is how much its wall clock is ahead of the broker's.
  WorldNode(ClusterWorld& world, uint8_t number, Duration offset);
  ~WorldNode();
  WorldNode(const WorldNode&) = delete;
  WorldNode& operator=(const WorldNode&) = delete;

  VirtualClock clock;
  TestEvaluator evaluator;

  bool is_active() const { return stage_ != nullptr; }
  bool is_standby() const { return follower_ != nullptr; }
  /// Of an active.
  Stage& stage() { return *stage_; }

  // A standby.

  /// Whether it is a standby that lacks rows of the snapshot that it has loaded.
  bool is_loading() const { return is_standby() && follower_->is_loading(); }

  /// Reads the log and applies `most` commits at most. If the log no longer has what follows the
  /// store, the node loads a snapshot first.
  void follow(size_t most = SIZE_MAX);
  /// As follow(), without a snapshot. Errors: those of MemoryLog::read() and of
  /// LogFollower::apply().
  Status try_follow(size_t most = SIZE_MAX);
  /// Starts an epoch and an engine, which is careful if `is_careful` (ProcessorOptions) or if the
  /// store has a crash note. Returns false if the log refuses that, because it has more than
  /// this node has read, or refuses a commit of the start; the node is a standby then.
  bool take_over(bool is_careful = false);
  /// The process dies, and the next one loads a snapshot in place of the store. If it has more than
  /// `most` chunks, that process dies, too, and the one after it loads the snapshot again.
  void join(size_t most = SIZE_MAX);

  // An active. If the log ends its engine, the process starts again, as a standby.

  /// Runs one round: see Stage::step().
  bool step(size_t most = 64);
  /// Runs one turn of the engine alone: without messages of the broker.
  void turn();
  /// Runs until nothing more happens unless the clocks move.
  void run_until_idle();
  Answered command(Command command);
  Answered start(const std::string& workflow, Json input, std::string key = "");

  // Both.

  /// The process dies, and its store is checked.
  void crash();
  /// An active dies in its next turn: after the commit, before the actions after the commit.
  void crash_after_commit();
  /// Drops what the process of an active sends from now on: it is about to die.
  void mute();
  /// Starts a process, which is a standby, on the store of a dead one.
  void recover();
  void restart() { crash(), recover(); }

  /// Reads the next chunk of the snapshot that the node takes; without one, begins it. The world
  /// has the snapshot when it ends.
  void read_chunk();

  // A log that may lose its newest messages (ClusterWorld::asks_others).

  /// How much of the log this node has: its store, and what its process has read or appended.
  LogRank rank() const { return {.epoch = has_epoch_, .sequence = has_to_}; }
  /// Whether the log ends before what this node has.
  bool is_ahead() const;
  /// Whether its process has read or appended the message at that sequence.
  bool keeps(uint64_t sequence) const { return kept_.contains(sequence); }
  /// What this node does, as the answers of all nodes say. Notes which node has more.
  LogRecovery plan();
  /// Appends again what the log has lost, if this node is ahead and may and can do that. Returns
  /// whether the log has all that this node has.
  bool mend();
  std::string id() const { return fmt::format("node {}", name_[0]); }

  /// Every row of the store.
  RowsByKey rows() const;
  LogPosition position() const;
  /// Expects the rows that the log gives up to the position of the store, byte for byte. While a
  /// snapshot is loaded, the rows are of different commits, and nothing is expected.
  void expect_rows_of_log();

  /// How often the log has ended an engine of this node, by the code of its error.
  std::map<std::string, int> ends;
  int loads = 0;     ///< how many snapshots this node has loaded
  int restores = 0;  ///< how often it has appended again what the log had lost

 private:
  EnvironmentOptions store_options();
  const Environment& environment() const;
  bool load_snapshot(size_t most);
  Result<std::unique_ptr<Stage>> open_stage(bool is_careful);
  /// The log as an active sees it.
  class Lead final : public CommitLog {
   public:
    Lead(WorldNode& node, std::unique_ptr<CommitLog> log) : node_(node), log_(std::move(log)) {}
    Result<LogPosition> append(std::string_view write_set) override;

   private:
    WorldNode& node_;
    std::unique_ptr<CommitLog> log_;
  };

  Status before_append();
  void note_read(uint64_t to);
  void forget_read();
  void restart_if_ended();

  ClusterWorld& world_;
  const RandomName name_;
  uint8_t incarnations_ = 0;
  Folder folder_{fast_folder()};
  uint64_t read_to_ = 0;    ///< the last sequence of the log that this node has read
  uint64_t has_to_ = 0;     ///< the sequence of the last message that it has
  uint64_t has_epoch_ = 0;  ///< the epoch of that message
  /// What the process has read or appended, by sequence.
  std::map<uint64_t, MemoryLog::Message> kept_;
  std::optional<RankedNode> more_seen_;  ///< LogSituation::seen
  std::optional<Error> ended_;           ///< why the log has ended the engine
  std::unique_ptr<CommitLog> lead_;
  std::unique_ptr<Environment> environment_;  ///< of a standby
  std::unique_ptr<LogFollower> follower_;
  std::optional<RollingChunks> rolling_;  ///< the snapshot that the node takes
  std::vector<std::string> chunks_;       ///< of that snapshot
  int replaced_ = 0;                      ///< how many stores were moved aside
  std::unique_ptr<ProcessOutlet> outlet_;
  std::unique_ptr<Stage> stage_;
  RowsByKey log_rows_;  ///< what the log gives up to `log_rows_to_`
  uint64_t log_rows_to_ = 0;
};

class ClusterWorld {
 public:
  /// A cluster of one node for each offset (WorldNode), all of them standbys.
  explicit ClusterWorld(const std::vector<Duration>& offsets, uint64_t seed = 1);

  VirtualClock clock;
  BrokersClock brokers_clock{clock};
  MemoryBroker broker{brokers_clock};
  MemoryLog log;
  ActedFunctions functions{clock};
  TestReceivers receivers;
  std::vector<WorldSnapshot> snapshots;  ///< in the order in which they ended
  /// Of a chunk of a snapshot: so few that a store of a simulation has many chunks.
  size_t chunk_bytes = 1'000;
  /// Sets the options of each node's next store; may be empty.
  std::function<void(EnvironmentOptions&)> change_store_options;
  /// Whether a node asks all others before it begins an epoch or appends, as it must if the log may
  /// lose its newest messages. All nodes answer.
  bool asks_others = false;
  /// Called when a node passes kEpochOpened, kActive, kSnapshotPart or kSnapshotComplete; may be
  /// empty. The process dies there if the function throws.
  std::function<void(CrashPoint)> on_point;

  size_t size() const { return nodes_.size(); }
  WorldNode& node(size_t index) { return *nodes_[index]; }

  /// The clocks of all nodes and of the broker.
  void advance(Duration by);
  /// Moves the clocks from one deadline of that active to the next, and runs it until idle at each.
  void run_for(WorldNode& active, Duration time);

  /// The snapshot that begins last in the log; there must be one.
  const WorldSnapshot& newest_snapshot() const;
  /// Trims the log up to the begin of that snapshot.
  void trim_to(const WorldSnapshot& snapshot) { log.trim(snapshot.from.sequence + 1); }

  // A log that may lose its newest messages.

  /// Each node looks whether the log has lost something, and appends it again if it may and can.
  void mend();
  /// Whether a node has what the log has lost.
  bool has_lost_messages() const;
  /// Whether a process has read or appended the message at that sequence.
  bool keeps(uint64_t sequence) const;

  /// Stores an event of another publisher in the event stream.
  void publish(std::string type, std::string id, const Json& data,
               std::map<std::string, AttributeValue> extensions = {});

  /// Expects a log in which each epoch belongs to one incarnation, has its commits in order, and in
  /// which engine time does not go back.
  void expect_sound_log() const;

  InstanceId make_id(TimePoint now);  ///< for the nodes
  void pass(CrashPoint point) const;  ///< for the nodes
  /// Checks the store, unless a store with the same rows was checked before; for the nodes.
  void expect_sound_rows(const View& view);
  std::vector<RankedNode> ranks() const;  ///< for the nodes

 private:
  std::mt19937_64 random_;
  uint32_t last_id_ = 0;
  std::set<RandomName> checked_;  ///< hashes of the rows of stores
  std::vector<std::unique_ptr<WorldNode>> nodes_;
};

}  // namespace millrace
