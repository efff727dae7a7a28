// What the nodes of a ClusterWorld do if the log may lose its newest messages: each keeps what it
// has read and appended, asks the others as ClusterNode does, and appends again what is lost.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/log_rank.h"
#include "tests/simulation/cluster_world.h"

namespace millrace {

Result<LogPosition> WorldNode::Lead::append(std::string_view write_set) {
  TRY(node_.before_append());
  const LogPosition position = TRY(log_->append(write_set));
  node_.note_read(position.sequence);
  return position;
}

/// What an active sees before it appends. Errors: those of CommitLog::append().
Status WorldNode::before_append() {
  if (!world_.asks_others) return {};
  if (const auto later = node_of_later_epoch(id(), has_epoch_, world_.ranks())) {
    return fail("log.deposed", fmt::format("{} has a later epoch", later->node));
  }
  if (mend()) return {};
  return fail("log.closed", "what the log has lost is not restored");
}

/// Keeps the messages of the log up to that sequence.
void WorldNode::note_read(uint64_t to) {
  while (has_to_ < to) {
    const MemoryLog::Message& message = world_.log.messages().at(has_to_);
    kept_[++has_to_] = message;
    has_epoch_ = message.position.name.epoch;
  }
}

/// Of a process that has just started: it has what its store has.
void WorldNode::forget_read() {
  const LogPosition last = position();
  has_to_ = last.sequence;
  has_epoch_ = last.name.epoch;
  kept_.clear();
  more_seen_.reset();
}

bool WorldNode::is_ahead() const { return has_to_ > world_.log.last_sequence(); }

LogRecovery WorldNode::plan() {
  const std::vector<RankedNode> answers = world_.ranks();
  std::vector<RegisteredNode> registered;
  for (const RankedNode& one : answers) registered.push_back({one.node, one.address});
  const std::string own = id();
  const LogSituation situation{.node = own,
                               .own = rank(),
                               .stream_end = world_.log.last_sequence(),
                               .answers = answers,
                               .registered = registered,
                               .seen = more_seen_};
  more_seen_ = most_seen(situation);
  return plan_recovery(situation);
}

bool WorldNode::mend() {
  if (!is_ahead()) return true;
  if (plan().what != LogRecovery::What::kRestore) return false;
  std::vector<MemoryLog::Message> rest;
  for (uint64_t next = world_.log.last_sequence() + 1; next <= has_to_; ++next) {
    const auto kept = kept_.find(next);
    if (kept == kept_.end()) return false;  // an earlier process of this node had it
    rest.push_back(kept->second);
  }
  const bool is_restored = world_.log.restore(rest);
  EXPECT_TRUE(is_restored) << id() << " has another history than the log";
  if (is_restored) ++restores;
  return is_restored;
}

void ClusterWorld::mend() {
  for (const auto& node : nodes_) node->mend();
}

bool ClusterWorld::has_lost_messages() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& one) { return one->is_ahead(); });
}

bool ClusterWorld::keeps(uint64_t sequence) const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [&](const auto& one) { return one->keeps(sequence); });
}

std::vector<RankedNode> ClusterWorld::ranks() const {
  std::vector<RankedNode> ranks;
  for (const auto& node : nodes_) ranks.push_back({.node = node->id(), .rank = node->rank()});
  return ranks;
}

}  // namespace millrace
