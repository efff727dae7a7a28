// Two nodes on one log, without an engine: at each moment one node is led or none is, both die and
// come back, and the log acknowledges late or not at all (seeds.h).
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/log_follower.h"
#include "tests/support/all_rows.h"
#include "tests/support/folder.h"
#include "tests/support/memory_log.h"
#include "tests/support/seeds.h"

namespace millrace {
namespace {

/// One node: its store is led, or follows the log.
class StoreNode {
 public:
  StoreNode(MemoryLog& log, uint8_t number) : log_(log), node_{number} { restart(); }
  ~StoreNode() { close(); }

  bool is_active() const { return lead_ != nullptr; }

  /// The process dies, and the next one follows the log.
  void restart() {
    close();
    environment_ = Environment::open(folder_.path(), {.reserve_bytes = 0,
                                                      .checkpoint_bytes = 500,
                                                      .waits_for_checkpoints = true,
                                                      .checkpoints_at_close = false})
                       .value();
    follower_ = LogFollower::open(*environment_).value();
    ++incarnation_[1];
  }

  /// Reads and applies `most` commits at most.
  void follow(size_t most) {
    const auto commits = log_.read(follower_->position(), most);
    ASSERT_TRUE(commits) << commits.error().message;
    const Status done = follower_->apply(*commits);
    ASSERT_TRUE(done) << done.error().message;
    if (commits->size() < most) read_to_ = log_.last_sequence();
  }

  /// Becomes active, unless the log has more than the node has read.
  bool take_over() {
    auto lead = log_.start_epoch(node_, incarnation_, read_to_);
    if (!lead) {
      EXPECT_EQ(lead.error().code, "log.deposed");
      return false;
    }
    follower_.reset();
    lead_ = *std::move(lead);
    environment_->lead(*lead_);
    tx_.emplace(*environment_);
    return true;
  }

  /// Adds one to the counter. Returns whether it is committed; if not, the process ends.
  bool count() {
    const auto counter = tx_->get(Table::kLive, "counter");
    const uint64_t before = counter ? std::stoull(std::string(*counter)) : 0;
    tx_->put(Table::kLive, "counter", std::to_string(before + 1));
    tx_->put(Table::kHistory, std::to_string(before + 1), std::string(100, 'h'));
    tx_->erase(Table::kHistory, std::to_string(before - 5));
    const Status done = tx_->commit();
    if (done) return true;
    code_ = done.error().code;
    EXPECT_TRUE(code_ == "log.deposed" || code_ == "log.closed") << done.error().message;
    restart();
    return false;
  }

  const std::string& code() const { return code_; }  ///< of the last commit that failed

  RowsByKey rows() const {
    const auto view = Snapshot::take(*environment_);
    return all_rows(view.value());
  }

  LogPosition position() const {
    const auto row = Snapshot::take(*environment_).value();
    const auto bytes = row.get(Table::kMeta, kLogKey);
    return bytes ? decode_log_position(*bytes).value() : LogPosition();
  }

 private:
  void close() {
    follower_.reset();
    tx_.reset();
    environment_.reset();
    lead_.reset();
  }

  MemoryLog& log_;
  const RandomName node_;
  RandomName incarnation_ = node_;
  Folder folder_{fast_folder()};
  std::unique_ptr<CommitLog> lead_;
  std::unique_ptr<Environment> environment_;
  std::optional<Transaction> tx_;
  std::unique_ptr<LogFollower> follower_;
  uint64_t read_to_ = 0;
  std::string code_;
};

class TwoNodes {
 public:
  explicit TwoNodes(uint64_t seed) : random_(seed) {
    for (uint8_t i = 0; i < 2; ++i) nodes_.push_back(std::make_unique<StoreNode>(log_, i + 1));
    log_.decide_fates([this] { return fate(); });
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) step();
    has_faults_ = false;
    for (const auto& node : nodes_) {
      node->restart();
      node->follow(SIZE_MAX);
    }
    const RowsByKey rows = nodes_[0]->rows();
    EXPECT_EQ(rows, nodes_[1]->rows());
    EXPECT_EQ(nodes_[0]->position(), log_.last_commit());
    const auto counter = rows.find({Table::kLive, "counter"});
    EXPECT_EQ(counter == rows.end() ? "0" : counter->second, std::to_string(stored()))
        << "each once";
    EXPECT_GE(stored(), acknowledged_);
  }

  size_t acknowledged() const { return acknowledged_; }
  size_t deposed() const { return deposed_; }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }
  bool one_in(uint64_t number) { return below(number) == 0; }

  /// How many commits the log has.
  size_t stored() const {
    size_t commits = 0;
    for (const auto& message : log_.messages()) commits += message.is_commit() ? 1 : 0;
    return commits;
  }

  AppendFate fate() {
    AppendFate fate;
    if (!has_faults_) return fate;
    fate.is_stored = !one_in(8);
    fate.is_acked = !one_in(8);
    if (one_in(6)) {
      fate.meanwhile = [this] {
        StoreNode& other = *nodes_[1 - acting_];
        if (other.is_active()) return;
        other.follow(SIZE_MAX);
        other.take_over();
      };
    }
    return fate;
  }

  void step() {
    acting_ = below(2);
    StoreNode& node = *nodes_[acting_];
    if (one_in(12)) {
      node.restart();
    } else if (node.is_active()) {
      const size_t before = stored();
      if (node.count()) {
        ++acknowledged_;
        EXPECT_EQ(stored(), before + 1);
      } else if (node.code() == "log.deposed") {
        ++deposed_;
        EXPECT_EQ(stored(), before) << "a deposed node adds nothing to the log";
      }
    } else if (one_in(4)) {
      node.take_over();
    } else {
      node.follow(1 + below(4));
    }
  }

  MemoryLog log_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<StoreNode>> nodes_;
  size_t acting_ = 0;
  bool has_faults_ = true;
  size_t acknowledged_ = 0;
  size_t deposed_ = 0;
};

TEST(TwoNodesOnALog, CountEachCommitOnceAndHaveTheSameRows) {
  size_t acknowledged = 0;
  size_t deposed = 0;
  const auto all = seeds(20);
  for (const uint64_t seed : all) {
    SCOPED_TRACE(fmt::format("MILLRACE_SEED={}", seed));
    TwoNodes nodes(seed);
    nodes.run(150);
    acknowledged += nodes.acknowledged();
    deposed += nodes.deposed();
    if (testing::Test::HasFailure()) return;
  }
  if (all.size() < 20) return;
  EXPECT_GT(acknowledged, 100U);
  EXPECT_GT(deposed, 10U);
}

}  // namespace
}  // namespace millrace
