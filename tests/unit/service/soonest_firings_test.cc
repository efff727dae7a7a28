// What will fire in a namespace with more instances than a query looks at: the timers of the wheel,
// soonest first, and the time up to which the answer is exact.
#include "orchestrator/service/soonest_firings.h"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/memory/dedupe.h"
#include "orchestrator/memory/kept_events.h"
#include "orchestrator/memory/wait_index.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class SoonestFiringsTest : public QueryTest {
 protected:
  SoonestFiringsTest()
      : waits(apply(R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: paid}}
)")) {
    clock.jump(now - clock.now());
    advance(now);
  }

  void advance(TimePoint time) {
    std::vector<TimerInput> due;
    index.advance(time, due);
  }
  /// Stores an instance, and adds its timers to the wheel, as the engine does.
  Instance add(uint8_t number, std::vector<Timer> timers) {
    Instance instance = waiting_instance(waits, number);
    instance.timers = std::move(timers);
    store(instance);
    EXPECT_TRUE(index.update("default", instance));
    return instance;
  }
  void add_delay(uint8_t number, std::chrono::milliseconds after) {
    add(number, {{TimerKind::kDelay, now + after}});
  }
  /// Adds 30 instances, the first of which have the latest timers: after 30, 29 … 1 hours.
  void add_hours() {
    for (uint8_t number = 1; number <= 30; ++number) add_delay(number, hours(31 - number));
  }

  AskIndex asker() {
    return [this](const auto& question) -> Status {
      if (is_busy) return fail("busy", "no answer");
      question(EngineMemory{index, dedupe, kept_events});
      if (after_question) after_question();
      return {};
    };
  }
  Json next(size_t rows, size_t walked, const NextFilter& filter = {},
            const std::string& space = "default") {
    DefinitionCache loaded(load_stored);
    Queries queries(loaded, started, clock);
    auto answer = soonest_firings({.environment = *environment,
                                   .clock = clock,
                                   .queries = queries,
                                   .ask = asker(),
                                   .rows = rows,
                                   .walked = walked},
                                  space, filter);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer.value_or(nullptr);
  }
  /// The times of the first items, in seconds from now.
  std::vector<int64_t> seconds_of(const Json& answer, size_t most) const {
    std::vector<int64_t> found;
    for (const Json& item : answer["items"]) {
      if (found.size() == most) break;
      const auto at = parse_rfc3339(item["at"].get<std::string>());
      EXPECT_TRUE(at);
      if (at) found.push_back((to_millis(*at) - to_millis(now)) / 1000);
    }
    return found;
  }

  const WorkflowNumber waits;
  WaitIndex index{batches};
  Dedupe dedupe{{}, batches};
  KeptEvents kept_events{damages, batches};
  bool is_busy = false;
  std::function<void()> after_question;
};

