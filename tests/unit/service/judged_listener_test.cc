// What an answer says about an event that came too early.
#include "orchestrator/service/judged_listener.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(JudgedListener, SaysHowLongTheEventCameBefore) {
  constexpr int64_t kSecond = 1'000;
  constexpr int64_t kHour = 3'600 * kSecond;
  struct Row {
    int64_t millis;  ///< from the event to the begin of the wait
    std::string length;
  };
  const Row rows[] = {
      {1, "1 ms"},
      {999, "999 ms"},
      {1'000, "1.0 s"},
      {3'390, "3.3 s"},
      {119'999, "119.9 s"},
      {120 * kSecond, "2 min"},
      {2 * kHour - 1, "119 min"},
      {2 * kHour, "2 h"},
      {48 * kHour - 1, "47 h"},
      {48 * kHour, "2 d"},
  };
  const TimePoint came = from_millis(1'700'000'000'000);
  const EventStanding event{.position = EventPosition{1, 7}, .stamped = came};
  for (const Row& row : rows) {
    const JudgedListener one{.workflow = "order",
                             .instance = InstanceId{},
                             .started = came,
                             .since = came + Duration(row.millis),
                             .verdict = Verdict::kBefore};
    const std::string text = says(one, event);
    EXPECT_NE(text.find("the event came " + row.length +
                        " before the wait began, and after the instance started; "),
              std::string::npos)
        << text;
    EXPECT_EQ(early_by(one, event), Duration(row.millis));
  }
}

TEST(JudgedListener, NamesNoReplayForAnInstanceThatHasEnded) {
  const TimePoint came = from_millis(1'700'000'000'000);
  const EventStanding event{.position = EventPosition{1, 7}, .ns = "shop", .stamped = came};
  const JudgedListener lives{.workflow = "order",
                             .instance = InstanceId{},
                             .since = came + Duration(5),
                             .verdict = Verdict::kBefore};
  JudgedListener over = lives;
  over.has_ended = true;
  EXPECT_NE(says(lives, event).find("`millrace -n shop event replay 7 --to-instance 00000000-"),
            std::string::npos)
      << says(lives, event);
  EXPECT_EQ(says(over, event).find("event replay"), std::string::npos) << says(over, event);
  EXPECT_NE(says(over, event).find("`millrace -n shop instance rerun 00000000-"),
            std::string::npos);
  over.woken_by = "the event \"e\" of \"bank\" woke it";
  EXPECT_EQ(says(over, event),
            "the event came 5 ms before the wait began; the instance has ended, so it can take no "
            "event; in that wait, the event \"e\" of \"bank\" woke it")
      << "a rerun would do its work twice";
  EXPECT_FALSE(verdict_json(lives, event, false).contains("ended"));
  EXPECT_EQ(verdict_json(over, event, false)["ended"], true);
}

TEST(JudgedListener, NamesNoReplayForAnInstanceThatWaitsNoMore) {
  const TimePoint came = from_millis(1'700'000'000'000);
  const EventStanding event{.position = EventPosition{1, 7}, .ns = "shop", .stamped = came};
  JudgedListener one{.workflow = "order",
                     .instance = InstanceId{},
                     .state = "wait",
                     .now_in = "hold",
                     .since = came + Duration(5),
                     .verdict = Verdict::kBefore};
  EXPECT_EQ(says(one, event),
            "the event came 5 ms before the wait began; the instance does not wait for this type "
            "now; it is in `hold`")
      << "when the instance started is not known";
  one.is_paused = true;
  EXPECT_NE(says(one, event).find("; it is paused in `hold`"), std::string::npos);
  EXPECT_EQ(verdict_json(one, event, false)["stateNow"], "hold");
}

TEST(JudgedListener, NamesTheCommandThatResumesAPausedInstance) {
  const JudgedListener one{.instance = InstanceId{}, .verdict = Verdict::kPaused};
  const EventStanding sent{.position = EventPosition{1, 7}, .ns = "shop"};
  EXPECT_EQ(says(one, sent),
            "the instance took the event, and continues when it is resumed: `millrace -n shop "
            "instance resume " +
                to_string(InstanceId{}) + "`");
  EXPECT_NE(says(one, {.ns = "shop"}).find("the instance would take the event"), std::string::npos);
}

TEST(JudgedListener, SaysNothingOfATimeThatIsNotKnown) {
  const TimePoint came = from_millis(1'700'000'000'000);
  const EventStanding event{.position = EventPosition{1, 7}, .stamped = came};
  const JudgedListener late{.since = came + Duration(5), .verdict = Verdict::kBefore};
  ASSERT_TRUE(early_by(late, event));
  JudgedListener one = late;
  one.since = came;
  EXPECT_FALSE(early_by(one, event)) << "the clocks of broker and engine differ";
  one = late;
  one.since.reset();
  EXPECT_FALSE(early_by(one, event));
  one = late;
  one.note = "the instance is not in a state that waits";
  EXPECT_FALSE(early_by(one, event));
  EXPECT_EQ(says(one, event), one.note);
  one = late;
  one.verdict = Verdict::kPredicate;
  EXPECT_FALSE(early_by(one, event));
  EXPECT_FALSE(early_by(late, {})) << "a test event";
}

}  // namespace
}  // namespace millrace
