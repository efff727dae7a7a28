// ClusterNode: this process as a node of a cluster. It follows the log of the cluster, becomes the
// active when no other node is it, and then runs an engine whose commits go through the log. What
// is to be done is decided by NodeRole (cluster/node_role.h); this class carries it out:
// - the node thread asks the role, and waits for the next fact;
// - the thread of the reader of the log applies the commits of the active to the store;
// - one thread appends what announces this node: `begin`, beats and `end`;
// - one thread loads and drains the engine, so that beats go on meanwhile;
// - one thread compares clocks with the broker, asks the other nodes for their state, and, on a
//   standby, appends again what the log has lost;
// - one thread takes snapshots of the store.
// Before a node follows the log, it joins the cluster: it founds it, or loads a snapshot if the log
// no longer has what its folder lacks (cluster_join.h).
// After its epoch a process starts again (NodeEnd::kReplace), so no engine outlives its epoch.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "app/cluster_join.h"
#include "app/cluster_snapshots.h"
#include "app/job_thread.h"
#include "app/node_store.h"
#include "app/process_parts.h"
#include "app/running_engine.h"
#include "broker/jetstream_log.h"
#include "broker/kept_log.h"
#include "broker/log_mender.h"
#include "broker/log_reader.h"
#include "broker/node_roll.h"
#include "cli/serve_options.h"
#include "cluster/log_rank.h"
#include "cluster/log_recovery.h"
#include "cluster/node_role.h"
#include "gateway/node_front.h"
#include "orchestrator/store/log_follower.h"
#include "orchestrator/store/rows/node_rows.h"

namespace millrace {

/// Why a node has ended.
struct NodeEnd {
  enum class What : uint8_t {
    kExit,     ///< the process was asked to end
    kReplace,  ///< its epoch is over: another process has to start on its folder
    kFailed,   ///< `error`: the node cannot be one of the cluster
  };
  What what = What::kExit;
  Error error{};
};

/// Called on threads of the node; must not destroy it.
struct NodeEvents {
  /// The engine is loaded: called once, before requests may be answered.
  std::function<void(Service&)> on_service;
  /// The log names another active, or none.
  std::function<void()> on_active_changed;
  /// The engine serves no longer: the log has confirmed nothing for so long that another node may
  /// take over, or the epoch ends.
  std::function<void()> on_lead_lost;
  /// The node has ended: called at least once, the first call counts.
  std::function<void(NodeEnd)> on_end;
};

class ClusterNode final : public NodeFront, private LogSink {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// A node on that store; nothing runs yet. `process` must outlive it. Errors: those of
  /// check_store_of_cluster(), LogFollower::open() and Connection::open().
  static Result<std::unique_ptr<ClusterNode>> make(ProcessParts& process,
                                                   std::unique_ptr<Environment> store,
                                                   NodeEvents events);

  /// Stops the node at once: an active appends no `end`. Precondition: the gateway is stopped.
  ~ClusterNode() override;
  ClusterNode(const ClusterNode&) = delete;
  ClusterNode& operator=(const ClusterNode&) = delete;

  /// Starts the node, as a standby.
  void start();

  /// Asks the node to end; on_end() follows. Any thread; never blocks.
  void ask_to_stop();

  // NodeFront.
  bool may_serve() const override;
  bool is_active() const override;
  Status ready() const override;
  std::string node() const override { return to_hex(node_); }
  std::string active_url() const override;
  Json cluster() const override;
  Result<RandomName> may_remove(std::string_view node, bool is_forced) const override;
  void note_registered(const Result<Json>& answer) override;
  Result<Json> accept_loss() override;
  Json info() const override;
  std::string metrics() const override;
  const NodeStore* store() const override;

 private:
  class Lead;
  friend class Lead;

  ClusterNode(ProcessParts& process, std::unique_ptr<Environment> store, NodeEvents events);

  Status open();
  void set_position();
  void end(NodeEnd how);

  // Facts, from any thread.
  /// Reports a fact to the role, and wakes the node thread.
  template <class Fact>
  void note(Fact fact);
  bool has_fresh_lead() const;
  Status check_clock_step() const;
  Duration ahead_of_steady() const;
  void permit(const NodeRole::NodeLead& lead);
  void set_serving(bool serves);

