// How a node of a cluster joins it, before it follows the log: it founds the cluster, with its rows
// as the base of the log if it has any; or it loads a snapshot, if the log no longer has all that
// its store lacks. All of this is on the node thread, which tries again until it succeeds.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/cluster_node.h"
#include "app/random_id.h"
#include "base/bytes.h"
#include "base/has_code.h"
#include "broker/log_stream.h"
#include "broker/server_version.h"
#include "cluster/node_answer.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/disk/store_files.h"
#include "orchestrator/store/found_store.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// How long a node waits before it tries again to join.
constexpr Duration kJoinEach{1'000};

/// The beginning of the names of the folders that have the files of stores that were replaced.
constexpr std::string_view kReplaced = "replaced-";

/// Whether an error of joining does not pass unless an operator does something.
bool ends_joining(const Error& error) {
  return has_code(error, {"cluster.founded", "cluster.broker", "broker.replicas", "broker.stream",
                          "store.version", "store.cluster", "store.locked"});
}

/// Removes the files of stores that were replaced before: the newest ones are kept.
void remove_replaced(const fs::path& folder) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (!entry.path().filename().string().starts_with(kReplaced)) continue;
    spdlog::info("removing {}, the store that an earlier snapshot replaced", entry.path().string());
    fs::remove_all(entry.path(), failed);
  }
}

}  // namespace

/// False: the node has ended.
bool ClusterNode::join_cluster() {
  note_join({"cluster.joining", "this node looks for the log of its cluster"});
  while (true) {
    bool is_base_due = false;
    {
      const std::lock_guard lock(mutex_);
      if (is_closed_) return false;
      is_base_due = is_base_due_;
    }
    if (is_base_due) begin_with_base();
    const Status joined = try_to_join();
    if (joined) break;
    if (ends_joining(joined.error())) {
      end({NodeEnd::What::kFailed, joined.error()});
      return false;
    }
    note_join(joined.error());
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kJoinEach,
                      [this] { return is_closed_ || is_stop_asked_ || is_base_due_; });
    if (is_closed_) return false;
    if (!is_stop_asked_) continue;
    lock.unlock();
    end({NodeEnd::What::kExit});
    return false;
  }
  finish_join();
  return true;
}

/// Whether the node ends, or is asked to.
bool ClusterNode::is_ending() const {
  const std::lock_guard lock(mutex_);
  return is_closed_ || is_stop_asked_;
}

void ClusterNode::note_join(Error why) {
  const std::lock_guard lock(mutex_);
  if (why.code != join_.code) spdlog::info("{} [{}]", why.message, why.code);
  join_ = std::move(why);
}

Status ClusterNode::try_to_join() {
  TRY(check_server());
  if (founds_) return found();
  const uint64_t behind = follower_ ? position_.sequence : 0;
  const LogStart start = TRY(find_log_start(*following_, stream_, key_, behind));
  if (follower_ && !must_load(position_, start)) return {};
  return load_newest(start);
}

/// Whether the NATS server is new enough for the log of a cluster.
Status ClusterNode::check_server() {
  if (is_server_checked_ || !following_->connected()) return {};
  const std::string warning = TRY(judge_server_version(server_version(*following_).value_or("")));
  if (!warning.empty()) spdlog::warn("{}", warning);
  is_server_checked_ = true;
  return {};
}

/// Creates the log of the cluster, behind the rows of this node.
Status ClusterNode::found() {
  TRY(check_not_founded(*following_, stream_));
  if (TRY(lacks_base())) TRY(take_base());
  TRY(found_log(*following_, stream_));
  spdlog::info("cluster {} is founded", settings_.name);
  return {};
}

/// Whether the rows of this node are still to be published as the base: also if an earlier founding
/// published them, and the snapshot is no longer there.
Result<bool> ClusterNode::lacks_base() {
  if (!follower_) return true;
  if (!is_base(position_)) return false;  // the store is empty
  const auto found = TRY(find_snapshots(*following_, snapshot_settings().snapshots, key_));
  return std::none_of(found.begin(), found.end(), [&](const StoredSnapshot& one) {
    return one.manifest.id == to_hex(position_.chain);
  });
}

/// Publishes the rows of a store that is not of a cluster yet, and marks them as the base. A store
/// that is marked keeps its mark.
Status ClusterNode::take_base() {
  SnapshotSettings settings = snapshot_settings();
  TRY(ensure_stream(*following_, settings.snapshots));
  RandomName id = random_id();
  if (is_base(position_)) {
    id = position_.chain;
    settings.node = to_hex(position_.node);
  }
  follower_.reset();
  SnapshotWriter writer(*following_, settings.snapshots, key_, to_hex(id));
  note_join({"cluster.joining", "this node publishes its rows as the base of the cluster"});
  const SnapshotManifest base =
      TRY(take_snapshot(*store_, writer, settings.node, [this] { return is_ending(); }));
  TRY(found_with(*store_, base_of(base)));
  follower_ = TRY(LogFollower::open(*store_));
  position_ = follower_->position();
  spdlog::info("snapshot {} has the {} rows with which the cluster begins", base.id,
               sum_of(base.rows));
  return {};
}

