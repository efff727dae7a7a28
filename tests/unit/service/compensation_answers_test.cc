// What the answers about an instance say of its compensations: the instance, its history, and why
// an event did not wake it.
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/history_rows.h"
#include "tests/unit/service/why_desk_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class CompensationAnswers : public LocalWhyDeskTest {
 protected:
  static constexpr const char* kUndone = R"(
id: order
compensate: true
functions: [{id: refund, type: subflow, workflow: refunds}]
states:
- id: pay
  type: consumeEvent
  event: {type: paid}
  compensate: {function: refund}
  transition: ship
- {id: ship, type: noop}
)";

  CompensationAnswers() : order(apply(kUndone)) {}

  /// An instance that has noted `count` compensations of `pay`, each with its number as the input.
  Instance noted(uint8_t number, uint32_t count = 2) const {
    Instance instance = waiting_instance(order, number);
    for (uint32_t i = 1; i <= count; ++i) note_compensation(instance, {.input = Json(i)});
    return instance;
  }
  /// Such an instance, which makes the newest one and then ends as failed.
  Instance making(uint8_t number) const {
    Instance instance = noted(number);
    instance.status = InstanceStatus::kRunning;
    instance.error = Error{"out.of.stock", "none left"};
    instance.compensating = PendingEnd{.status = InstanceStatus::kFailed, .state = 1};
    instance.calls.resize(1);
    return instance;
  }
  /// Such an instance, which has ended because the newest one has failed.
  Instance stopped(uint8_t number) const {
    Instance instance = ended(noted(number), InstanceStatus::kFailed);
    instance.error = Error{"out.of.stock", "none left"};
    instance.compensation_error = Error{"down", "no answer"};
    return instance;
  }

  Json instance_of(uint8_t number) {
    return answer([&](Queries& queries, const View& view) {
      return queries.instance(view, "default", numbered_id(number));
    });
  }

  const WorkflowNumber order;
};

TEST_F(CompensationAnswers, NameThoseThatAreLeftNewestFirst) {
  store(making(1));
  const Json made = instance_of(1);
  EXPECT_EQ(made["status"], "running");
  EXPECT_EQ(made["error"]["code"], "out.of.stock");
  EXPECT_EQ(made["compensation"], Json::parse(R"({"left": 2, "making": true, "ends": "failed"})"));
  EXPECT_EQ(made["compensations"], Json::parse(R"([
      {"number": 2, "state": "pay", "function": "refund", "input": 2},
      {"number": 1, "state": "pay", "function": "refund", "input": 1}])"));
  store(stopped(2));
  EXPECT_EQ(instance_of(2)["compensation"], Json::parse(R"({"left": 2, "making": false,
      "error": {"code": "down", "msg": "no answer"}})"));
  EXPECT_EQ(instance_of(2)["error"]["code"], "out.of.stock") << "the error is that of the cause";
  store(waiting_instance(order, 3));
  EXPECT_FALSE(instance_of(3).contains("compensation"));
  EXPECT_FALSE(instance_of(3).contains("compensations"));
}

TEST_F(CompensationAnswers, NameTheNewestHundredOfMany) {
  store(noted(1, 130));
  const Json shown = instance_of(1)["compensations"];
  ASSERT_THAT(shown, SizeIs(100));
  EXPECT_EQ(shown.front()["number"], 130);
  EXPECT_EQ(shown.back()["number"], 31);
  EXPECT_EQ(instance_of(1)["compensation"]["left"], 130);
}

TEST_F(CompensationAnswers, WithholdTheInputsOfASealedInstance) {
  Instance sealed = noted(1, 1);
  sealed.sealed = Sealing::kHidden;
  store(sealed);
  const Json one = instance_of(1)["compensations"].front();
  EXPECT_EQ(one["function"], "refund");
  EXPECT_EQ(dump_json(one).find("\"input\":1"), std::string::npos) << one;
}

TEST_F(CompensationAnswers, NameThoseThatWerePassedOver) {
  using enum HistoryKind;
  const auto store_with = [&](const std::vector<std::pair<HistoryKind, Json>>& records) {
    Instance instance = ended(waiting_instance(order, 1), InstanceStatus::kFailed);
    for (const auto& [kind, detail] : records) {
      HistoryRow row{.ns = ns, .instance = instance.id, .previous = instance.last_history};
      row.records.push_back({.time = now, .kind = kind, .detail = LazyJson(detail)});
      write_history(*tx, ++instance.last_history, row);
      ++instance.history_count;
    }
    store(instance);
  };
  const Json none = Json::object();
  store_with({{kEnded, none},
              {kCompensating, Json{{"past", 3}}},
              {kEnded, none},
              {kCompensating, Json{{"left", 2}}},
              {kCompensating, Json{{"past", 1}}},
              {kEnded, none}});
  EXPECT_EQ(instance_of(1)["passedCompensations"], Json::parse("[3, 1]"));
  EXPECT_EQ(of_instance(1)["instance"]["passedCompensations"], Json::parse("[3, 1]"));
  store_with({{kCompensating, Json{{"past", 3}}}, {kRevived, none}, {kEnded, none}});
  EXPECT_FALSE(instance_of(1).contains("passedCompensations")) << "those of an earlier run";
  EXPECT_FALSE(of_instance(1)["instance"].contains("passedCompensations"));
}