  // The node thread.
  void run();
  bool join_cluster();
  Status try_to_join();
  Status check_server();
  Status found();
  Result<bool> lacks_base();
  Status take_base();
  Status load_newest(const LogStart& start);
  Status empty_store();
  bool is_ending() const;
  void note_join(Error why);
  void finish_join();
  void start_snapshots();
  TimePoint known_at() const;
  SnapshotSettings snapshot_settings() const;
  ClusterSnapshots::State snapshot_state() const;
  void trim_soon(int64_t created, uint64_t before);
  void perform(const NodeAction& action);
  void open_reader();
  void close_reader();
  void ask_for_turn();

  // The thread that appends; beat() also the engine thread.
  JetStreamLogSettings log_settings();
  void open_log(bool has_base);
  std::optional<std::string> base_of_begin(uint64_t expects) const;
  Status check_rank(uint64_t expects);
  bool may_restore(uint64_t stream_end);
  void append_begin(const NodeAction& action);
  Status beat();
  void append_end();

  // The thread that loads the engine.
  void start_engine(bool is_careful);
  Status load_engine(bool is_careful);

  // The thread of the reader (LogSink).
  bool deliver(LogNews news) override;
  void fail(const Error& error) override;
  void note_news(const LogNews& news, NodeRole& role, Time now);

  // The thread that compares clocks.
  void watch_cluster();
  Status find_active();
  Status compare_clock();
  void ask_nodes();
  void give_way(const std::vector<Json>& nodes);
  Json state() const;
  Json known_active() const;
  void add_registered(Json& nodes) const;

  // A log that may have lost something (cluster_node_recovery.cc).
  void read_registered();
  void register_nodes(const std::vector<Json>& states);
  Result<std::vector<RankedNode>> ask_ranks() const;
  Result<std::optional<std::string>> deposed_by() const;
  std::vector<RegisteredNode> registered_nodes() const;
  LogRecovery plan_with(const LogRank& own, uint64_t stream_end,
                        std::span<const RankedNode> answers);
  void mend_log(const std::vector<Json>& states);
  void note_mended(const LogRestored& mended);
  void continue_from_rows(const LogRank& own, uint64_t stream_end, const std::vector<Json>& states);
  void set_lost(std::string why);
  Status reader_health() const;

  // A log that an operator continues (cluster_node_loss.cc).
  Json loss_in_json(const std::string& why) const;
  void begin_with_base();
  Status take_base_over_loss();
  Result<StreamInfo> log_to_continue();
  void follow_from(const SnapshotManifest& base, uint64_t stream_end);

