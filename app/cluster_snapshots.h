// ClusterSnapshots: takes the snapshots of a cluster, and has its log trimmed behind them.
// cluster/snapshot_plan.h says when. The thread reads the store beside the engine or the follower,
// which do not wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "broker/connection.h"
#include "broker/snapshot_stream.h"
#include "broker/streams.h"
#include "orchestrator/store/disk/environment.h"

namespace millrace {

struct SnapshotSettings {
  StreamSettings log;        ///< log_stream()
  StreamSettings snapshots;  ///< snapshot_stream()
  std::string key;           ///< 32 bytes (log_chain)
  std::string node;          ///< the id of this node
  uint64_t least_bytes = 0;  ///< as in is_snapshot_due()
  Duration rest{0};          ///< as in trim_point()
};

/// Takes a snapshot of the store with `writer`. Blocks. Errors: those of the store and of
/// SnapshotWriter; `snapshot.stopped`, also if `stops` returns true between two chunks.
Result<SnapshotManifest> take_snapshot(const Environment& store, SnapshotWriter& writer,
                                       const std::string& node, const std::function<bool()>& stops);

class ClusterSnapshots {
 public:
  /// The role of the node.
  struct State {
    bool is_active = false;
    bool is_ready = false;              ///< this node has applied the log, or is the active
    std::vector<std::string> standbys;  ///< the ids of all ready standbys
    bool is_awaited = false;            ///< a node cannot join, because no snapshot fits
  };
  /// Called on the thread of this object.
  struct Calls {
    std::function<State()> state;
    /// Trims the log (trim_log()) as soon as it is certain that this node is the active.
    std::function<void(int64_t created, uint64_t before)> trim;
  };

  /// `store` and `connection` must outlive this object, whose thread lives as long as it does.
  ClusterSnapshots(const Environment& store, Connection& connection, SnapshotSettings settings,
                   Calls calls);
  ~ClusterSnapshots();
  ClusterSnapshots(const ClusterSnapshots&) = delete;
  ClusterSnapshots& operator=(const ClusterSnapshots&) = delete;

  /// What the last look at the streams has found: {"count","logBytes","newest"?:{"id","position",
  /// "ageSeconds","bytes"},"error"?:{"code","detail"}}; empty before the first look. Any thread.
  Json view() const;

 private:
  using Time = std::chrono::steady_clock::time_point;

  void run();
  bool stops() const;
  Status look();
  Status take_if_due(const StreamInfo& log, const State& state);
  Status take();
  Status trim(const StreamInfo& log);
  Status read_back(const SnapshotManifest& manifest);
  void show(const StreamInfo& log);

  const Environment& store_;
  Connection& connection_;
  const SnapshotSettings settings_;
  const Calls calls_;
  std::vector<StoredSnapshot> known_;  ///< the newest comes first
  std::optional<Time> due_since_;
  Time rest_until_{};  ///< no snapshot is taken before
  std::string sound_;  ///< the id of the snapshot that was read back last

  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  bool is_stopping_ = false;
  SnapshotWriter* writer_ = nullptr;  ///< of the snapshot that is taken now
  Json view_ = Json::object();
  std::thread thread_;
};

}  // namespace millrace