TEST_F(CompensationAnswers, ShowThemInTheHistory) {
  Instance instance = making(1);
  HistoryRow row{.ns = ns, .instance = instance.id};
  const auto add = [&](HistoryKind kind, const char* state, Json detail) {
    row.records.push_back(
        {.time = now, .kind = kind, .state = state, .detail = LazyJson(std::move(detail))});
  };
  add(HistoryKind::kNoted, "pay", {{"function", "refund"}, {"number", 1}});
  add(HistoryKind::kCompensating, "ship", {{"left", 1}, {"status", "failed"}});
  add(HistoryKind::kUndoing, "pay", {{"function", "refund"}, {"number", 1}});
  add(HistoryKind::kUndone, "pay", {{"number", 1}});
  add(HistoryKind::kCompensationStopped, "pay", {{"left", 1}});
  write_history(*tx, 1, row);
  instance.last_history = 1;
  instance.history_count = row.records.size();
  store(instance);
  const Json page = answer([](Queries& queries, const View& view) {
    return queries.history(view, "default", numbered_id(1), {});
  });
  std::vector<std::string> shown;
  for (const Json& item : page["items"]) {
    shown.push_back(item["kind"].get<std::string>() + " " + item["state"].get<std::string>());
  }
  EXPECT_THAT(shown, ElementsAre("noted pay", "compensating ship", "undoing pay", "undone pay",
                                 "compensationStopped pay"));
  EXPECT_EQ(page["items"][0]["detail"], Json::parse(R"({"function": "refund", "number": 1})"));
  EXPECT_EQ(page["items"][1]["detail"], Json::parse(R"({"left": 1, "status": "failed"})"));
}

TEST_F(CompensationAnswers, ShowThemInTheHistoryOfASealedInstance) {
  Instance instance = noted(1, 1);
  instance.sealed = Sealing::kHidden;
  HistoryRow row{.ns = ns, .instance = instance.id, .sealed = instance.sealed};
  row.records.push_back({.time = now,
                         .kind = HistoryKind::kCompensating,
                         .state = "pay",
                         .detail = Json{{"left", 2}, {"status", "failed"}, {"past", 2}}});
  row.records.push_back({.time = now,
                         .kind = HistoryKind::kUndoing,
                         .state = "pay",
                         .detail = Json{{"function", "refund"}, {"number", 1}}});
  write_history(*tx, 1, row);
  instance.last_history = 1;
  instance.history_count = row.records.size();
  store(instance);
  const Json page = answer([](Queries& queries, const View& view) {
    return queries.history(view, "default", numbered_id(1), {});
  });
  EXPECT_EQ(page["items"][0]["detail"],
            Json::parse(R"({"left": 2, "status": "failed", "past": 2})"));
  EXPECT_EQ(page["items"][1]["detail"], Json::parse(R"({"function": "refund", "number": 1})"))
      << "no number of a compensation comes from the data";
}

TEST_F(CompensationAnswers, SayWhyAnEventDoesNotWakeTheInstance) {
  send();
  store(making(1));
  apply_event(1);
  const Json why = of_instance(1);
  EXPECT_EQ(why["instance"]["status"], "running");
  ASSERT_THAT(why["instance"]["waits"], SizeIs(1)) << "for no event";
  EXPECT_EQ(why["instance"]["waits"][0]["compensates"], true);
  EXPECT_EQ(why["instance"]["waits"][0]["function"], "refund");
  EXPECT_FALSE(why["instance"].contains("entering")) << "it does not enter `pay` again";
  EXPECT_EQ(why["instance"]["compensation"],
            Json::parse(R"({"left": 2, "making": true, "ends": "failed"})"));
  ASSERT_THAT(why["events"], SizeIs(1));
  EXPECT_THAT(why["events"][0]["says"].get<std::string>(),
              HasSubstr("the instance makes its compensations, and takes no further event before "
                        "it ends"));
}

TEST_F(CompensationAnswers, SayWhatIsLeftOfAnInstanceThatHasEnded) {
  store(stopped(1));
  EXPECT_EQ(of_instance(1)["instance"]["compensation"], Json::parse(R"({"left": 2,
      "making": false, "error": {"code": "down", "msg": "no answer"}})"));
  store(waiting_instance(order, 2));
  EXPECT_FALSE(of_instance(2)["instance"].contains("compensation"));
}

}  // namespace
}  // namespace millrace
