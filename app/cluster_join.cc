#include "app/cluster_join.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "broker/log_stream.h"
#include "orchestrator/backup/snapshot_loader.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "os/crash_point.h"

namespace millrace {
namespace {

/// How often a wait asks whether the process ends.
constexpr Duration kAskEach{200};

/// The positions of the snapshot, as SnapshotLoader needs them.
std::pair<LogPosition, LogPosition> positions_of(const SnapshotManifest& manifest) {
  if (manifest.from.sequence != 0) return {manifest.from, manifest.to};
  const LogPosition base = base_of(manifest);
  return {base, base};
}

/// Applies commits until the store has all rows of the snapshot.
class CatchUp final : public LogSink {
 public:
  explicit CatchUp(LogFollower& follower) : follower_(follower) {}

  bool deliver(LogNews news) override {
    const Status applied = apply_commits(follower_, news.commits);
    const std::lock_guard lock(mutex_);
    if (!applied) result_ = applied;
    if (applied && !follower_.is_loading()) result_ = Status();
    changed_.notify_all();
    return !result_ && !is_closed_;
  }

  void fail(const Error& error) override {
    const std::lock_guard lock(mutex_);
    result_ = tl::unexpected(error);
    changed_.notify_all();
  }

  /// Waits for the end.
  Status wait(const std::function<bool()>& stops) {
    std::unique_lock lock(mutex_);
    while (!result_) {
      if (stops()) {
        is_closed_ = true;
        return millrace::fail("snapshot.stopped", "the process ends");
      }
      changed_.wait_for(lock, kAskEach);
    }
    return *result_;
  }

 private:
  LogFollower& follower_;
  std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_;
  bool is_closed_ = false;
  std::optional<Status> result_;
};

}  // namespace

Status apply_commits(LogFollower& follower, std::span<const ReadLogCommit> commits) {
  std::vector<LogCommit> read;
  read.reserve(commits.size());
  for (const ReadLogCommit& commit : commits) {
    read.push_back({commit.position, commit.behind, commit.write_set});
  }
  return follower.apply(read);
}

LogPosition base_of(const SnapshotManifest& manifest) {
  RandomName node{};
  RandomName id{};
  read_hex(manifest.node, node);
  read_hex(manifest.id, id);
  return base_position(node, id);
}

bool must_load(const LogPosition& position, const LogStart& start) {
  if (position.sequence + 1 < start.first) return true;
  return start.base && position.sequence == 0 && to_hex(position.chain) != *start.base;
}

Result<SnapshotManifest> choose_snapshot(Connection& connection, const StreamSettings& snapshots,
                                         std::string_view key, const LogStart& start) {
  const auto found = TRY(find_snapshots(connection, snapshots, key));
  const SnapshotManifest* best = nullptr;
  for (const StoredSnapshot& one : found) {
    const SnapshotManifest& manifest = one.manifest;
    const bool is_base_of_log = start.first == 1 && manifest.id == start.base;
    const bool is_followed =
        manifest.from.sequence > 0 && manifest.from.sequence + 1 >= start.first;
    if (!is_base_of_log && !is_followed) continue;
    // A snapshot that ended later may have started earlier.
    if (best == nullptr || manifest.from.sequence > best->from.sequence) best = &manifest;
  }
  if (best != nullptr && best->format > kStoreFormat) {
    return fail(
        "store.version",
        fmt::format("snapshot {} of the cluster has the store format {}, which this release "
                    "({}) does not read; update millrace on this machine",
                    best->id, best->format, MILLRACE_VERSION));
  }
  if (best != nullptr) return *best;
  return fail("cluster.no_snapshot",
              fmt::format("the log of the cluster begins at message {}, and stream {} has none of "
                          "the snapshots that this node needs ({} are there, none of them fits); a "
                          "node that has the data takes one when it is due: wait, or copy the data "
                          "folder of a stopped node",
                          start.first, snapshots.name, found.size()));
}

Status load_snapshot(Environment& store, Connection& connection, const SnapshotManifest& manifest,
                     const LoadSettings& settings) {
  const auto [from, to] = positions_of(manifest);
  {
    const auto loader = TRY(SnapshotLoader::begin(store, from, to));
    SnapshotReader reader(connection, settings.snapshots, settings.log.key, manifest);
    for (uint64_t loaded = 0; const auto chunk = TRY(reader.next());) {
      if (settings.stops()) return fail("snapshot.stopped", "the process ends");
      TRY(loader->add(*chunk));
      crash_point(CrashPoint::kSnapshotLoading);
      settings.on_chunk(++loaded, manifest.chunks);
    }
    TRY(loader->finish(manifest.rows));
  }
  const auto follower = TRY(LogFollower::open_loading(store));
  if (!follower->is_loading()) return {};
  CatchUp sink(*follower);
  const LogReader reader(connection, settings.log, from, sink);
  return sink.wait(settings.stops);
}

}  // namespace millrace
