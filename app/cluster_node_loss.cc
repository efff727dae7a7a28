// How a node continues a log that has lost something, if no node can append it again: by itself if
// all registered nodes answer and it has most (cluster_node_recovery.cc), otherwise, and if the log
// was deleted, when an operator says so (`millrace cluster take-over --accept-loss`). The rows of
// this node become a base: it publishes them as a snapshot, and begins an epoch behind the commit
// that it has last. A node that has more than this one stops with `log.diverged`, and one that has
// less loads the snapshot or follows.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/cluster_node.h"
#include "app/random_id.h"
#include "base/bytes.h"
#include "broker/log_stream.h"
#include "cluster/node_answer.h"

namespace millrace {

/// What is lost if this node continues, as far as it knows. The caller holds mutex_.
Json ClusterNode::loss_in_json(const std::string& why) const {
  const LogRank own{.epoch = history_.epoch, .sequence = history_.place.sequence};
  Json missing = Json::array();
  const auto add = [&](const RankedNode& one) {
    missing.push_back({{"node", one.node},
                       {"address", one.address},
                       {"fromEpoch", own.epoch},
                       {"toEpoch", one.rank.epoch},
                       {"fromSequence", own.sequence + 1},
                       {"toSequence", one.rank.sequence}});
  };
  const std::vector<RankedNode> answers = ranks_in(nodes_);
  for (const RankedNode& one : answers) {
    if (one.node != node() && !one.is_diverged && one.rank > own) add(one);
  }
  Json away = Json::array();
  for (const RegisteredNode& one : nodes_away(node(), answers, registered_nodes())) {
    away.push_back({{"node", one.node}, {"address", one.address}});
    if (more_seen_ && more_seen_->node == one.node) add(*more_seen_);
  }
  return {{"node", node()},
          {"epoch", own.epoch},
          {"position", committed_},
          {"why", why},
          {"missing", std::move(missing)},
          {"away", std::move(away)}};
}

Result<Json> ClusterNode::accept_loss() {
  const Status is_ready = ready();
  const std::string code = is_ready ? std::string() : is_ready.error().code;
  const std::lock_guard lock(mutex_);
  if (code != "cluster.log_lost" && code != "cluster.log_deleted") {
    return millrace::fail("cluster.nothing_lost",
                          "this node does not wait for a log that has lost something: /readyz is "
                          "neither cluster.log_lost nor cluster.log_deleted");
  }
  if (role_->is_active()) {
    return millrace::fail("cluster.node_is_active",
                          fmt::format("this node, {}, is the active: end its process first, and "
                                      "continue on a standby that waits",
                                      node()));
  }
  const bool is_deleted = code == "cluster.log_deleted";
  const Json* const active = active_in(nodes_);
  if (active != nullptr && is_deleted) {
    return millrace::fail(
        "cluster.node_is_active",
        fmt::format("node {} at {} is still the active, and may have more commits than this one: "
                    "end its process and start it again; then continue on the node with the "
                    "latest commit",
                    text_in(*active, "node"), text_in(*active, "address")));
  }
  if (active != nullptr) {
    return millrace::fail(
        "cluster.nothing_lost",
        fmt::format("node {} at {} is the active, so the cluster has continued: "
                    "start this node, {}, with an empty folder",
                    text_in(*active, "node"), text_in(*active, "address"), node()));
  }
  if (applied_ == 0) {
    return millrace::fail("cluster.no_commit",
                          "the folder of this node has no commit of the log; continue on a node "
                          "that has some");
  }
  is_base_due_ = true;
  may_create_log_ = is_deleted;
  ++facts_;
  changed_.notify_all();
  return loss_in_json(is_ready.error().message);
}

/// Publishes the rows of this node as a base, and lets the next `begin` follow them. The node
/// thread.
void ClusterNode::begin_with_base() {
  const Status done = take_base_over_loss();
  const std::lock_guard lock(mutex_);
  is_base_due_ = false;
  may_create_log_ = false;
  const std::string failure = done ? std::string() : done.error().message;
  if (std::exchange(base_failure_, failure) == failure || done) return;
  spdlog::error(
      "this node does not continue the log of the cluster yet: {} [{}]; after `cluster take-over "
      "--accept-loss`, repeat the command",
      failure, done.error().code);
}

/// The log, which is created if it was deleted and an operator continues it with this node.
Result<StreamInfo> ClusterNode::log_to_continue() {
  Result<StreamInfo> found = find_log(*following_, stream_);
  if (found || found.error().code != "cluster.not_founded") return found;
  {
    const std::lock_guard lock(mutex_);
    if (!may_create_log_) return found;
  }
  spdlog::warn("the log of the cluster was deleted: this node creates stream {} again",
               stream_.name);
  return ensure_stream(*following_, stream_);
}

Status ClusterNode::take_base_over_loss() {
  if (!follower_) {
    return millrace::fail("cluster.no_commit", "the folder of this node has no whole store");
  }
  const auto place = [this] {
    const std::lock_guard lock(mutex_);
    return history_.place.sequence;
  };
  const uint64_t before = place();
  const SnapshotSettings settings = snapshot_settings();
  TRY(ensure_stream(*following_, settings.snapshots));
  SnapshotWriter writer(*following_, settings.snapshots, key_, to_hex(random_id()));
  const SnapshotManifest base =
      TRY(take_snapshot(*store_, writer, settings.node, [this] { return is_ending(); }));
  const StreamInfo stream = TRY(log_to_continue());
  // Another node may have continued meanwhile, or appended again what was lost.
  if (is_active() || place() != before || stream.last_sequence > before) {
    return millrace::fail("cluster.nothing_lost", "the log has got further messages meanwhile");
  }
  // Older snapshots may be of what is lost.
  TRY(drop_snapshots_before(*following_, settings.snapshots, base.first_sequence));
  const uint64_t last = base.to.sequence;
  if (stream.last_sequence < last) {
    TRY(skip_log_to(*following_, stream_, stream.created, last));
    spdlog::warn("the log of the cluster ended at message {}, and continues behind message {} now",
                 stream.last_sequence, last);
  }
  follow_from(base, stream.last_sequence);
  return {};
}

/// Follows the log from the base on, if it ended before what this node has read. Then what this
/// node has read behind its last commit is lost, too.
void ClusterNode::follow_from(const SnapshotManifest& base, uint64_t stream_end) {
  bool is_short = false;
  {
    const std::lock_guard lock(mutex_);
    is_short = stream_end < history_.place.sequence;
  }
  if (is_short) close_reader();
  const std::lock_guard lock(mutex_);
  lost_base_ = base.id;
  lost_.clear();
  more_seen_.reset();
  spdlog::warn("this node continues the log of the cluster behind message {}, with snapshot {}",
               base.to.sequence, base.id);
  if (!is_short) return;
  position_ = follower_->position();
  set_position();
}

}  // namespace millrace
