#include "orchestrator/service/shapes.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Shapes, WithholdTheDataOfASealedInstance) {
  const LazyJson data(Json{{"card", "4711"}});
  EXPECT_EQ(shown(data, false), (Json{{"card", "4711"}}));
  EXPECT_EQ(shown(data, true), "(sealed)");
}

TEST(Shapes, WithholdTheFieldsOfASealedDetailThatTheEngineDoesNotSet) {
  const Json detail{{"code", "card.refused"}, {"message", "4711"}, {"attempt", 2}};
  EXPECT_EQ(shown_detail(detail, false), detail);
  EXPECT_EQ(shown_detail(detail, true),
            (Json{{"code", "card.refused"}, {"message", "(sealed)"}, {"attempt", 2}}));
  EXPECT_EQ(shown_detail("4711", true), "(sealed)");
}

TEST(Shapes, ShowHowAnEventFilterComparesEachAttribute) {
  EventFilter filter{.type = "paid"};
  filter.predicates.push_back(
      {.attribute = "order", .kind = Predicate::Kind::kEquals, .text = "o1"});
  EXPECT_EQ(to_json(filter),
            (Json{{"type", "paid"}, {"context", {{"order", {{"equals", "o1"}}}}}}));
  EXPECT_EQ(to_json(filter, true),
            (Json{{"type", "paid"}, {"context", {{"order", {{"equals", "(sealed)"}}}}}}));
}

TEST(Shapes, TakeTheStartTimeOfADamagedInstanceFromItsId) {
  const auto id = parse_instance_id("0190b5a4-7c1e-7f2a-8000-0123456789ab");
  ASSERT_TRUE(id);
  const Json item = damaged_item(*id, {"store.damaged_row", "it is damaged"});
  EXPECT_EQ(item["id"], "0190b5a4-7c1e-7f2a-8000-0123456789ab");
  EXPECT_EQ(item["status"], "damaged");
  EXPECT_EQ(item["damage"], "it is damaged");
  EXPECT_EQ(item["startedAt"], format_rfc3339(from_millis(0x0190b5a47c1e)));
}

TEST(Shapes, IgnoreTheTimerOfTheCallsInTheEarliestDeadline) {
  Instance instance;
  EXPECT_FALSE(first_deadline(instance));
  const auto at = [](int64_t millis) { return from_millis(millis); };
  instance.timers = {{.kind = TimerKind::kCalls, .deadline = at(1)},
                     {.kind = TimerKind::kStateTimeout, .deadline = at(3)},
                     {.kind = TimerKind::kKill, .deadline = at(2)}};
  EXPECT_EQ(first_deadline(instance), at(2));
}

}  // namespace
}  // namespace millrace
