// What a node of a cluster does so that a log that has lost its newest messages gets them again:
// the active registers the nodes, so each node knows which others must answer; before an epoch
// begins, and as long as the log ends before what this node has, the nodes compare what they have
// (cluster/log_recovery.h).
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/cluster_node.h"
#include "base/bytes.h"
#include "base/excerpt.h"
#include "broker/log_stream.h"
#include "cluster/node_answer.h"
#include "orchestrator/store/rows/node_rows.h"

namespace millrace {
namespace {

using std::chrono::steady_clock;

/// How long the nodes wait for the answers of the others.
constexpr Duration kRankTime{300};

/// How long a node restores the log before it compares again what the nodes have.
constexpr Duration kMendTime{5'000};

/// How often in turn, once a second, a node finds the log at the same end, and what it lacks not in
/// memory, before the node continues with its rows.
constexpr int kGoneRounds = 4;

}  // namespace

// Registration.

/// Reads the registered nodes in the rows of the store. The thread that may use the follower.
void ClusterNode::read_registered() {
  std::map<std::string, NodeRecord> read;
  const Status done =
      each_node(follower_->rows(), [&](const RandomName& node, const NodeRecord& record) {
        read.emplace(to_hex(node), record);
      });
  if (!done) spdlog::warn("{}", done.error().message);  // those that are known stay
  const std::lock_guard lock(mutex_);
  if (done) registered_ = std::move(read);
}

/// Takes over the registered nodes of the answer of a command (Service::command).
void ClusterNode::note_registered(const Result<Json>& answer) {
  if (!answer) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(not_registered_, answer.error().message) != answer.error().message) {
      spdlog::warn("{} [{}]", answer.error().message, answer.error().code);
    }
    return;
  }
  std::map<std::string, NodeRecord> all;
  for (const Json& one : answer->at("nodes")) {
    all.emplace(
        text_in(one, "node"),
        NodeRecord{.first_seen = parse_rfc3339(text_in(one, "firstSeen")).value_or(TimePoint()),
                   .address = text_in(one, "address")});
  }
  const std::lock_guard lock(mutex_);
  registered_ = std::move(all);
  not_registered_.clear();
}

/// Registers the nodes that have answered, if this node is the active.
void ClusterNode::register_nodes(const std::vector<Json>& states) {
  if (!may_serve()) return;
  for (const Json& state : states) {
    RegisterNode seen{.address = text_in(state, "address")};
    const std::string id = text_in(state, "node");
    if (!read_hex(id, seen.node) || seen.address.empty() ||
        seen.address.size() > kMostNodeAddressBytes) {
      continue;
    }
    // A node that has nothing of the log has not joined, or is refused.
    if (const RankedNode ranked = rank_in(state); ranked.rank.sequence == 0 || ranked.is_diverged) {
      continue;
    }
    // The first commit of each epoch, so that the folders have its number.
    seen.is_first = id == node() && !std::exchange(is_self_registered_, true);
    {
      const std::lock_guard lock(mutex_);
      const auto known = registered_.find(id);
      const bool is_same = known != registered_.end() && known->second.address == seen.address;
      if (is_same && !seen.is_first) continue;
    }
    running_.load()->service().command(std::move(seen),
                                       [this](const Result<Json>& done) { note_registered(done); });
  }
}

Result<RandomName> ClusterNode::may_remove(std::string_view node, bool is_forced) const {
  RandomName id{};
  if (!read_hex(node, id)) {
    return millrace::fail(
        "cluster.node_not_found",
        fmt::format("\"{}\" is not the id of a node; expected 32 hexadecimal digits, "
                    "as `millrace cluster status` shows them",
                    excerpt(node)));
  }
  if (id == node_) {
    return millrace::fail("cluster.node_is_active",
                          fmt::format("node {} is the active of the cluster; stop it first, so "
                                      "that another node takes over",
                                      node));
  }
  const std::lock_guard lock(mutex_);
  const bool answers = std::any_of(nodes_.begin(), nodes_.end(),
                                   [&](const Json& one) { return text_in(one, "node") == node; });
  if (!answers || is_forced) return id;
  return millrace::fail("cluster.node_answers",
                        fmt::format("node {} answers, so it would be registered again; stop it "
                                    "first, or use --force",
                                    node));
}

// What the nodes have of the log.

Result<std::vector<RankedNode>> ClusterNode::ask_ranks() const {
  return ranks_in(TRY(roll_->ask(kRankTime)));
}

/// The registered nodes. The caller holds mutex_.
std::vector<RegisteredNode> ClusterNode::registered_nodes() const {
  std::vector<RegisteredNode> all;
  all.reserve(registered_.size());
  for (const auto& [id, record] : registered_) all.push_back({id, record.address});
  return all;
}

/// What follows if this node has `own` of a log that ends at `stream_end`. Notes which node has
/// more.
LogRecovery ClusterNode::plan_with(const LogRank& own, uint64_t stream_end,
                                   std::span<const RankedNode> answers) {
  const std::lock_guard lock(mutex_);
  const std::vector<RegisteredNode> registered = registered_nodes();
  const std::string id = node();
  const LogSituation situation{.node = id,
                               .own = own,
                               .stream_end = stream_end,
                               .answers = answers,
                               .registered = registered,
                               .seen = more_seen_};
  more_seen_ = most_seen(situation);
  return plan_recovery(situation);
}