/// Loads a snapshot in place of the present store.
Status ClusterNode::load_newest(const LogStart& start) {
  if (!TRY(is_log_of_key(*following_, stream_, key_))) {
    return tl::unexpected(log_of_another_key(stream_));
  }
  const SnapshotSettings settings = snapshot_settings();
  const SnapshotManifest manifest =
      TRY(choose_snapshot(*following_, settings.snapshots, key_, start));
  TRY(empty_store());
  spdlog::info("loading snapshot {} of the cluster: {} chunks", manifest.id, manifest.chunks);
  const LoadSettings load{
      .snapshots = settings.snapshots,
      .log = {.stream = stream_, .key = key_, .newest_format = kStoreFormat},
      .stops = [this] { return is_ending(); },
      .on_chunk =
          [&](uint64_t loaded, uint64_t chunks) {
            note_join({"cluster.joining",
                       fmt::format("this node loads snapshot {} of the cluster: chunk {} of {}",
                                   manifest.id, loaded, chunks)});
          }};
  TRY(load_snapshot(*store_, *following_, manifest, load));
  follower_ = TRY(LogFollower::open(*store_));
  position_ = follower_->position();
  spdlog::info("the snapshot is loaded, up to message {} of the log", position_.sequence);
  return {};
}

/// Opens an empty store in the data folder. The files of a whole store are kept beside it.
Status ClusterNode::empty_store() {
  const fs::path folder = process_.settings.data;
  const bool is_whole = follower_ != nullptr && position_ != LogPosition();
  follower_.reset();
  store_.reset();
  if (is_whole) {
    remove_replaced(folder);
    const auto aside = set_store_aside(
        folder, fmt::format("{}{}", kReplaced, process_.clock.now().time_since_epoch().count()));
    if (!aside) return tl::unexpected(aside.error());
    spdlog::warn(
        "the log of the cluster no longer has what this store lacks: its files are in {} "
        "now, and can be removed",
        aside->string());
  } else {
    TRY(clear_store(folder));
  }
  store_ = TRY(open_store(process_.settings));
  return {};
}

void ClusterNode::finish_join() {
  start_snapshots();
  auto copied =
      std::make_unique<CopiedStore>(*store_, process_.clock, [this] { return known_at(); });
  read_registered();
  const std::lock_guard lock(mutex_);
  copied_ = std::move(copied);
  set_position();
  is_joined_ = true;
  spdlog::info("this node follows the log of cluster {} from message {} on", settings_.name,
               position_.sequence);
}

// Snapshots.

SnapshotSettings ClusterNode::snapshot_settings() const {
  return {.log = stream_,
          .snapshots = snapshot_stream(settings_.name, process_.settings.streams),
          .key = key_,
          .node = node(),
          .least_bytes = settings_.snapshot_after,
          .rest = 2 * settings_.broker_sync_interval};
}

void ClusterNode::start_snapshots() {
  snapshots_ = std::make_unique<ClusterSnapshots>(
      *store_, *following_, snapshot_settings(),
      ClusterSnapshots::Calls{
          .state = [this] { return snapshot_state(); },
          .trim = [this](int64_t created, uint64_t before) { trim_soon(created, before); }});
}

ClusterSnapshots::State ClusterNode::snapshot_state() const {
  ClusterSnapshots::State state{.is_ready = ready().has_value()};
  const std::lock_guard lock(mutex_);
  state.is_active = role_->is_active();
  for (const Json& one : nodes_) {
    if (text_in(one, "role") == "standby") state.standbys.push_back(text_in(one, "node"));
    if (error_in(one) == "cluster.no_snapshot") state.is_awaited = true;
  }
  return state;
}

/// Trims the log behind a beat: a node that was deposed meanwhile must not.
void ClusterNode::trim_soon(int64_t created, uint64_t before) {
  appender_.put([this, created, before] {
    if (!log_ || !beat()) return;
    const Status trimmed = trim_log(*following_, stream_, created, before);
    if (trimmed) {
      spdlog::info("the log of the cluster begins at message {} now", before);
    } else {
      spdlog::warn("the log of the cluster was not trimmed: {} [{}]", trimmed.error().message,
                   trimmed.error().code);
    }
  });
}

}  // namespace millrace