TEST_F(SoonestFiringsTest, AreFoundWithMoreInstancesThanOneQueryLooksAt) {
  add_hours();
  add_delay(40, seconds(1));
  add_delay(41, seconds(100));
  struct Case {
    const char* what;
    size_t rows;
    size_t walked;
    NextFilter filter;
    const char* cut_by;  ///< empty: the answer is complete
  };
  const Case cases[] = {
      {"few instances: their heads", 32, 0, {}, ""},
      {"few instances, more than the limit", 32, 0, {.limit = 31}, "limit"},
      {"few instances, as many as the limit", 32, 0, {.limit = 32}, ""},
      {"all timers of the wheel up to an end", 31, 1000, {.until = now + hours(20)}, ""},
      {"more timers of the wheel than the limit", 31, 1000, {.limit = 20}, "limit"},
      {"the walk is cut", 31, 3, {}, "look"},
      {"the walk is cut behind the limit", 31, 3, {.limit = 2}, "limit"},
      {"the walk is cut behind the end", 31, 3, {.until = now + seconds(100)}, ""},
      {"the walk is cut before the end", 31, 3, {.until = now + hours(2)}, "look"},
      {"as many as the limit up to the end", 31, 3, {.until = now + seconds(100), .limit = 2}, ""},
      {"rows for the shown ones only", 2, 1000, {.limit = 2}, "limit"},
      {"rows for one of the shown ones", 1, 1000, {.limit = 2}, "look"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    const Json answer = next(one.rows, one.walked, one.filter);
    const bool is_complete = std::string_view(one.cut_by).empty();
    EXPECT_EQ(answer["complete"], is_complete);
    EXPECT_EQ(answer.contains("exactUntil"), !is_complete);
    EXPECT_EQ(answer.value("cutBy", ""), one.cut_by);
    EXPECT_THAT(seconds_of(answer, 1), ElementsAre(1));
    if (one.rows > 1) {
      EXPECT_THAT(seconds_of(answer, 2), ElementsAre(1, 100));
    }
  }
}

TEST_F(SoonestFiringsTest, NameTheTimeUpToWhichTheyAreExact) {
  add_hours();
  add_delay(40, seconds(1));
  add_delay(41, seconds(100));
  const Json cut = next(31, 3);
  const auto until = parse_rfc3339(cut["exactUntil"].get<std::string>());
  ASSERT_TRUE(until);
  EXPECT_GT(*until, now + seconds(100));
  EXPECT_LE(*until, now + hours(1));
  EXPECT_EQ(cut["items"].size(), 3U) << "what was seen of later times is shown, too";
  EXPECT_EQ(cut["looked"], 6) << "three timers and three heads";
  EXPECT_EQ(next(1, 1000)["exactUntil"], format_rfc3339(now + seconds(100)))
      << "the row of the second timer was not read";
  EXPECT_EQ(next(32, 0, {.limit = 1})["exactUntil"], format_rfc3339(now + seconds(100)))
      << "the first timer that the limit leaves out";
}

TEST_F(SoonestFiringsTest, LeaveOutTheTimersOfOtherNamespaces) {
  const NamespaceNumber shop = create_namespace("shop");
  add_hours();
  for (uint8_t number = 50; number < 70; ++number) {
    Instance other = waiting_instance(waits, number);
    other.ns = shop;
    other.timers = {{TimerKind::kDelay, now + seconds(number)}};
    store(other);
    ASSERT_TRUE(index.update("shop", other));
  }
  EXPECT_THAT(seconds_of(next(10, 1000, {.limit = 1}), 5), ElementsAre(3600));
  const Json cut = next(10, 5, {.limit = 1});
  EXPECT_THAT(cut["items"], IsEmpty());
  EXPECT_EQ(cut["complete"], false);
  const auto until = parse_rfc3339(cut["exactUntil"].get<std::string>());
  ASSERT_TRUE(until);
  EXPECT_GT(*until, now + seconds(30)) << "all these timers are in one list of the wheel";
  EXPECT_LE(*until, now + seconds(50));
}

TEST_F(SoonestFiringsTest, ShowDelayedEventsAndLifespansFromTheWheel) {
  const NamespaceNumber shop = create_namespace("shop");
  add_hours();
  write_delayed(*tx, 7,
                {.ns = ns, .instance = numbered_id(2), .at = now + seconds(20), .event = "{}"});
  write_delayed(*tx, 8,
                {.ns = shop, .instance = numbered_id(9), .at = now + seconds(5), .event = "{}"});
  write_grouped(*tx, {.queue = {.workflow = waits},
                      .number = 3,
                      .record = {.position = {}, .expires = now + seconds(39), .event = "{}"}});
  commit();
  index.arm_delayed(7, now + seconds(20));
  index.arm_delayed(8, now + seconds(5));
  index.arm_delayed(9, now + seconds(6));  // its row is gone
  index.arm_grouped(3, now + seconds(39));
  const Json answer = next(10, 1000, {.limit = 2});
  EXPECT_EQ(answer["cutBy"], "limit");
  EXPECT_EQ(answer["exactUntil"], format_rfc3339(now + hours(1)));
  EXPECT_THAT(seconds_of(answer, 5), ElementsAre(20, 39));
  EXPECT_EQ(answer["items"][0]["kind"], "delayedEvent");
  EXPECT_EQ(answer["items"][1]["kind"], "lifespan");
  EXPECT_EQ(answer["items"][1]["workflow"], "waits");
  const NextFilter lifespans{.kinds = {FiringKind::kLifespan}};
  EXPECT_THAT(seconds_of(next(10, 1000, lifespans), 5), ElementsAre(39));
  const NextFilter ticks{.kinds = {FiringKind::kTick}};
  EXPECT_EQ(next(10, 0, ticks)["complete"], true) << "ticks need no walk";
}

TEST_F(SoonestFiringsTest, ShowTheTimersThatTheHeadsHave) {
  add_hours();
  add(40, {{TimerKind::kStateTimeout, now + seconds(9)}, {TimerKind::kDelay, now + seconds(5)}});
  // The delay has fired since the walk, and another instance is gone.
  Instance later = waiting_instance(waits, 40);
  later.timers = {{TimerKind::kStateTimeout, now + seconds(9)}};
  store(later);
  add_delay(41, seconds(6));
  drop(Table::kLive, head_key(waiting_instance(waits, 41)));
  // A paused instance has one timer that counts.
  Instance paused = waiting_instance(waits, 42);
  paused.paused = true;
  paused.timers = {{TimerKind::kKill, now + seconds(20)}};
  paused.held_timers = {{TimerKind::kStateTimeout, now + seconds(7)}};
  store(paused);
  ASSERT_TRUE(index.update("default", paused));
  const Json answer = next(10, 1000, {.limit = 2});
  EXPECT_EQ(answer["cutBy"], "limit");
  EXPECT_THAT(seconds_of(answer, 5), ElementsAre(9, 20));
  EXPECT_EQ(answer["items"][1]["paused"], true);
}

TEST_F(SoonestFiringsTest, AreThoseOfSomeHeadsIfTheEngineThreadDoesNotAnswer) {
  add_hours();
  is_busy = true;
  const Json answer = next(10, 1000);
  EXPECT_EQ(answer["complete"], false);
  EXPECT_EQ(answer["exactUntil"], format_rfc3339(now));
  EXPECT_EQ(answer["items"].size(), 10U);
}

TEST_F(SoonestFiringsTest, AreFoundWhileTheWheelMovesTimersToLowerLevels) {
  // All are in one list of the wheel, which is opened after the first question.
  const TimePoint start = from_millis((to_millis(now) / 65'536 + 2) * 65'536);
  for (uint8_t number = 1; number <= 30; ++number) {
    add(number, {{TimerKind::kDelay, start + seconds(number)}});
  }
  after_question = [&] { advance(start); };
  const auto found =
      walk_timers(asker(), ns, {.limit = 50}, {.timers = 1000, .at_once = 4, .is_over = nullptr});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->seen_until);
  std::set<InstanceId> ids;
  for (const TimerInput& timer : found->timers) {
    ids.insert(std::get<TimerInput::OfInstance>(timer.owner).instance);
  }
  EXPECT_EQ(ids.size(), 30U);
}

TEST_F(SoonestFiringsTest, EndTheWalkWhenItsTimeIsOverOrEnoughIsFound) {
  add_hours();
  add_delay(40, seconds(1));
  add_delay(41, seconds(100));
  const auto late = walk_timers(asker(), ns, {}, {.at_once = 1, .is_over = [] { return true; }});
  ASSERT_TRUE(late);
  EXPECT_EQ(late->looked, 1U);
  ASSERT_TRUE(late->seen_until);
  EXPECT_GT(*late->seen_until, now + seconds(1));
  const auto enough = walk_timers(asker(), ns, {.limit = 1}, {.at_once = 1, .spare = 1});
  ASSERT_TRUE(enough);
  EXPECT_EQ(enough->looked, 2U);
  is_busy = true;
  EXPECT_FALSE(walk_timers(asker(), ns, {}, {}));
}

}  // namespace
}  // namespace millrace