/// Whether this node, which has read the log up to `expects`, may begin an epoch behind that. If
/// the log has lost its newest messages, another node may have them. Errors: `log.begin`, the log
/// has more; `cluster.log_lost`, another node has more; those of NodeRoll::ask().
Status ClusterNode::check_rank(uint64_t expects) {
  LogRank own{.sequence = expects};
  {
    const std::lock_guard lock(mutex_);
    if (log_->sequence() != expects) {
      return millrace::fail("log.begin", "the log has another message since");
    }
    own.epoch = history_.epoch;
    if (!lost_base_.empty()) return {};  // it continues over a loss
  }
  const std::vector<RankedNode> ranked = TRY(ask_ranks());
  const LogRecovery plan = plan_with(own, expects, ranked);
  const std::lock_guard lock(mutex_);
  withheld_ = plan.why;
  if (plan.what == LogRecovery::What::kNone) return {};
  return millrace::fail("cluster.log_lost", withheld_);
}

/// Why another node is the active since, if one of those that answer has a later epoch. Any thread.
Result<std::optional<std::string>> ClusterNode::deposed_by() const {
  const std::vector<RankedNode> ranked = TRY(ask_ranks());
  uint64_t epoch = 0;
  {
    const std::lock_guard lock(mutex_);
    epoch = epoch_;
  }
  const std::optional<RankedNode> later = node_of_later_epoch(node(), epoch, ranked);
  if (!later) return std::optional<std::string>();
  return std::optional(
      fmt::format("node {} at {} has epoch {} of the log; the epoch of this node is {}",
                  later->node, later->address, later->rank.epoch, epoch));
}

/// Whether this node, the active, may append again what a log lacks that ends at `stream_end`. The
/// thread of an append.
bool ClusterNode::may_restore(uint64_t stream_end) {
  const Result<std::vector<RankedNode>> ranked = ask_ranks();
  if (!ranked) return false;
  LogRank own{.sequence = log_->sequence()};
  {
    const std::lock_guard lock(mutex_);
    own.epoch = epoch_;
  }
  const LogRecovery plan = plan_with(own, stream_end, *ranked);
  const std::lock_guard lock(mutex_);
  lost_ = plan.why;
  return plan.what == LogRecovery::What::kRestore;
}

/// Appends again what the log has lost, if it ends before what this node, a standby, has read, and
/// this node has most of it. The thread that asks the other nodes.
void ClusterNode::mend_log(const std::vector<Json>& states) {
  LogRank own;
  std::shared_ptr<KeptLog> kept;
  {
    const std::lock_guard lock(mutex_);
    if (!is_joined_ || role_->is_active()) return;
    own = {.epoch = history_.epoch, .sequence = history_.place.sequence};
    kept = kept_;
  }
  const Status health = reader_health();
  if (health || health.error().code != "log.lost") return set_lost("");
  const Result<StreamInfo> stream = find_log(*following_, stream_);
  if (!stream) return;
  const LogRecovery plan = plan_with(own, stream->last_sequence, ranks_in(states));
  if (plan.what != LogRecovery::What::kRestore) return set_lost(plan.why);
  const Result<LogRestored> mended =
      mender_->restore(kept->tail(), steady_clock::now() + kMendTime);
  if (!mended) return;
  note_mended(*mended);
  if (mended->what == LogRestored::What::kGone)
    continue_from_rows(own, stream->last_sequence, states);
}

/// Continues the log, which ends at `stream_end`, with the rows of this node, `own` of it, if no
/// process has in memory what is lost. All registered nodes have answered, and none has more: the
/// rows have every commit that a node has.
void ClusterNode::continue_from_rows(const LogRank& own, uint64_t stream_end,
                                     const std::vector<Json>& states) {
  const std::vector<RankedNode> answers = ranks_in(states);
  if (active_in(states) != nullptr || !is_first_of_equals(node(), own, answers)) return;
  // Another node that has as much may have it in memory: that one appends it again meanwhile.
  if (std::exchange(gone_behind_, stream_end) != stream_end) gone_rounds_ = 0;
  if (++gone_rounds_ < kGoneRounds) return;
  const std::lock_guard lock(mutex_);
  if (is_base_due_ || !lost_base_.empty()) return;
  if (applied_ == 0 || applied_ != own.sequence) return;  // what it has read is not all in its rows
  spdlog::warn(
      "no node has in memory what the log of the cluster has lost; all registered nodes answer, "
      "and none has more commits than this one: it continues with a snapshot of its rows");
  is_base_due_ = true;
  ++facts_;
  changed_.notify_all();
}

void ClusterNode::note_mended(const LogRestored& mended) {
  {
    const std::lock_guard lock(mutex_);
    kept_->note_restored(mended.count);
  }
  using enum LogRestored::What;
  if (mended.what == kWhole) {
    set_lost("");
    const std::lock_guard lock(reader_mutex_);
    if (reader_) reader_->reopen();
    return;
  }
  if (mended.what == kForked) {  // the others must not wait for what this node has
    spdlog::error("this node has another history than the log of the cluster: {} [log.diverged]",
                  mended.why);
    return note([&](NodeRole& role, Time) { role.follow_failed({"log.diverged", mended.why}); });
  }
  if (mended.what == kExpired) return;
  set_lost(
      fmt::format("the log of the cluster has lost its newest messages, this node has most of "
                  "it, and cannot append the rest again: {}",
                  mended.why));
}

/// Notes why a log that ends before what this node has is not restored; empty: nothing is lost, as
/// far as is known.
void ClusterNode::set_lost(std::string why) {
  const std::lock_guard lock(mutex_);
  if (!why.empty() && why != lost_) spdlog::warn("{} [cluster.log_lost]", why);
  lost_ = std::move(why);
}

/// Ok while the log is read, or if there is no reader; otherwise why it is not read.
Status ClusterNode::reader_health() const {
  const std::lock_guard lock(reader_mutex_);
  return reader_ ? reader_->health() : Status();
}

}  // namespace millrace
