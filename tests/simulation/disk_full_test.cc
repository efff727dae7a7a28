// The disk is full from its nth write on, or LMDB's map from its nth page on, for n up to 300: new
// work is refused, reads and deletes go on, and once there is room all is as if there always had
// been, but for what was refused.
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/simulation/world.h"
#include "tests/support/campaign.h"
#include "tests/support/file_faults.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AnyOf;

constexpr uint64_t kMost = 300;
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kReservedPages = 64;
constexpr int kRoundsWhenFull = 3;

constexpr const char* kJob = R"(
id: job
start: {type: event, event: {type: begin}}
states:
- {id: wait, type: consumeEvent, event: {type: go, context: {key: jq(.begin.key)}}, transition: tell}
- {id: tell, type: generateEvent, event: {type: told, source: /job, data: 'jq({key: .begin.key})'}}
)";

constexpr const char* kSpare = R"(
id: spare
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)";

/// A world at work, which notes what it was asked and what it answered.
class Work {
 public:
  explicit Work(uint64_t reserved_pages = kReservedPages)
      : world({.store = {.reserve_bytes = reserved_pages * kPageBytes}}) {
    world.apply(kJob);
    world.apply(kSpare);
    world.start("spare");
  }

  /// A job that an event begins and one that a command does, and what wakes them.
  void round() {
    ++rounds_;
    const std::string by_event = fmt::format("e{}", rounds_);
    const std::string by_call = fmt::format("c{}", rounds_);
    publish("begin", by_event);
    jobs_.insert(by_event);
    const Answered answered = world.command(
        StartInstance{.space = "default",
                      .workflow = "job",
                      .input = {{"begin", {{"key", by_call}, {"more", std::string(500, 'x')}}}}});
    world.run_for(milliseconds(600));  // past the retry of a batch that was lost
    ASSERT_TRUE(answered->has_value());
    if (**answered) {
      jobs_.insert(by_call);
    } else {
      EXPECT_EQ((**answered).error().code, "store.full");
      ++refused_;
    }
    publish("go", by_event);
    publish("go", by_call);
    world.run_for(milliseconds(600));
  }

  /// How many were refused.
  size_t refused() const { return refused_; }

  std::string code_of(Command command) {
    const Answered answered = world.command(std::move(command));
    world.run_for(milliseconds(600));
    if (!answered->has_value()) return "not answered";
    return **answered ? "ok" : (**answered).error().code;
  }
  std::string delete_spare() {
    return code_of(DeleteWorkflow{.space = "default", .id = "spare", .cancel = true});
  }

  /// What was taken on is there and can be looked at.
  void expect_readable() {
    for (const Json& instance : world.instances()) {
      EXPECT_FALSE(world.history(instance["id"]).empty());
    }
  }

  /// Each job that was not refused has run once, and told of it under one id.
  void expect_right() {
    world.run_for(seconds(2));
    world.settle_publishes();
    std::multiset<std::string> complete;
    for (const Json& instance : world.instances()) {
      if (!instance["input"].contains("begin")) {
        EXPECT_EQ(instance["status"], "cancelled") << "the spare one";
        continue;
      }
      EXPECT_EQ(instance["status"], "complete");
      complete.insert(instance["input"]["begin"]["key"]);
    }
    EXPECT_EQ(complete, std::multiset<std::string>(jobs_.begin(), jobs_.end()));
    std::map<std::string, std::set<std::string>> told;
    for (const Event& event : world.events("told")) {
      told[Json::parse(*event.data)["key"]].insert(event.id);
    }
    EXPECT_EQ(told.size(), jobs_.size());
    for (const auto& [key, ids] : told) EXPECT_EQ(ids.size(), 1U) << key;
    EXPECT_TRUE(world.dead_letters().empty());
  }

  World world;

 private:
  void publish(std::string type, const std::string& key) {
    world.publish(type, type + "-" + key, {{"key", key}}, {{"key", key}});
  }

  size_t rounds_ = 0;
  size_t refused_ = 0;
  std::set<std::string> jobs_;
};

std::string name_of(FileFault fault) {
  if (fault == FileFault::kNone) return "nothing_fits";
  return fault == FileFault::kFull ? "no_growth" : "cut_short";
}

class DiskFull : public testing::TestWithParam<FileFault> {
 protected:
  ~DiskFull() override { FileFaults::disarm(); }
};

TEST_P(DiskFull, RefusesNewWorkOnlyAndLosesNothing) {
  const FileFault fault = GetParam();
  const bool has_reserve = fault == FileFault::kFull;
  Campaign campaign(fmt::format("disk full: {}", name_of(fault)),
                    "refused with store.full, reads and deletes go on, nothing lost or doubled");
  for (uint64_t nth = 1; nth <= kMost; ++nth) {
    campaign.run(fmt::format("from write {} on", nth), [&] {
      Work work(has_reserve ? kReservedPages : 0);
      FileFaults::arm(fault, nth);
      while (!FileFaults::has_struck()) work.round();
      for (int i = 0; i < kRoundsWhenFull; ++i) work.round();
      EXPECT_GT(work.refused(), 0U);
      work.expect_readable();
      // Without the reserve to delete may have to wait for room, too.
      const std::string deleted = work.delete_spare();
      EXPECT_THAT(deleted, AnyOf("ok", has_reserve ? "ok" : "store.full"));
      FileFaults::disarm();
      work.round();
      EXPECT_EQ(deleted == "ok" ? deleted : work.delete_spare(), "ok");
      work.expect_right();
      work.world.restart();
      work.expect_right();
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Each, DiskFull,
                         testing::Values(FileFault::kFull, FileFault::kShort, FileFault::kNone),
                         [](const auto& one) { return name_of(one.param); });

TEST(MapFull, RefusesNewWorkOnlyAndLosesNothing) {
  Campaign campaign("map full",
                    "refused with store.full, reads and deletes go on, nothing lost or doubled");
  for (uint64_t pages = 1; pages <= kMost; ++pages) {
    campaign.run(fmt::format("{} pages are left", pages), [&] {
      Work work;
      const auto limit_map = [&](uint64_t bytes) {
        work.world.crash();
        work.world.options().store.map_bytes = bytes;
        work.world.recover();
      };
      limit_map(work.world.stored_bytes() + (kReservedPages + pages) * kPageBytes);
      while (work.refused() == 0) work.round();
      for (int i = 0; i < kRoundsWhenFull; ++i) work.round();
      work.expect_readable();
      EXPECT_EQ(work.delete_spare(), "ok");
      limit_map(EnvironmentOptions().map_bytes);
      work.round();
      work.expect_right();
    });
  }
}

}  // namespace
}  // namespace millrace
