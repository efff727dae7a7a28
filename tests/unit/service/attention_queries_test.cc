// The query of timers that ask for attention: waits for the next attempt, and near timeouts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/service/attention.h"
#include "orchestrator/service/next_filter.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::IsEmpty;
using testing::SizeIs;

class AttentionQueriesTest : public QueryTest {
 protected:
  AttentionQueriesTest()
      : waits(apply(R"(
id: waits
states:
- id: wait
  type: consumeEvent
  event: {type: paid}
  catch:
  - {error: "direktiv.*", transition: late}
- {id: late, type: noop}
)")) {
    clock.jump(now - clock.now());
  }

  Instance with_timers(uint8_t number, std::vector<Timer> timers) const {
    Instance instance = waiting_instance(waits, number);
    instance.timers = std::move(timers);
    return instance;
  }
  /// An instance whose calls have a timer after `timer`, and are due again after `retries`.
  Instance with_calls(uint8_t number, milliseconds timer,
                      const std::vector<std::optional<milliseconds>>& retries) const {
    Instance instance = with_timers(number, {{TimerKind::kCalls, now + timer}});
    for (const auto& after : retries) {
      Call call{.status = Call::Status::kRunning, .attempt = 1};
      if (after) {
        call.status = Call::Status::kBetween;
        call.retry_at = now + *after;
      }
      instance.calls.push_back(std::move(call));
    }
    return instance;
  }
  std::string at(milliseconds after) const { return format_rfc3339(now + after); }
  Json cut(const char* kind, milliseconds after) const {
    return {{"kind", kind}, {"exactUntil", at(after)}};
  }

  static Ask timed(NextLooks looks = {}, std::string name = "default") {
    return [=](Queries& queries, const View& view) {
      return queries.timed_attention(view, name, looks);
    };
  }

  const WorkflowNumber waits;
};

TEST_F(AttentionQueriesTest, ShowRetriesAndNearTimeoutsSoonestFirst) {
  store(with_timers(1, {{TimerKind::kStateTimeout, now + minutes(5)},
                        {TimerKind::kExecution, now + seconds(1)}}));
  store(with_timers(2, {{TimerKind::kStateTimeout, now + minutes(5) + milliseconds(1)}}));
  store(with_timers(3, {{TimerKind::kStateTimeout, now + seconds(7)}}));
  store(with_timers(4, {{TimerKind::kRetry, now + minutes(90)}}));
  store(with_calls(5, seconds(2), {std::nullopt, seconds(30), seconds(20)}));
  store(with_calls(6, seconds(2), {std::nullopt}));
  const auto item = [&](const char* kind, milliseconds after, uint8_t number) {
    return Json{{"kind", kind},
                {"at", at(after)},
                {"since", at(seconds(0))},
                {"instance", to_string(numbered_id(number))},
                {"workflow", "waits"},
                {"state", "wait"}};
  };
  Json sooner = item("deadline", seconds(7), 3);
  Json later = item("deadline", minutes(5), 1);
  const Json consequence{{"causes", "state"}, {"then", "late"}, {"error", "direktiv.stateTimeout"}};
  sooner.update(consequence);
  later.update(consequence);
  EXPECT_EQ(
      answer(timed()),
      (Json{{"attention",
             {item("retrying", seconds(20), 5), item("retrying", minutes(90), 4), sooner, later}},
            {"cut", Json::array()},
            {"complete", true}}));
  EXPECT_EQ(outcome(timed({}, "none")), "namespace.not_found");
  expect_each_read_to_count(timed());
}

TEST_F(AttentionQueriesTest, LeaveOutWhatAPausedInstanceWaitsFor) {
  Instance paused = with_timers(1, {});
  paused.paused = true;
  paused.held_timers = {{TimerKind::kStateTimeout, now + seconds(5)},
                        {TimerKind::kRetry, now + seconds(5)}};
  store(paused);
  EXPECT_THAT(answer(timed())["attention"], IsEmpty());
}

TEST_F(AttentionQueriesTest, LeaveOutDamagedInstances) {
  const Instance damaged = with_timers(1, {{TimerKind::kRetry, now + seconds(5)}});
  store(damaged);
  damage(Table::kLive, head_key(damaged));
  store(with_timers(2, {{TimerKind::kRetry, now + seconds(6)}}));
  EXPECT_THAT(answer(timed())["attention"], SizeIs(1));
}

TEST_F(AttentionQueriesTest, AreTwentyOfAKindAndTheTimeUpToWhichNoneIsMissing) {
  for (uint8_t number = 1; number <= 23; ++number) {
    store(with_timers(number, {{TimerKind::kRetry, now + seconds(100 - number)}}));
  }
  store(with_timers(24, {{TimerKind::kStateTimeout, now + seconds(1)}}));
  const Json shown = answer(timed());
  ASSERT_THAT(shown["attention"], SizeIs(kMostOfAKind + 1));
  EXPECT_EQ(shown["attention"][0]["at"], at(seconds(77)));
  EXPECT_EQ(shown["attention"][19]["at"], at(seconds(96)));
  EXPECT_EQ(shown["cut"], Json::array({cut("retrying", seconds(97))}));
  EXPECT_EQ(shown["complete"], true) << "all timers were looked at";
}

TEST_F(AttentionQueriesTest, AreCutByTheirBounds) {
  store(with_calls(1, seconds(2), {seconds(20), seconds(30)}));
  store(with_timers(2, {{TimerKind::kRetry, now + seconds(10)}}));
  const auto cut_now = Json::array({cut("retrying", seconds(0)), cut("deadline", seconds(0))});
  struct Case {
    const char* what;
    size_t rows;
    milliseconds look;
    size_t shown;
    bool is_complete;
  };
  const Case cases[] = {
      {"two heads and two calls", 4, milliseconds(0), 2, true},
      {"the second head is too much", 3, milliseconds(0), 1, false},
      {"the calls are too much", 2, milliseconds(0), 0, false},
      {"the time is over at the calls", 4, kAttentionTime, 0, false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    clock.let_looks_take(one.look);
    const Json shown = answer(timed({.rows = one.rows}));
    EXPECT_THAT(shown["attention"], SizeIs(one.shown));
    EXPECT_EQ(shown["complete"], one.is_complete);
    EXPECT_EQ(shown["cut"], one.is_complete ? Json::array() : cut_now);
  }
}

}  // namespace
}  // namespace millrace