  ProcessParts& process_;
  const ClusterOptions settings_;
  const StreamSettings stream_;
  const NodeEvents events_;
  const std::string key_;  ///< of the chain of the log
  const RandomName incarnation_;
  /// Of a cluster that this process founds: the time, in milliseconds. So the epochs of a cluster
  /// that is founded later under the same name are higher.
  const uint64_t first_epoch_;
  RandomName node_{};
  /// Of the store at the start. From its joining on guarded by mutex_.
  LogPosition position_;
  bool founds_ = false;     ///< this node creates the log: its store has no commit of one
  bool is_joined_ = false;  ///< the store can follow the log; guarded by mutex_
  /// The store, since is_joined_; guarded by mutex_. Its Environment is that of store_, then of
  /// engine_.
  std::unique_ptr<CopiedStore> copied_;
  /// The newest messages of the log, of the reader and of the appends. Set before both.
  std::shared_ptr<KeptLog> kept_;
  std::unique_ptr<Connection> following_;  ///< for the reader of the log and for the clock
  std::unique_ptr<Connection> appending_;
  // Of a standby: the thread of the reader uses them, then the thread that loads the engine.
  std::unique_ptr<Environment> store_;
  std::unique_ptr<LogFollower> follower_;  ///< null before the node has joined, if it cannot follow

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  std::optional<NodeRole> role_;
  uint64_t facts_ = 0;      ///< that were noted
  LogHistory history_;      ///< as far as the reader has read the log
  std::string address_;     ///< of its node, as the latest `begin` says; empty: not known yet
  bool has_ended_ = false;  ///< the latest message is an `end`
  TimePoint stamped_{};     ///< when the broker stored the latest message
  /// When the broker stored the latest message that is applied; the epoch: none was read yet.
  TimePoint applied_stamped_{};
  uint64_t applied_ = 0;     ///< the sequence of the log up to which the folder has it
  uint64_t committed_ = 0;   ///< the sequence of the latest commit that the folder has
  std::vector<Json> nodes_;  ///< the latest states of all nodes
  std::string withheld_;     ///< why this node takes nothing over; empty: it may
  std::string lost_;         ///< why a log that lacks what this node has is not restored
  /// begin_with_base() is to be called, or is running: the operator accepts a loss, or nothing is
  /// lost because all nodes answer.
  bool is_base_due_ = false;
  bool may_create_log_ = false;  ///< the operator continues a log that was deleted
  std::string base_failure_;     ///< why it has failed last
  // Of the thread that asks the other nodes: the end of the log behind which a restoration found
  // what is lost not in memory last, and how often in turn.
  uint64_t gone_behind_ = 0;
  int gone_rounds_ = 0;
  std::string lost_base_;  ///< the id of the base of the next `begin`, over a loss; or empty
  std::map<std::string, NodeRecord> registered_;  ///< the registered nodes, by id
  std::string not_registered_;           ///< why a node was not registered, as it was logged last
  std::optional<RankedNode> more_seen_;  ///< as LogSituation::seen
  std::string leader_;                   ///< the NATS server that leads the stream
  std::optional<Duration> clock_offset_;
  std::optional<Duration> clock_ahead_;  ///< ahead_of_steady(), when the clocks agreed last
  bool is_closed_ = false;               ///< the node ends: nothing more is done
  bool is_stop_asked_ = false;
  bool is_server_checked_ = false;  ///< its version; the node thread's
  Error join_;                      ///< why the node has not joined yet

  std::atomic<Time::rep> fresh_until_ = 0;  ///< as Time::time_since_epoch()
  std::atomic<bool> is_asked_for_turn_ = false;

  mutable std::mutex permit_mutex_;  ///< guards is_serving_; not taken within mutex_
  bool is_serving_ = false;

  mutable std::mutex reader_mutex_;  ///< guards reader_, which the node thread changes
  std::unique_ptr<LogReader> reader_;

  mutable std::mutex log_mutex_;       ///< guards the pointer log_ against the destructor
  std::unique_ptr<JetStreamLog> log_;  ///< the appender makes it; the engine uses it afterwards
  std::string begin_failure_;          ///< why the latest `begin` failed; the appender's
  uint64_t epoch_ = 0;                 ///< the epoch of this node
  std::unique_ptr<Lead> lead_;
  std::unique_ptr<RunningEngine> engine_;
  std::atomic<RunningEngine*> running_ = nullptr;  ///< engine_, when it is made

  JobThread appender_{"cluster-append"};
  JobThread loader_{"cluster-engine"};
  std::unique_ptr<NodeRoll> roll_;
  std::unique_ptr<LogMender> mender_;  ///< of the thread that compares clocks
  // Only the thread that compares clocks uses these.
  bool is_active_found_ = false;                 ///< find_active() has ended
  bool is_clock_off_ = false;                    ///< as it was logged last
  bool is_self_registered_ = false;              ///< in this epoch
  std::unique_ptr<ClusterSnapshots> snapshots_;  ///< from finish_join() on
  std::thread clock_thread_;
  std::thread node_thread_;
};

template <class Fact>
void ClusterNode::note(Fact fact) {
  std::optional<NodeRole::NodeLead> lead;
  {
    const std::lock_guard lock(mutex_);
    fact(*role_, std::chrono::steady_clock::now());
    ++facts_;
    lead = role_->node_lead();
    fresh_until_ = lead ? lead->fresh_until.time_since_epoch().count() : 0;
    changed_.notify_all();
  }
  if (lead) permit(*lead);
}

}  // namespace millrace
