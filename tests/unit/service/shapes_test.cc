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

/// A listener for the type; with a text, a condition that the attribute `a` has it.
Listener listener_for(const std::string& type, const std::string& text = "") {
  Listener listener{.filter = {.type = type}};
  if (!text.empty()) listener.filter.predicates = {{"a", Predicate::Kind::kEquals, text}};
  return listener;
}

TEST(Shapes, ShowTheFirstEventsForWhichAnInstanceWaits) {
  struct Row {
    std::string what;
    std::vector<Listener> listeners;
    Json shown;
  };
  const std::string fits(508, 'x');  // with `t`, `a` and the type `u` it has 511 bytes
  const Json whole = {{"type", "t"}, {"context", {{"a", {{"equals", "1"}}}}}};
  const Json of_u = {{"type", "u"}, {"context", Json::object()}};
  const Row rows[] = {
      {"none", {}, Json::object()},
      {"one", {listener_for("t", "1")}, {{"waits", Json::array({whole})}}},
      {"five",
       {listener_for("t", "1"), listener_for("u"), listener_for("u"), listener_for("u"),
        listener_for("u")},
       {{"waits", Json::array({whole, of_u, of_u, of_u})}, {"moreWaits", 1}}},
      {"a text that fits",
       {listener_for("t", fits), listener_for("u")},
       {{"waits", Json::array({{{"type", "t"}, {"context", {{"a", {{"equals", fits}}}}}}, of_u})}}},
      {"a text that is too long",
       {listener_for("t", fits + "xxx"), listener_for("u")},
       {{"waits", Json::array({{{"type", "t"}}, of_u})}}},
      {"a type that is too long",
       {listener_for(std::string(513, 't')), listener_for("u")},
       {{"moreWaits", 2}}},
  };
  for (const Row& row : rows) {
    Json item = Json::object();
    add_waits(item, {.listeners = row.listeners}, false);
    EXPECT_EQ(item, row.shown) << row.what;
  }
  Json sealed = Json::object();
  add_waits(sealed, {.listeners = {listener_for("t", "1")}}, true);
  EXPECT_EQ(sealed["waits"][0]["context"]["a"]["equals"], "(sealed)");
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
