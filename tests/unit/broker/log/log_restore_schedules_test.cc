// Nodes that keep the newest messages of the log (keeping_node.h), on a model of the stream that
// forgets its tail: two or three nodes begin epochs, append, are suspended, and restore the log.
// The history stays one: what a book calls certain is in the log at the end, once and in its place,
// and no node reads anything that does not continue what it has. One fault at a time is at work: no
// node that has more than all others, or may have, is suspended while the stream forgets, and the
// stream forgets no foreign message that some nodes have read and others have not.
// MILLRACE_RESTORE_SCHEDULES=100000 plays more schedules, MILLRACE_SEED=n begins with another seed.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "broker/log/log_judge.h"
#include "tests/integration/environment_number.h"
#include "tests/support/campaign.h"
#include "tests/unit/broker/log/keeping_node.h"
#include "tests/unit/broker/log/model_stream.h"

namespace millrace {
namespace {

KeepingNode::Rank highest(const KeepingNodes& nodes, bool of_suspended) {
  KeepingNode::Rank rank{};
  for (const auto& node : nodes) {
    if (!node->is_suspended() || of_suspended) rank = std::max(rank, node->rank());
  }
  return rank;
}

/// Suspends a node, unless another one is, or the log lacks something.
void suspend_one(const KeepingNodes& nodes, const ModelStream& stream, reference::Random& random) {
  for (const auto& node : nodes) {
    if (node->is_suspended() || node->is_restoring()) return;
  }
  if (stream.stored().size() < highest(nodes, true).second) return;
  nodes[static_cast<size_t>(random.below(static_cast<int>(nodes.size())))]->suspend(
      Duration(500 + random.below(8'000)));
}

/// Lets the stream forget some of its newest messages.
void forget_some(const KeepingNodes& nodes, ModelStream& stream, reference::Random& random) {
  if (highest(nodes, true) != highest(nodes, false)) return;
  // A suspended node may have got the acknowledgement of a message that no other node has read.
  const auto is_suspended = [](const std::unique_ptr<KeepingNode>& node) {
    return node->is_suspended();
  };
  if (highest(nodes, false).second < stream.stored().size() &&
      std::any_of(nodes.begin(), nodes.end(), is_suspended)) {
    return;
  }
  const int stored = static_cast<int>(stream.stored().size());
  int kept = stored - random.below(std::min(stored, 25) + 1);
  // An active that does not know that it is deposed would append behind its own last message.
  const auto continues = [&](const std::unique_ptr<KeepingNode>& node) {
    return node->is_active() && node->rank().first < highest(nodes, true).first &&
           node->rank().second == static_cast<uint64_t>(kept);
  };
  while (kept > 0 && std::any_of(nodes.begin(), nodes.end(), continues)) --kept;
  // A node that has not read a foreign message may append in its place. The place of a node that
  // has read it is not one of the log then.
  uint64_t foreign = 0;
  for (const auto& node : nodes) foreign = std::max(foreign, node->newest_foreign());
  const auto lacks_foreign = [&](const std::unique_ptr<KeepingNode>& node) {
    return node->rank().second < foreign;
  };
  if (std::cmp_less(kept, foreign) && std::any_of(nodes.begin(), nodes.end(), lacks_foreign)) {
    return;
  }
  stream.forget(static_cast<size_t>(kept));
}

/// Adds a message of another program, unless it would take the place of one that the stream has
/// forgotten: that could not be restored.
void add_foreign_message(const KeepingNodes& nodes, ModelStream& stream) {
  if (stream.stored().size() < highest(nodes, true).second) return;
  stream.add_foreign({.subject = kLogSubject, .headers = {}, .data = "foreign"});
}

/// The commits in the log, as a reader of all of it sees them.
KnownCommits commits_in(const ModelStream& stream) {
  LogJudge judge(kLogKey, kFormatOfKept, {});
  KnownCommits commits;
  uint64_t sequence = 0;
  for (const NatsMessage& message : stream.stored()) {
    const Result<LogSeen> seen = judge.see(++sequence, message);
    EXPECT_TRUE(seen) << seen.error().code << ": " << seen.error().message;
    if (!seen) break;
    if (seen->what != LogSeen::What::kCommit) continue;
    const LogHistory& history = judge.history();
    commits[{history.epoch, history.commit}] = {history.place, seen->write_set};
  }
  return commits;
}

struct PlayedForgetting {
  uint64_t commits = 0;
  uint64_t restored = 0;
  uint64_t restored_late = 0;
  uint64_t deposed = 0;
};

void play_forgetting(uint64_t seed, PlayedForgetting& played) {
  reference::Random random(seed);
  LogClock clock;
  const int faults = 5'000 + random.below(25'000);
  const LogClock::Time faults_end = clock.now() + Duration(faults);
  ModelStream stream(clock, random, faults_end);
  KeepingNodes nodes;
  const int count = 2 + random.below(2);
  for (int i = 0; i < count; ++i) {
    nodes.push_back(
        std::make_unique<KeepingNode>(clock, stream, random, nodes, static_cast<uint8_t>(i + 1)));
  }
  for (int i = random.below(4); i > 0; --i) {
    clock.after(random.below(faults), [&] { stream.elect(); });
  }
  for (int i = random.below(3); i > 0; --i) {
    clock.after(random.below(faults), [&] { add_foreign_message(nodes, stream); });
  }
  for (int i = random.below(5); i > 0; --i) {
    clock.after(random.below(faults), [&] { suspend_one(nodes, stream, random); });
  }
  for (int i = 1 + random.below(3); i > 0; --i) {
    clock.after(random.below(faults), [&] { forget_some(nodes, stream, random); });
  }
  clock.run_until(faults_end + Duration(20'000));
  for (const auto& node : nodes) node->appends = false;
  clock.run_until(clock.now() + Duration(10'000));

  const KnownCommits log = commits_in(stream);
  for (const auto& node : nodes) {
    for (const auto& [name, commit] : node->certain()) {
      const auto found = log.find(name);
      ASSERT_NE(found, log.end()) << "commit " << name.first << "." << name.second << " is lost";
      EXPECT_EQ(found->second.write_set, commit.write_set);
      EXPECT_EQ(found->second.place, commit.place);
    }
    played.commits += node->certain().size();
    played.restored += node->restored;
    played.restored_late += node->restored_late;
    played.deposed += node->deposed;
  }
}

TEST(LogRestoreSchedules, KeepOneHistoryOfALogThatForgets) {
  const size_t schedules = number_from("MILLRACE_RESTORE_SCHEDULES", 600);
  const uint64_t first = number_from("MILLRACE_SEED", 1);
  Campaign campaign("a log that forgets its newest messages", "each certain commit is there once");
  PlayedForgetting played;
  for (uint64_t seed = first; seed < first + schedules; ++seed) {
    campaign.run(fmt::format("MILLRACE_SEED={} MILLRACE_RESTORE_SCHEDULES=1", seed),
                 [&] { play_forgetting(seed, played); });
    if (testing::Test::HasFailure()) break;
  }
  fmt::print("{} commits, {} messages restored, {} of them after asking all nodes, {} deposed\n",
             played.commits, played.restored, played.restored_late, played.deposed);
  if (schedules < 500) return;
  EXPECT_GT(played.commits, schedules);
  EXPECT_GT(played.restored, schedules);
  EXPECT_GT(played.restored_late, schedules / 10);
  EXPECT_GT(played.deposed, schedules / 10);
}

}  // namespace
}  // namespace millrace
