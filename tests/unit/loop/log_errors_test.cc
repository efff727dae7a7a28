// The end of the engine when the log of its cluster refuses a commit: the engine performs and sends
// nothing more, the process does not end by itself, and the next process has what the log has.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/codec.h"
#include "orchestrator/store/log_follower.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "tests/simulation/answer_code.h"
#include "tests/simulation/world.h"
#include "tests/support/memory_log.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr RandomName kThisNode{1};
constexpr RandomName kOtherNode{2};

constexpr const char* kReports = R"(
id: reports
states:
- {id: report, type: generateEvent, event: {type: reported, source: /r, data: 'jq({who: .who})'}}
)";

constexpr const char* kListens = R"(
id: listens
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)";

/// A world whose store is led.
struct LedWorld {
  WorldOptions options() {
    WorldOptions made;
    made.log = lead.get();
    made.processor.on_log_error = [this](const Error& error) { errors.push_back(error.code); };
    return made;
  }
  Answered start(const std::string& who) {
    return world.command(
        StartInstance{.ns = "default", .workflow = "reports", .input = {{"who", who}}});
  }
  /// Another node takes over.
  void depose() { other = log.start_epoch(kOtherNode, kOtherNode, log.last_sequence()).value(); }

  MemoryLog log;
  std::unique_ptr<CommitLog> lead = log.start_epoch(kThisNode, kThisNode, 0).value();
  std::unique_ptr<CommitLog> other;
  std::vector<std::string> errors;  ///< the codes that on_log_error got
  World world{options()};
};

TEST(LogErrors, LeaveNoCrashNote) {
  LedWorld led;
  led.world.apply(kReports);
  led.start("a");
  led.world.run_until_idle();
  led.depose();
  led.start("b");
  led.world.run_until_idle();
  EXPECT_THAT(led.errors, ElementsAre("log.deposed"));
  EXPECT_FALSE(std::filesystem::exists(led.world.folder() / "in-hand"));
}

TEST(LogErrors, EndTheEngineAndNotTheProcess) {
  const std::pair<const char*, std::function<void(LedWorld&)>> cases[] = {
      {"log.deposed", [](LedWorld& led) { led.depose(); }},
      {"log.lost", [](LedWorld& led) { led.log.lose_tail(1); }},
      {"log.closed",
       [](LedWorld& led) { led.log.decide_fates([] { return AppendFate{.is_stored = false}; }); }}};
  for (const auto& [code, refuse] : cases) {
    SCOPED_TRACE(code);
    LedWorld led;
    World& world = led.world;
    world.apply(kReports);
    world.broker.disconnect();
    const Answered before = led.start("before");
    world.run_until_idle();
    EXPECT_EQ(answer_code(before), "ok");
    EXPECT_THAT(led.errors, IsEmpty());

    refuse(led);
    const uint64_t length = led.log.last_sequence();
    const Answered refused = led.start("refused");
    const std::string id = world.instances().at(0)["id"];
    const Answered waits = world.wait_for_end(id, minutes(1));
    world.run_until_idle();
    EXPECT_EQ(answer_code(refused), code);
    EXPECT_EQ(answer_code(waits), "ok") << "what is committed may be read";
    EXPECT_THAT(led.errors, ElementsAre(code));
    EXPECT_EQ(led.log.last_sequence(), length);

    // The engine does nothing more, also not what earlier commits have left to be sent.
    world.broker.reconnect();
    EXPECT_EQ(answer_code(led.start("after")), code);
    EXPECT_FALSE(world.processor().turn());
    EXPECT_FALSE(world.processor().next_wake().has_value());
    world.run_for(minutes(5));
    EXPECT_THAT(world.events("reported"), IsEmpty());
    EXPECT_EQ(world.intake().goes_on().error().code, code);
    EXPECT_THAT(led.errors, SizeIs(1));
    EXPECT_THAT(world.instances(), SizeIs(1)) << "reads see the last commit";
  }
}

TEST(LogErrors, EndTheEngineAlsoWhileItMakesRoom) {
  LedWorld led;
  World& world = led.world;
  world.apply(kListens);
  const std::string id = world.start("listens")["id"];
  world.run_until_idle();
  const uint64_t limit = world.stored_bytes() - 1;
  world.crash();
  world.options().store.soft_limit_bytes = limit;
  world.recover();
  world.run_until_idle();
  led.depose();
  const Answered cancelled =
      world.command(CancelInstance{.ns = "default", .instance = *parse_instance_id(id)});
  world.run_for(seconds(2));
  EXPECT_EQ(answer_code(cancelled), "log.deposed");
  EXPECT_THAT(led.errors, ElementsAre("log.deposed"));
  EXPECT_EQ(world.status(id), "waiting");
}

TEST(LogErrors, EndTheEngineAlsoAtTheNoteOnACarefulInput) {
  LedWorld led;
  World& world = led.world;
  world.apply(kReports);
  world.crash();
  led.lead = led.log.start_epoch(kThisNode, RandomName{3}, led.log.last_sequence()).value();
  world.options().log = led.lead.get();
  world.options().processor.is_careful = true;
  world.recover();
  world.run_until_idle();
  led.depose();
  const uint64_t length = led.log.last_sequence();
  world.publish("unheard", "1", 1);
  world.run_until_idle();
  EXPECT_THAT(led.errors, ElementsAre("log.deposed"));
  EXPECT_EQ(led.log.last_sequence(), length);
  EXPECT_FALSE(std::filesystem::exists(world.folder() / "in-hand"));
}

TEST(LogErrors, LeaveACommitThatTheLogHasToTheNextProcess) {
  LedWorld led;
  World& world = led.world;
  world.apply(kReports);
  led.log.decide_fates([] { return AppendFate{.is_acked = false}; });
  const Answered unknown = led.start("unknown");
  world.run_until_idle();
  EXPECT_EQ(answer_code(unknown), "log.closed");
  EXPECT_THAT(world.events("reported"), IsEmpty());
  EXPECT_THAT(world.instances(), IsEmpty()) << "the folder does not have it";
  world.crash();

  led.log.decide_fates({});
  {
    const auto environment = Environment::open(world.folder(), {.checkpoints_at_close = false});
    ASSERT_TRUE(environment) << environment.error().message;
    const auto follower = LogFollower::open(**environment).value();
    ASSERT_TRUE(follower->apply(led.log.read(follower->position()).value()));
  }
  led.lead = led.log.start_epoch(kThisNode, kOtherNode, led.log.last_sequence()).value();
  world.options().log = led.lead.get();
  world.recover();
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(1));
  EXPECT_THAT(world.events("reported"), SizeIs(1));
  EXPECT_THAT(led.errors, SizeIs(1));
}

TEST(LogErrors, AreReturnedByAStart) {
  LedWorld led;
  led.world.crash();
  led.world.options().log = nullptr;
  const Status alone = led.world.try_recover();
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, "store.cluster") << "the store belongs to a cluster";

  led.world.change_store([](Transaction& tx) {
    Writer lower;
    lower.u64(kStoreMinor - 1);
    tx.put(Table::kMeta, "minor", lower.take());
  });
  led.depose();
  led.world.options().log = led.lead.get();
  const Status refused = led.world.try_recover();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "log.deposed") << "the commit that raises the minor number";
  EXPECT_THAT(led.errors, IsEmpty()) << "there is no engine yet";
}

}  // namespace
}  // namespace millrace
