// Random schedules of a cluster whose log loses its newest messages: nodes append, read, begin,
// restore, end, and start again, each as plan_recovery() says. No epoch begins behind a loss that a
// node which answers knows of, nothing is restored beside a node that may have more, and at rest
// the log has again what a node has kept.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/log_recovery.h"

namespace millrace {
namespace {

/// A message of the log: `id` is another one for each append.
struct PlayedMessage {
  uint64_t epoch = 0;
  uint64_t id = 0;

  bool operator==(const PlayedMessage&) const = default;
};
using PlayedLog = std::vector<PlayedMessage>;

/// Whether `whole` begins with all messages of `part`.
bool begins_with(const PlayedLog& whole, const PlayedLog& part) {
  return whole.size() >= part.size() && std::equal(part.begin(), part.end(), whole.begin());
}

struct PlayedNode {
  std::string id;
  PlayedLog has;         ///< what it has read or appended
  size_t kept_from = 0;  ///< what it has in memory begins there
  bool is_up = true;
  bool is_active = false;
  bool is_diverged = false;
  std::optional<RankedNode> seen = std::nullopt;

  LogRank rank() const {
    return {.epoch = has.empty() ? 0 : has.back().epoch, .sequence = has.size()};
  }
};

class RecoveryPlay {
 public:
  explicit RecoveryPlay(uint64_t seed) : random_(seed) {}

  void step() {
    PlayedNode& node = nodes_[below(nodes_.size())];
    switch (below(10)) {
      case 0:
        return lose_tail();
      case 1:
        return node.is_up ? end(node) : start(node);
      case 2:
        return start(node);
      case 3:
        return begin(node);
      case 4:
      case 5:
        return mend(node);
      case 6:
      case 7:
        return append(node);
      default:
        return read(node, 1 + below(3));
    }
  }

  /// No more faults; each node answers. Expects that the log gets what the node with most has kept,
  /// and that an epoch begins then.
  void rest() {
    for (PlayedNode& node : nodes_) start(node);
    for (PlayedNode& node : nodes_) look(node);
    const PlayedNode* most = nullptr;
    for (const PlayedNode& node : nodes_) {
      if (!node.is_diverged && (most == nullptr || node.rank() > most->rank())) most = &node;
    }
    ASSERT_NE(most, nullptr);
    const bool is_short = log_.size() < most->has.size();
    const bool is_fork = !begins_with(log_, most->has) && !begins_with(most->has, log_);
    if (is_fork || (is_short && most->kept_from > log_.size())) return;  // the operator decides
    const PlayedLog expected = most->has;
    for (int i = 0; i < 3; ++i) {
      for (PlayedNode& node : nodes_) mend(node);
      for (PlayedNode& node : nodes_) read(node, log_.size());
    }
    EXPECT_TRUE(begins_with(log_, expected));
    const int before = epochs_;
    for (PlayedNode& node : nodes_) node.is_active = false;
    for (PlayedNode& node : nodes_) begin(node);
    EXPECT_GT(epochs_, before);
  }

  int epochs() const { return epochs_; }
  int restored() const { return restored_; }
  int waited() const { return waited_; }

 private:
  size_t below(size_t bound) { return random_() % bound; }

  void lose_tail() {
    if (below(3) == 0) log_.resize(log_.size() - std::min(log_.size(), below(6)));
  }
  static void end(PlayedNode& node) {
    node.is_up = false;
    node.is_active = false;
    node.kept_from = node.has.size();
    node.seen.reset();
  }
  static void start(PlayedNode& node) { node.is_up = true; }

  /// Sees whether the log has another message in the place of the latest one of the node.
  void look(PlayedNode& node) {
    if (node.has.empty() || log_.size() < node.has.size()) return;
    if (log_[node.has.size() - 1] == node.has.back()) return;
    node.is_diverged = true;
    node.is_active = false;
  }
  void read(PlayedNode& node, size_t count) {
    if (!node.is_up) return;
    look(node);
    for (; count > 0 && !node.is_diverged && node.has.size() < log_.size(); --count) {
      node.has.push_back(log_[node.has.size()]);
      node.is_active = false;  // it reads what another node has appended
    }
  }
  void append(PlayedNode& node) {
    if (!node.is_up || !node.is_active || node.has != log_) return;
    log_.push_back({node.has.back().epoch, ++last_id_});
    node.has = log_;
  }

  LogRecovery plan(PlayedNode& node) {
    std::vector<RankedNode> answers;
    std::vector<RegisteredNode> registered;
    registered.reserve(nodes_.size());
    for (const PlayedNode& one : nodes_) {
      registered.push_back({one.id, ""});
      if (one.is_up) {
        answers.push_back({.node = one.id, .rank = one.rank(), .is_diverged = one.is_diverged});
      }
    }
    const LogSituation situation{.node = node.id,
                                 .own = node.rank(),
                                 .stream_end = log_.size(),
                                 .answers = answers,
                                 .registered = registered,
                                 .seen = node.seen};
    node.seen = most_seen(situation);
    return plan_recovery(situation);
  }

  void begin(PlayedNode& node) {
    look(node);
    if (!node.is_up || node.is_active || node.is_diverged || node.has != log_) return;
    const LogRecovery next = plan(node);
    ASSERT_NE(next.what, LogRecovery::What::kRestore) << "the log has all that the node has";
    waited_ += next.what == LogRecovery::What::kWait ? 1 : 0;
    if (next.what != LogRecovery::What::kNone) return;
    for (const PlayedNode& other : nodes_) {
      if (!other.is_up || other.is_diverged) continue;
      EXPECT_LE(other.rank(), node.rank()) << other.id << " answers, and has what is lost";
    }
    log_.push_back({node.rank().epoch + 1, ++last_id_});
    node.has = log_;
    node.is_active = true;
    ++epochs_;
  }

  void mend(PlayedNode& node) {
    if (!node.is_up || node.is_diverged || log_.size() >= node.has.size()) return;
    const LogRecovery next = plan(node);
    waited_ += next.what == LogRecovery::What::kWait ? 1 : 0;
    if (next.what != LogRecovery::What::kRestore) return;
    for (const PlayedNode& other : nodes_) {
      if (other.is_diverged) continue;
      EXPECT_LE(other.rank(), node.rank()) << other.id << " may have more";
    }
    if (node.kept_from > log_.size()) return;  // LogRestored::What::kGone
    if (!begins_with(node.has, log_)) {        // LogRestored::What::kForked
      node.is_diverged = true;
      node.is_active = false;
      return;
    }
    log_ = node.has;
    ++restored_;
  }

  std::mt19937_64 random_;
  std::array<PlayedNode, 3> nodes_ = {PlayedNode{.id = "a"}, {.id = "b"}, {.id = "c"}};
  PlayedLog log_;
  uint64_t last_id_ = 0;
  int epochs_ = 0;
  int restored_ = 0;
  int waited_ = 0;
};

TEST(LogRecoverySchedules, HaveNoSecondHistoryBesideANodeThatAnswers) {
  constexpr uint64_t kSeeds = 2'000;
  int epochs = 0;
  int restored = 0;
  int waited = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RecoveryPlay play(seed);
    for (int i = 0; i < 120; ++i) play.step();
    play.rest();
    ASSERT_FALSE(HasFailure());
    epochs += play.epochs();
    restored += play.restored();
    waited += play.waited();
  }
  EXPECT_GT(epochs, 2'000);
  EXPECT_GT(restored, 200);
  EXPECT_GT(waited, 200);
}

}  // namespace
}  // namespace millrace
