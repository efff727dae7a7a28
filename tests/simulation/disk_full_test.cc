// The disk is full from the nth write on, or the map of LMDB is full from the nth page on, for each
// n up to 300. millrace then refuses new work, and reads and deletions succeed. When there is space
// again, all accepted work is completed.
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

/// A world that works, and a record of which jobs it accepted and refused.
class Work {
 public:
  explicit Work(uint64_t reserved_pages = kReservedPages)
      : world({.store = {.reserve_bytes = reserved_pages * kPageBytes}}) {
    world.apply(kJob);
    world.apply(kSpare);
    world.start("spare");
  }

  /// Starts a job by an event and one by a command, and sends the events that wake them.
  void round() {
    ++rounds_;
    const std::string by_event = fmt::format("e{}", rounds_);
    const std::string by_call = fmt::format("c{}", rounds_);
    publish("begin", by_event);
    jobs_.insert(by_event);
    const Answered answered = world.command(
        StartInstance{.ns = "default",
                      .workflow = "job",
                      .input = {{"begin", {{"key", by_call}, {"more", std::string(500, 'x')}}}}});
    world.run_for(milliseconds(600));  // longer than a lost batch waits for its retry
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

  /// The number of refused jobs.
  size_t refused() const { return refused_; }

  std::string code_of(Command command) {
    const Answered answered = world.command(std::move(command));
    world.run_for(milliseconds(600));
    if (!answered->has_value()) return "not answered";
    return **answered ? "ok" : (**answered).error().code;
  }
  std::string delete_spare() {
    return code_of(DeleteWorkflow{.ns = "default", .id = "spare", .cancel = true});
  }

  /// Expects that the accepted jobs are readable.
  void expect_readable() {
    for (const Json& instance : world.instances()) {
      EXPECT_FALSE(world.history(instance["id"]).empty());
    }
  }

  /// Expects that each accepted job ran once and published its event under one id.
  void expect_right() {
    world.run_for(seconds(2));
    world.answer_publishes();
    std::multiset<std::string> complete;
    for (const Json& instance : world.instances()) {
      if (!instance["input"].contains("begin")) {
        EXPECT_EQ(instance["status"], "cancelled") << "the spare instance";
        continue;
      }
      EXPECT_EQ(instance["status"], "complete");
      complete.insert(instance["input"]["begin"]["key"]);
    }
    EXPECT_EQ(complete, std::multiset<std::string>(jobs_.begin(), jobs_.end()));
    std::map<std::string, std::set<std::string>> published;
    for (const Event& event : world.events("told")) {
      published[Json::parse(*event.data)["key"]].insert(event.id);
    }
    EXPECT_EQ(published.size(), jobs_.size());
    for (const auto& [key, ids] : published) EXPECT_EQ(ids.size(), 1U) << key;
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

TEST_P(DiskFull, RefusesOnlyNewWorkAndLosesNothing) {
  const FileFault fault = GetParam();
  const bool has_reserve = fault == FileFault::kFull;
  Campaign campaign(fmt::format("disk full: {}", name_of(fault)),
                    "refused with store.full, reads and deletes succeed, nothing lost or repeated");
  for (uint64_t nth = 1; nth <= kMost; ++nth) {
    campaign.run(fmt::format("from write {} on", nth), [&] {
      Work work(has_reserve ? kReservedPages : 0);
      FileFaults::arm(fault, nth);
      while (!FileFaults::has_struck()) work.round();
      for (int i = 0; i < kRoundsWhenFull; ++i) work.round();
      EXPECT_GT(work.refused(), 0U);
      work.expect_readable();
      // If no space is reserved, a deletion may have to wait for space.
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

TEST(MapFull, RefusesOnlyNewWorkAndLosesNothing) {
  Campaign campaign("map full",
                    "refused with store.full, reads and deletes succeed, nothing lost or repeated");
  // Every second number: a page more is rarely another place where the map is full.
  for (uint64_t pages = 1; pages <= kMost; pages += 2) {
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
