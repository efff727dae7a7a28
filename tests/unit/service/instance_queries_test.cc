// Queries for instances: lists by page and filter, one instance with its calls, and its history.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class InstanceQueriesTest : public QueryTest {
 protected:
  static constexpr const char* kPays = R"(
id: pays
functions:
- {id: charge, type: subflow, workflow: charge}
states:
- id: pay
  type: parallel
  actions: [{function: charge}, {function: charge}, {function: charge}]
)";

  InstanceQueriesTest() : waits(apply(kWaits)), pays(apply(kPays)) {}

  static Ask list(InstanceFilter filter, std::string ns = "default") {
    return [=](Queries& queries, const View& view) { return queries.instances(view, ns, filter); };
  }
  static Ask one(uint8_t number, std::string ns = "default") {
    return [=](Queries& queries, const View& view) {
      return queries.instance(view, ns, numbered_id(number));
    };
  }
  static Ask history(uint8_t number, std::string ns = "default") {
    return [=](Queries& queries, const View& view) {
      return queries.history(view, ns, numbered_id(number), {});
    };
  }

  /// The numbers of the listed instances.
  std::vector<int> numbers(const InstanceFilter& filter) {
    const Json items = answer(list(filter))["items"];
    std::vector<int> found;
    for (const Json& shown : items) {
      found.push_back(parse_instance_id(shown["id"].get<std::string>())->bytes.back());
    }
    return found;
  }
  Json item(uint8_t number) {
    const Json items = answer(list({}))["items"];
    for (const Json& shown : items) {
      if (shown["id"] == to_string(numbered_id(number))) return shown;
    }
    return nullptr;
  }

  /// Stores four instances, started a minute apart: 1 and 3 wait, 2 has failed, and 4, an instance
  /// of `pays`, is complete.
  void store_four() {
    store(waiting_instance(waits, 1));
    now += minutes(1);
    store(ended(waiting_instance(waits, 2), InstanceStatus::kFailed));
    now += minutes(1);
    store(waiting_instance(waits, 3));
    now += minutes(1);
    store(ended(waiting_instance(pays, 4), InstanceStatus::kComplete));
  }
  /// An instance that waits for three calls.
  Instance paying(uint8_t number) const {
    Instance instance = waiting_instance(pays, number);
    instance.calls.resize(3);
    return instance;
  }

  const TimePoint start = now;
  const WorkflowNumber waits;
  const WorkflowNumber pays;
};

// Lists.

TEST_F(InstanceQueriesTest, ListLiveAndEndedInstancesNewestFirst) {
  store_four();
  EXPECT_THAT(numbers({}), ElementsAre(4, 3, 2, 1));
}

