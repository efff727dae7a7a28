#include "app/cluster_snapshots.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "app/random_id.h"
#include "base/bytes.h"
#include "broker/log_stream.h"
#include "cluster/snapshot_plan.h"
#include "orchestrator/backup/rolling_chunks.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "os/thread.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// How often the thread looks at the streams.
constexpr Duration kLookEach{5'000};

/// How long a node takes no snapshot after one that has failed.
constexpr Duration kRestAfterFailure{60'000};
/// How long a node waits for each node that takes a snapshot before it does.
constexpr Duration kTurn{60'000};

Duration age_of(const StoredSnapshot& snapshot) {
  return std::max(Duration(0), SystemClock().now() - snapshot.stamped);
}

LogSize size_of(const StreamInfo& log) {
  return {.first = log.first_sequence, .last = log.last_sequence, .bytes = log.bytes};
}

/// The position as a manifest has it: that of a base is zero.
LogPosition in_manifest(const LogPosition& position) {
  return is_base(position) ? LogPosition() : position;
}

}  // namespace

Result<SnapshotManifest> take_snapshot(const Environment& store, SnapshotWriter& writer,
                                       const std::string& node,
                                       const std::function<bool()>& stops) {
  RollingChunks chunks(store);
  while (const auto chunk = TRY(chunks.next())) {
    if (stops()) return fail("snapshot.stopped", "the process ends");
    TRY(writer.add(*chunk));
  }
  SnapshotManifest manifest;
  manifest.from = in_manifest(chunks.from());
  manifest.to = in_manifest(chunks.to());
  manifest.rows = chunks.rows();
  manifest.format = kStoreFormat;
  manifest.node = node;
  manifest.version = MILLRACE_VERSION;
  return writer.finish(std::move(manifest));
}

ClusterSnapshots::ClusterSnapshots(const Environment& store, Connection& connection,
                                   SnapshotSettings settings, Calls calls)
    : store_(store),
      connection_(connection),
      settings_(std::move(settings)),
      calls_(std::move(calls)),
      thread_([this] { run(); }) {}

ClusterSnapshots::~ClusterSnapshots() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    if (writer_ != nullptr) writer_->stop();
    changed_.notify_all();
  }
  thread_.join();
}

Json ClusterSnapshots::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

bool ClusterSnapshots::stops() const {
  const std::lock_guard lock(mutex_);
  return is_stopping_;
}

void ClusterSnapshots::run() {
  name_thread("cluster-snap");
  run_behind_others(10);
  while (true) {
    const Status done = look();
    std::unique_lock lock(mutex_);
    if (!done && !is_stopping_) {
      view_["error"] = {{"code", done.error().code}, {"detail", done.error().message}};
      spdlog::warn("snapshots of the cluster: {} [{}]", done.error().message, done.error().code);
    }
    if (changed_.wait_for(lock, kLookEach, [this] { return is_stopping_; })) return;
  }
}

Status ClusterSnapshots::look() {
  const State state = calls_.state();
  if (!state.is_ready) return {};
  const StreamInfo log = TRY(find_log(connection_, settings_.log));
  known_ = TRY(find_snapshots(connection_, settings_.snapshots, settings_.key));
  show(log);
  TRY(take_if_due(log, state));
  show(log);
  return state.is_active ? trim(log) : Status();
}

Status ClusterSnapshots::take_if_due(const StreamInfo& log, const State& state) {
  std::optional<uint64_t> newest;
  for (const StoredSnapshot& one : known_) {
    newest = std::max(newest.value_or(0), one.manifest.from.sequence);
  }
  const uint64_t store_bytes = TRY(store_.size()).used_bytes;
  if (!state.is_awaited &&
      !is_snapshot_due(size_of(log), store_bytes, settings_.least_bytes, newest)) {
    due_since_.reset();
    return {};
  }
  const Time now = steady_clock::now();
  if (now < rest_until_) return {};
  if (!due_since_) due_since_ = now;
  const auto turn =
      static_cast<int64_t>(snapshot_turn(settings_.node, state.is_active, state.standbys));
  return now - *due_since_ < turn * kTurn ? Status() : take();
}

Status ClusterSnapshots::take() {
  TRY(ensure_stream(connection_, settings_.snapshots));
  const std::string id = to_hex(random_id());
  SnapshotWriter writer(connection_, settings_.snapshots, settings_.key, id);
  {
    const std::lock_guard lock(mutex_);
    writer_ = &writer;
    if (is_stopping_) writer.stop();
  }
  const auto taken = take_snapshot(store_, writer, settings_.node, [this] { return stops(); });
  {
    const std::lock_guard lock(mutex_);
    writer_ = nullptr;
  }
  due_since_.reset();
  if (!taken) {
    // Its chunks would keep the room that the log needs.
    rest_until_ = steady_clock::now() + kRestAfterFailure;
    const Status dropped = drop_snapshot(connection_, settings_.snapshots, id);
    if (!dropped) spdlog::warn("{} [{}]", dropped.error().message, dropped.error().code);
    return tl::unexpected(taken.error());
  }
  spdlog::info("snapshot {} of the cluster is complete: {} rows behind message {} of the log",
               taken->id, sum_of(taken->rows), taken->from.sequence);
  known_ = TRY(find_snapshots(connection_, settings_.snapshots, settings_.key));
  return {};
}

/// Trims the log, and removes snapshots that are not kept.
Status ClusterSnapshots::trim(const StreamInfo& log) {
  std::vector<KnownSnapshot> known;
  // The one behind which the log is trimmed is read back below, and no other.
  for (const StoredSnapshot& one : known_) {
    known.push_back({.from = one.manifest.from.sequence, .age = age_of(one), .is_read_back = true});
  }
  const std::optional<uint64_t> before = trim_point(size_of(log), known, settings_.rest);
  if (before) {
    TRY(read_back(known_[1].manifest));
    calls_.trim(log.created, *before);
  }
  if (known_.size() <= kKeptSnapshots) return {};
  const SnapshotManifest& oldest = known_[kKeptSnapshots - 1].manifest;
  return drop_snapshots_before(connection_, settings_.snapshots, oldest.first_sequence);
}

/// Reads each chunk of the snapshot, once: a snapshot that cannot be read is none.
Status ClusterSnapshots::read_back(const SnapshotManifest& manifest) {
  if (sound_ == manifest.id) return {};
  SnapshotReader reader(connection_, settings_.snapshots, settings_.key, manifest);
  while (TRY(reader.next())) {
    if (stops()) return fail("snapshot.stopped", "the process ends");
  }
  sound_ = manifest.id;
  return {};
}

void ClusterSnapshots::show(const StreamInfo& log) {
  Json view = {{"count", known_.size()}, {"logBytes", log.bytes}};
  if (!known_.empty()) {
    const StoredSnapshot& newest = known_.front();
    view["newest"] = {{"id", newest.manifest.id},
                      {"position", newest.manifest.from.sequence},
                      {"ageSeconds", age_of(newest).count() / 1'000},
                      {"bytes", newest.manifest.bytes}};
  }
  const std::lock_guard lock(mutex_);
  view_ = std::move(view);
}

}  // namespace millrace