TEST_F(InstanceQueriesTest, EndAPageAtItsLimit) {
  store_four();
  const auto of_size = [&](size_t limit) {
    std::vector<size_t> sizes;
    for (const auto& page : pages("id", limit, [](auto&queries, auto&view, size_t most, auto at) {
           return queries.instances(view, "default", {.limit = most, .cursor = std::string(at)});
         })) {
      sizes.push_back(page.size());
    }
    return sizes;
  };
  EXPECT_THAT(of_size(1), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(of_size(3), ElementsAre(3, 1));
  EXPECT_THAT(of_size(4), ElementsAre(4));
  EXPECT_THAT(of_size(5), ElementsAre(4));
}

TEST_F(InstanceQueriesTest, ContinueAfterAPageCursorWhoseInstanceIsDeleted) {
  store_four();
  const std::string cursor = to_string(numbered_id(3));
  Instance gone = *read_instance(*tx, ns, numbered_id(3)).value();
  ASSERT_TRUE(erase_parts(*tx, ns, gone.id));
  commit();
  EXPECT_THAT(numbers({.cursor = cursor}), ElementsAre(2, 1));
}

TEST_F(InstanceQueriesTest, FilterInstancesByWorkflowByStatusAndByStartTime) {
  store_four();
  using enum InstanceStatus;
  EXPECT_THAT(numbers({.workflow = "waits"}), ElementsAre(3, 2, 1));
  EXPECT_THAT(numbers({.statuses = {kWaiting}}), ElementsAre(3, 1));
  EXPECT_THAT(numbers({.statuses = {kFailed, kComplete}}), ElementsAre(4, 2));
  EXPECT_THAT(numbers({.statuses = {kPaused}}), IsEmpty());
  EXPECT_THAT(numbers({.since = start + minutes(1)}), ElementsAre(4, 3, 2));
  EXPECT_THAT(numbers({.since = start + minutes(1) + Duration(1)}), ElementsAre(4, 3));
  EXPECT_THAT(numbers({.workflow = "waits", .statuses = {kWaiting}, .since = start + minutes(1)}),
              ElementsAre(3));
}

TEST_F(InstanceQueriesTest, NameANextPageOnlyIfItHasAnInstanceThatMatches) {
  store_four();
  InstanceFilter filter{.statuses = {InstanceStatus::kWaiting}, .limit = 1};
  const Json first = answer(list(filter));
  EXPECT_EQ(first["next"], to_string(numbered_id(3)));
  filter.cursor = first["next"];
  const Json second = answer(list(filter));
  EXPECT_EQ(second["items"].size(), 1U);
  EXPECT_EQ(second["next"], nullptr);
}

TEST_F(InstanceQueriesTest, FindTheInstancesOfTheNamespaceOnly) {
  store_four();
  Instance other = waiting_instance(waits, 9);
  other.ns = create_namespace("shop");
  store(other);
  EXPECT_THAT(numbers({}), ElementsAre(4, 3, 2, 1));
  EXPECT_EQ(answer(list({}, "shop"))["items"].size(), 1U);
  EXPECT_EQ(outcome(one(9)), "instance.not_found");
  EXPECT_EQ(outcome(one(9, "shop")), "found");
  EXPECT_EQ(outcome(one(4, "shop")), "instance.not_found");
}

TEST_F(InstanceQueriesTest, FailForNamesThatDoNotExist) {
  EXPECT_EQ(outcome(list({}, "none")), "namespace.not_found");
  EXPECT_EQ(outcome(list({.workflow = "none"})), "workflow.not_found");
  EXPECT_EQ(outcome(list({.cursor = "nonsense"})), "id.malformed");
  EXPECT_TRUE(ask(list({.cursor = "nonsense"})).error().message.starts_with("cursor: "));
  EXPECT_EQ(outcome(one(1)), "instance.not_found");
  EXPECT_EQ(outcome(one(1, "none")), "namespace.not_found");
  EXPECT_EQ(outcome(history(1)), "instance.not_found");
  EXPECT_EQ(outcome(history(1, "none")), "namespace.not_found");
}

// The fields of an instance in a list.

TEST_F(InstanceQueriesTest, ListTheStatusAndTheStateOfAnInstance) {
  store(waiting_instance(waits, 1));
  EXPECT_EQ(item(1), (Json{{"id", "00000000-0000-0000-0000-000000000001"},
                           {"workflow", "waits"},
                           {"revision", 1},
                           {"status", "waiting"},
                           {"state", "wait"},
                           {"run", 1},
                           {"startedAt", "2023-11-14T22:13:20.000Z"}}));
}

TEST_F(InstanceQueriesTest, ListTheOptionalFieldsOfAnInstance) {
  Instance live = waiting_instance(waits, 1);
  live.run = 2;
  live.caller = Caller{.instance = numbered_id(7)};
  live.timers = {{TimerKind::kRetry, start + seconds(1)},
                 {TimerKind::kKill, start + seconds(3)},
                 {TimerKind::kStateTimeout, start + seconds(2)}};
  store(live);
  Instance failed = ended(waiting_instance(waits, 2), InstanceStatus::kFailed);
  failed.error = Error{"card.refused", "no money"};
  failed.failed_state = "wait";
  store(failed);
  const Json shown = item(1);
  EXPECT_EQ(shown["run"], 2);
  EXPECT_EQ(shown["parent"], to_string(numbered_id(7)));
  EXPECT_EQ(shown["nextRetryAt"], format_rfc3339(start + seconds(1)));
  EXPECT_EQ(shown["deadline"], format_rfc3339(start + seconds(2)));
  EXPECT_FALSE(shown.contains("error") || shown.contains("endedAt"));
  const Json end = item(2);
  EXPECT_EQ(end["status"], "failed");
  EXPECT_EQ(end["endedAt"], format_rfc3339(start + seconds(1)));
  EXPECT_EQ(end["error"], (Json{{"code", "card.refused"}, {"msg", "no money"}}));
  EXPECT_EQ(end["failedState"], "wait");
  EXPECT_EQ(end["run"], 1);
  EXPECT_FALSE(end.contains("parent") || end.contains("deadline"));
}

TEST_F(InstanceQueriesTest, WithholdTheDataOfASealedInstance) {
  Instance sealed = ended(waiting_instance(waits, 1), InstanceStatus::kFailed);
  sealed.error = Error{"card.refused", "4711"};
  sealed.sealed = true;
  sealed.last_history = 1;
  write_history(*tx, 1,
                {.ns = ns,
                 .instance = sealed.id,
                 .records = {{.time = now,
                              .kind = HistoryKind::kRaised,
                              .detail = Json{{"code", "card.refused"}, {"msg", "4711"}},
                              .data = Json{{"card", "4711"}}}},
                 .sealed = true});
  store(sealed);
  const Json error{{"code", "card.refused"}, {"msg", "(sealed)"}};
  EXPECT_EQ(item(1)["sealed"], true);
  EXPECT_EQ(item(1)["error"], error);
  const Json whole = answer(one(1));
  for (const char* const key : {"input", "data", "output"})
    EXPECT_EQ(whole[key], "(sealed)") << key;
  const Json record = answer(history(1))["items"][0];
  EXPECT_EQ(record["detail"], error);
  EXPECT_EQ(record["data"], "(sealed)");
}

TEST_F(InstanceQueriesTest, ListADamagedInstanceAtItsPlaceInTheOrder) {
  store_four();
  damage(Table::kLive, head_key(waiting_instance(waits, 3)));
  damage(Table::kEnded, head_key(waiting_instance(waits, 2)));
  EXPECT_THAT(numbers({}), ElementsAre(4, 3, 2, 1));
  for (const uint8_t number : {2, 3}) {
    const Json shown = item(number);
    EXPECT_EQ(shown["status"], "damaged");
    EXPECT_THAT(shown["damage"].get<std::string>(), HasSubstr(to_string(numbered_id(number))));
  }
  EXPECT_THAT(numbers({.limit = 1, .cursor = to_string(numbered_id(4))}), ElementsAre(3));
  EXPECT_EQ(answer(list({.limit = 2}))["next"], to_string(numbered_id(3)));
}

TEST_F(InstanceQueriesTest, LeaveOutDamagedInstancesIfAFilterIsSet) {
  store_four();
  damage(Table::kLive, head_key(waiting_instance(waits, 3)));
  EXPECT_THAT(numbers({.workflow = "waits"}), ElementsAre(2, 1));
  EXPECT_THAT(numbers({.statuses = {InstanceStatus::kWaiting}}), ElementsAre(1));
}

TEST_F(InstanceQueriesTest, ListAnInstanceAsDamagedIfItDoesNotFitItsDefinition) {
  Instance elsewhere = waiting_instance(waits, 1);
  elsewhere.state = 1;
  store(elsewhere);
  store(waiting_instance(pays, 2));
  drop(Table::kDefinitions, definition_key({pays, 1}));
  EXPECT_EQ(item(1)["status"], "damaged");
  EXPECT_THAT(item(1)["damage"].get<std::string>(),
              HasSubstr("a state that its workflow does not have"));
  EXPECT_EQ(item(2)["status"], "damaged");
  EXPECT_THAT(item(2)["damage"].get<std::string>(), HasSubstr("missing"));
  EXPECT_EQ(outcome(one(1)), kDamagedRow);
  EXPECT_EQ(outcome(one(2)), kDamagedRow);
}

// One instance.

TEST_F(InstanceQueriesTest, ShowALiveInstanceWithItsDataAndItsInput) {
  Instance live = waiting_instance(waits, 1);
  live.data = Json{{"paid", true}};
  live.attempt = 3;
  store(live);
  Json expected = item(1);
  expected["input"] = {{"number", 1}};
  expected["data"] = {{"paid", true}};
  expected["attempt"] = 3;
  expected["transitions"] = 0;
  EXPECT_EQ(answer(one(1)), expected);
}

TEST_F(InstanceQueriesTest, ShowAnEndedInstanceWithItsOutput) {
  Instance complete = ended(waiting_instance(waits, 1), InstanceStatus::kComplete);
  complete.data = Json{{"paid", true}};
  store(complete);
  Json expected = item(1);
  expected["input"] = {{"number", 1}};
  expected["data"] = expected["output"] = {{"paid", true}};
  expected["attempt"] = 1;
  expected["transitions"] = 0;
  EXPECT_EQ(answer(one(1)), expected);
}

TEST_F(InstanceQueriesTest, ShowTheAttemptOfTheFailedStateOfAnEndedInstance) {
  Instance failed = ended(waiting_instance(waits, 1), InstanceStatus::kFailed);
  failed.failed_attempt = 4;
  store(failed);
  EXPECT_EQ(answer(one(1))["attempt"], 4);
  Instance going_on = waiting_instance(waits, 2);
  going_on.failed_attempt = 4;
  store(going_on);
  EXPECT_EQ(answer(one(2))["attempt"], 1) << "the instance has not ended";
}

TEST_F(InstanceQueriesTest, ShowWhyALiveInstanceDoesNotFitItsState) {
  Instance live = waiting_instance(waits, 1);
  live.listeners = {{.entry = 5, .filter = {.type = "paid"}}};
  store(live);
  const Json shown = answer(one(1));
  EXPECT_THAT(shown["damage"].get<std::string>(), HasSubstr("the instance listens for event 5"));
  EXPECT_EQ(shown["data"], (Json{{"number", 1}}));
  store(ended(waiting_instance(waits, 2), InstanceStatus::kComplete));
  EXPECT_FALSE(answer(one(2)).contains("damage"));
}

TEST_F(InstanceQueriesTest, CheckTimersAgainstTheEngineTimeOfTheStore) {
  Instance live = waiting_instance(waits, 1);
  live.timers = {{TimerKind::kKill, start + std::chrono::years(250)}};
  store(live);
  EXPECT_TRUE(answer(one(1)).contains("damage"));
  write_engine_time(*tx, start + std::chrono::years(100));
  commit();
  EXPECT_FALSE(answer(one(1)).contains("damage"));
}

TEST_F(InstanceQueriesTest, FailOnADamagedRowOfTheInstance) {
  const Instance live = waiting_instance(waits, 1);
  std::string key = head_key(live);
  for (const Part part : {Part::kData, Part::kInput, Part::kHead}) {
    store(live);
    key.back() = static_cast<char>(part);
    damage(Table::kLive, key);
    EXPECT_EQ(outcome(one(1)), kDamagedRow);
    EXPECT_EQ(outcome(history(1)), kDamagedRow);
  }
}

// The calls of an instance.

TEST_F(InstanceQueriesTest, ShowTheStatusOfEachCall) {
  struct Row {
    const char* status;
    Call call;
  };
  using Status = Call::Status;
  const InstanceId task = numbered_id(77);
  const Row rows[] = {
      {"queued", {.status = Status::kQueued}},
      {"scheduled", {.status = Status::kRunning, .attempt = 1, .outside = true}},
      {"running", {.status = Status::kRunning, .attempt = 1, .started = true}},
      {"running", {.status = Status::kRunning, .attempt = 1, .id = task, .outside = true}},
      {"retrying", {.status = Status::kBetween, .attempt = 1, .retry_at = start}},
      {"complete", {.status = Status::kDone, .attempt = 1}},
      {"failed", {.status = Status::kFailed, .attempt = 1}},
  };
  started.add(task);
  for (const Row& row : rows) {
    Instance instance = paying(1);
    instance.calls[1] = row.call;
    store(instance);
    const Json shown = answer(one(1));
    EXPECT_EQ(shown["calls"].size(), 3U);
    EXPECT_EQ(shown["calls"][1]["status"], row.status);
    EXPECT_FALSE(shown.contains("damage")) << shown;
  }
}

TEST_F(InstanceQueriesTest, NameTheTaskOrTheInstanceOfTheLatestAttemptOfACall) {
  Instance instance = paying(1);
  instance.calls[0] = {.status = Call::Status::kRunning, .attempt = 2, .id = numbered_id(70)};
  instance.calls[1] = {
      .status = Call::Status::kDone, .attempt = 5, .id = numbered_id(71), .outside = true};
  store(instance);
  EXPECT_EQ(answer(one(1))["calls"], Json::parse(R"([
    {"function": "charge", "status": "scheduled", "attempt": 2,
     "instance": "00000000-0000-0000-0000-000000000046"},
    {"function": "charge", "status": "complete", "attempt": 5,
     "task": "00000000-0000-0000-0000-000000000047"},
    {"function": "charge", "status": "queued", "attempt": 0}])"));
  EXPECT_EQ(answer(one(1))["attempt"], 5) << "the highest attempt of all calls";
}

TEST_F(InstanceQueriesTest, ShowTheDeadlinesOfCallsAndTheEarliestDeadlineOfTheInstance) {
  Instance instance = paying(1);
  instance.timers = {{TimerKind::kKill, start + seconds(9)}};
  instance.calls[0] = {.status = Call::Status::kRunning, .attempt = 1};
  instance.calls[0].deadlines[static_cast<size_t>(TimeoutKind::kScheduleToClose)] =
      start + seconds(8);
  instance.calls[0].deadlines[static_cast<size_t>(TimeoutKind::kStartToClose)] = start + seconds(7);
  instance.calls[1] = {
      .status = Call::Status::kBetween, .attempt = 1, .retry_at = start + seconds(3)};
  instance.calls[2] = {
      .status = Call::Status::kBetween, .attempt = 1, .retry_at = start + seconds(2)};
  store(instance);
  const Json shown = answer(one(1));
  EXPECT_EQ(shown["calls"][0]["deadlines"],
            (Json{{"scheduleToClose", format_rfc3339(start + seconds(8))},
                  {"startToClose", format_rfc3339(start + seconds(7))}}));
  EXPECT_EQ(shown["calls"][1]["nextRetryAt"], format_rfc3339(start + seconds(3)));
  EXPECT_EQ(shown["nextRetryAt"], format_rfc3339(start + seconds(2)));
  EXPECT_EQ(shown["deadline"], format_rfc3339(start + seconds(7)));
  EXPECT_EQ(item(1)["deadline"], format_rfc3339(start + seconds(9)))
      << "a list has no deadline of a call";
}

TEST_F(InstanceQueriesTest, ShowTheLatestErrorOfACall) {
  const CallFailure failure{.error = {"card.refused", "4711"}, .at = start};
  Instance instance = paying(1);
  for (Call& call : instance.calls) {
    call = {.status = Call::Status::kFailed, .attempt = 1, .last_error = failure};
  }
  instance.calls[1].sealed = true;
  instance.calls[2].last_error.reset();
  store(instance);
  const Json calls = answer(one(1))["calls"];
  Json expected{{"code", "card.refused"}, {"message", "4711"}, {"at", "2023-11-14T22:13:20.000Z"}};
  EXPECT_EQ(calls[0]["lastError"], expected);
  expected["message"] = "(sealed)";
  EXPECT_EQ(calls[1]["lastError"], expected);
  EXPECT_FALSE(calls[2].contains("lastError"));
}

TEST_F(InstanceQueriesTest, FailWhenAReadFails) {
  store_four();
  Instance instance = paying(5);
  instance.last_history = 1;
  write_history(*tx, 1,
                {.ns = ns,
                 .instance = instance.id,
                 .records = {{.time = start, .kind = HistoryKind::kStarted}}});
  store(instance);
  for (const Ask& query : {list({}), list({.limit = 2}), list({.workflow = "waits"}),
                           list({.cursor = to_string(numbered_id(4))}), one(1), one(2), one(5),
                           history(2), history(5)}) {
    expect_each_read_to_count(query);
  }
}

}  // namespace
}  // namespace millrace
