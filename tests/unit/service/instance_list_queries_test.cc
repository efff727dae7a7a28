// Lists of instances: each condition of a filter, the order, and the bounds of a page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "tests/unit/service/definitions.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class InstanceListQueriesTest : public QueryTest {
 protected:
  using enum InstanceStatus;
  static constexpr const char* kTwoSteps = R"(
id: two-steps
states:
- {id: first, type: consumeEvent, event: {type: paid}, transition: second}
- {id: second, type: consumeEvent, event: {type: sent}}
)";

  InstanceListQueriesTest() : waits(apply(kWaits)), two_steps(apply(kTwoSteps)) {}

  Json list(const InstanceFilter& filter) {
    return answer([&](Queries& queries, const View& view) {
      return queries.instances(view, "default", filter);
    });
  }
  std::string list_outcome(const InstanceFilter& filter) {
    return outcome([&](Queries& queries, const View& view) {
      return queries.instances(view, "default", filter);
    });
  }
  /// The numbers of the listed instances.
  std::vector<int> numbers(const InstanceFilter& filter) {
    std::vector<int> found;
    const Json page = list(filter);
    for (const Json& item : page["items"]) {
      found.push_back(parse_instance_id(item["id"].get<std::string>())->bytes.back());
    }
    return found;
  }
  /// The numbers on each page of a list, and at the end of a page that is not complete a 0.
  std::vector<std::vector<int>> pages_of(InstanceFilter filter) {
    std::vector<std::vector<int>> all;
    do {
      const Json page = list(filter);
      all.emplace_back();
      for (const Json& item : page["items"]) {
        all.back().push_back(parse_instance_id(item["id"].get<std::string>())->bytes.back());
      }
      filter.cursor = page["next"].is_string() ? page["next"].get<std::string>() : "";
    } while (!filter.cursor.empty() && all.size() < 100);
    return all;
  }
  void give_key(WorkflowNumber workflow, const std::string& key, uint8_t number) {
    write_idempotency(*tx, workflow, key, {.instance = numbered_id(number)});
    Instance instance = waiting_instance(workflow, number);
    instance.idempotency_key = key;
    store(instance);
  }

  const TimePoint start = now;
  const WorkflowNumber waits;
  const WorkflowNumber two_steps;
};

TEST_F(InstanceListQueriesTest, AreInBothOrdersOfTheIds) {
  for (const uint8_t number : {1, 2, 3, 4, 5}) store(waiting_instance(waits, number));
  EXPECT_THAT(pages_of({.limit = 2}),
              ElementsAre(ElementsAre(5, 4), ElementsAre(3, 2), ElementsAre(1)));
  EXPECT_THAT(pages_of({.oldest_first = true, .limit = 2}),
              ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(5)));
  EXPECT_THAT(pages_of({.statuses = {kWaiting}, .oldest_first = true, .limit = 3}),
              ElementsAre(ElementsAre(1, 2, 3), ElementsAre(4, 5)));
}

TEST_F(InstanceListQueriesTest, HaveTheInstancesThatStartedBeforeATime) {
  for (const uint8_t number : {1, 2, 3}) {
    store(waiting_instance(waits, number));
    now += minutes(1);
  }
  EXPECT_THAT(numbers({.until = start}), IsEmpty());
  EXPECT_THAT(numbers({.until = start + milliseconds(1)}), ElementsAre(1));
  EXPECT_THAT(numbers({.until = start + minutes(2)}), ElementsAre(2, 1));
  EXPECT_THAT(numbers({.since = start + minutes(1), .until = start + minutes(2)}), ElementsAre(2));
  EXPECT_THAT(numbers({.statuses = {kWaiting}, .until = start + minutes(2), .oldest_first = true}),
              ElementsAre(1, 2));
}

TEST_F(InstanceListQueriesTest, HaveTheInstancesThatEndedBetweenTwoTimes) {
  store(waiting_instance(waits, 1));
  for (const uint8_t number : {2, 3, 4}) {
    Instance ended = waiting_instance(waits, number);
    ended.status = number == 3 ? kComplete : kFailed;
    ended.phase = Phase::kEnded;
    ended.ended_at = now + minutes(10 * number);
    store(ended);
    now += minutes(1);
  }
  const TimePoint first = start + minutes(20);  // the end of 2; 3 ended after 31 minutes
  const TimePoint last = start + minutes(42);   // the end of 4
  EXPECT_THAT(numbers({.ended_since = first}), ElementsAre(4, 3, 2)) << "not the live one";
  EXPECT_THAT(numbers({.ended_since = first + milliseconds(1)}), ElementsAre(4, 3));
  EXPECT_THAT(numbers({.ended_until = last}), ElementsAre(3, 2));
  EXPECT_THAT(numbers({.ended_until = last + milliseconds(1)}), ElementsAre(4, 3, 2));
  EXPECT_THAT(numbers({.ended_since = first + milliseconds(1), .ended_until = last}),
              ElementsAre(3));
  EXPECT_THAT(numbers({.statuses = {kFailed, kWaiting}, .ended_since = first}), ElementsAre(4, 2));
  EXPECT_THAT(numbers({.statuses = {kWaiting}, .ended_since = first}), IsEmpty());
  EXPECT_THAT(numbers({.since = start + minutes(1), .ended_until = last}), ElementsAre(3));
  EXPECT_THAT(numbers({.ended_until = start}), IsEmpty());
}

TEST_F(InstanceListQueriesTest, ReadOnlyTheInstancesThatCanHaveStartedInTime) {
  for (const uint8_t number : {1, 2, 3}) {
    Instance instance = waiting_instance(waits, number);
    instance.started_at = now + minutes(number);
    instance.id = make_instance_id(instance.started_at, {0, 0, 0, 0, 0, 0, 0, 0, 0, number});
    instance.status = kFailed;
    instance.phase = Phase::kEnded;
    instance.ended_at = instance.started_at + minutes(1);
    store(instance);
  }
  const Json page = list({.since = now + minutes(2), .until = now + minutes(3)});
  EXPECT_EQ(page["items"].size(), 1U);
  EXPECT_EQ(page["looked"], 1) << "their ids have the time of their start";
  EXPECT_EQ(list({.ended_until = now + minutes(2)})["looked"], 1)
      << "what has ended before then started before then";
}

TEST_F(InstanceListQueriesTest, HaveTheInstancesWhoseIdBeginsWithAText) {
  for (const uint8_t number : {0x0f, 0x10, 0x1f, 0x20}) store(waiting_instance(waits, number));
  EXPECT_THAT(numbers({.id = "00000000-0000-0000-0000-00000000001"}), ElementsAre(0x1f, 0x10));
  EXPECT_THAT(numbers({.id = "00000000-0000-0000-0000-00000000001F"}), ElementsAre(0x1f));
  EXPECT_THAT(numbers({.id = "1"}), IsEmpty());
  EXPECT_EQ(list({.id = "00000000-0000-0000-0000-00000000001"})["looked"], 2);
  EXPECT_EQ(list_outcome({.id = "order"}), "id.malformed");
}

TEST_F(InstanceListQueriesTest, HaveTheInstancesOfAnIdempotencyKey) {
  give_key(waits, "o-1", 1);
  give_key(two_steps, "o-1", 2);
  give_key(waits, "o-2", 3);
  EXPECT_THAT(numbers({.key = "o-1"}), ElementsAre(2, 1));
  EXPECT_THAT(numbers({.key = "o-1", .oldest_first = true}), ElementsAre(1, 2));
  EXPECT_THAT(numbers({.workflow = "waits", .key = "o-1"}), ElementsAre(1));
  EXPECT_THAT(numbers({.statuses = {kFailed}, .key = "o-1"}), IsEmpty());
  EXPECT_THAT(numbers({.key = "o-3"}), IsEmpty());
  EXPECT_THAT(numbers({.key = std::string(1'000, 'o')}), IsEmpty());
  EXPECT_THAT(pages_of({.key = "o-1", .limit = 1}), ElementsAre(ElementsAre(2), ElementsAre(1)));
  EXPECT_EQ(list({.key = "o-1"})["looked"], 2) << "the other instance is not read";
  EXPECT_EQ(list_outcome({.workflow = "none", .key = "o-1"}), "workflow.not_found");
}

TEST_F(InstanceListQueriesTest, DoNotConfirmAKeyThatIsNotShown) {
  give_key(waits, "o-1", 1);
  Instance instance = waiting_instance(waits, 1);
  instance.idempotency_key = "o-1";
  instance.sealed = true;
  store(instance);
  const Json hidden = list({.key = "o-1"});
  EXPECT_EQ(hidden, list({.key = "o-2"})) << "as for a key that no instance has";
  EXPECT_EQ(hidden["looked"], 0);
}

TEST_F(InstanceListQueriesTest, EndTheSearchForAKeyAfterATime) {
  give_key(waits, "o-1", 1);
  give_key(two_steps, "o-1", 2);
  clock.let_looks_take(milliseconds(50));
  const Json page = list({.key = "o-1"});
  EXPECT_EQ(page["items"].size(), 1U);
  EXPECT_EQ(page["complete"], false);
  EXPECT_EQ(page["next"], nullptr);
}

TEST_F(InstanceListQueriesTest, HaveTheInstancesOfACorrelation) {
  Instance correlated = waiting_instance(waits, 1);
  correlated.correlation = "c-1";
  store(correlated);
  store(waiting_instance(waits, 2));
  EXPECT_THAT(numbers({.correlation = "c-1"}), ElementsAre(1));
  EXPECT_THAT(numbers({.correlation = "c-2"}), IsEmpty());
  correlated.sealed = true;
  store(correlated);
  EXPECT_THAT(numbers({.correlation = "c-1"}), IsEmpty()) << "its data is not shown";
}

TEST_F(InstanceListQueriesTest, HaveTheChildrenOfAnInstance) {
  const auto add = [&](uint8_t number, TimePoint time, std::optional<InstanceId> parent) {
    Instance instance = waiting_instance(waits, number);
    instance.id = make_instance_id(time, {0, 0, 0, 0, 0, 0, 0, 0, 0, number});
    instance.started_at = time;
    if (parent) instance.caller = Caller{.instance = *parent};
    store(instance);
    return instance.id;
  };
  add(1, now - minutes(1), {});
  const InstanceId parent = add(2, now, {});
  add(3, now + seconds(1), parent);
  add(4, now + seconds(2), numbered_id(9));
  add(5, now + seconds(3), parent);
  EXPECT_THAT(numbers({.parent = parent}), ElementsAre(5, 3));
  EXPECT_EQ(list({.parent = parent})["looked"], 4) << "no child is older than its parent";
  EXPECT_THAT(numbers({.parent = numbered_id(9)}), ElementsAre(4)) << "the parent does not exist";
  EXPECT_THAT(numbers({.parent = numbered_id(8)}), IsEmpty());
}

TEST_F(InstanceListQueriesTest, HaveTheInstancesInAState) {
  Instance later = waiting_instance(two_steps, 1);
  later.state = 1;
  store(later);
  store(waiting_instance(two_steps, 2));
  store(waiting_instance(waits, 3));
  EXPECT_THAT(numbers({.state = "second"}), ElementsAre(1));
  EXPECT_THAT(numbers({.workflow = "two-steps", .state = "first"}), ElementsAre(2));
  EXPECT_THAT(numbers({.workflow = "waits", .state = "first"}), IsEmpty());
  store(ended(waiting_instance(waits, 4), kComplete));
  EXPECT_THAT(numbers({.state = "wait"}), ElementsAre(4, 3));
  EXPECT_THAT(numbers({.statuses = {kComplete, kFailed}, .state = "wait"}), ElementsAre(4));
  EXPECT_EQ(list({.state = "second"})["looked"], 3) << "no complete instance is in this state";
  EXPECT_EQ(list({.statuses = {kComplete}, .state = "second"})["looked"], 0);
  EXPECT_EQ(list({.state = "third"})["looked"], 0);
  damage(Table::kCounts,
         count_key({.ns = ns, .revision = {waits, 1}, .state = 0, .status = kComplete}));
  EXPECT_THAT(numbers({.state = "second"}), ElementsAre(1)) << "without the counts";
  request_index_build(*tx);
  commit();
  EXPECT_THAT(numbers({.state = "second"}), ElementsAre(1)) << "without the index";
}

TEST_F(InstanceListQueriesTest, HaveTheInstancesWhoseErrorCodeMatches) {
  const char* const codes[] = {"card.declined", "card.expired", "stock.empty"};
  for (uint8_t number = 1; number <= 3; ++number) {
    Instance instance = ended(waiting_instance(waits, number), kFailed);
    instance.error = Error{codes[number - 1], "no"};
    store(instance);
  }
  store(waiting_instance(waits, 4));
  EXPECT_THAT(numbers({.error = "card.*"}), ElementsAre(2, 1));
  EXPECT_THAT(numbers({.error = "stock.empty"}), ElementsAre(3));
  EXPECT_THAT(numbers({.error = "stock"}), IsEmpty());
  EXPECT_THAT(numbers({.statuses = {kFailed}, .error = "*"}), ElementsAre(3, 2, 1));
}

TEST_F(InstanceListQueriesTest, HaveTheInstancesWithATrait) {
  using enum InstanceTrait;
  Instance retries = waiting_instance(waits, 1);
  retries.timers = {{TimerKind::kRetry, now + seconds(1)}};
  store(retries);
  Instance retries_later = waiting_instance(waits, 2);
  retries_later.held_timers = {{TimerKind::kRetry, now + seconds(1)}};
  store(retries_later);
  Instance calls = waiting_instance(waits, 3);
  calls.calls.resize(2);
  calls.timers = {{TimerKind::kCalls, now + seconds(1)}};
  store(calls);
  Instance call_retries = calls;
  call_retries.id = numbered_id(4);
  call_retries.calls[1].status = Call::Status::kBetween;
  store(call_retries);
  Instance bounded = waiting_instance(waits, 5);
  bounded.timers = {{TimerKind::kKill, now + seconds(1)}};
  store(bounded);
  Instance over = ended(bounded, kFailed);
  over.id = numbered_id(6);
  store(over);
  EXPECT_THAT(numbers({.traits = {kRetrying}}), ElementsAre(4, 2, 1));
  EXPECT_THAT(numbers({.traits = {kCalls}}), ElementsAre(4, 3));
  EXPECT_THAT(numbers({.traits = {kCalls, kRetrying}}), ElementsAre(4));
  EXPECT_THAT(numbers({.traits = {kDeadline}}), ElementsAre(5));
  EXPECT_THAT(numbers({.statuses = {kFailed, kWaiting}, .traits = {kDeadline}}), ElementsAre(5));
  const Json none = list({.statuses = {kFailed}, .traits = {kDeadline}});
  EXPECT_EQ(none,
            (Json{{"items", Json::array()}, {"next", nullptr}, {"complete", true}, {"looked", 0}}));
  over.id = numbered_id(7);
  over.compensations = 2;
  store(over);
  bounded.id = numbered_id(8);
  bounded.compensations = 1;
  store(bounded);
  EXPECT_THAT(numbers({.traits = {kCompensations}}), ElementsAre(8, 7));
  EXPECT_THAT(numbers({.statuses = {kFailed}, .traits = {kCompensations}}), ElementsAre(7));
  EXPECT_THAT(numbers({.traits = {kCompensations, kDeadline}}), ElementsAre(8));
}

TEST_F(InstanceListQueriesTest, HaveTheLiveInstancesThatWaitForAType) {
  const auto waits_for = [](Instance instance, const std::vector<std::string>& types) {
    for (const std::string& type : types) {
      instance.listeners.push_back(
          {.entry = static_cast<uint32_t>(instance.listeners.size()), .filter = {.type = type}});
    }
    return instance;
  };
  store(waits_for(waiting_instance(waits, 1), {"paid"}));
  store(waits_for(waiting_instance(two_steps, 2), {"sent", "paid"}));
  store(waits_for(waiting_instance(waits, 3), {"paid.late"}));
  Instance paused = waits_for(waiting_instance(waits, 4), {"paid"});
  paused.status = kPaused;
  paused.paused = true;
  store(paused);
  store(ended(waiting_instance(waits, 5), kComplete));
  store(waiting_instance(waits, 6));
  EXPECT_THAT(numbers({.waits_for = "paid"}), ElementsAre(4, 2, 1));
  EXPECT_THAT(numbers({.workflow = "waits", .waits_for = "paid"}), ElementsAre(4, 1));
  EXPECT_THAT(numbers({.statuses = {kWaiting}, .waits_for = "paid", .oldest_first = true}),
              ElementsAre(1, 2));
  EXPECT_THAT(numbers({.waits_for = "Paid"}), IsEmpty());
  EXPECT_THAT(pages_of({.waits_for = "paid", .limit = 2}),
              ElementsAre(ElementsAre(4, 2), ElementsAre(1)));
  EXPECT_EQ(list({.waits_for = "none"})["looked"], 5) << "an ended instance waits for nothing";
  EXPECT_EQ(list({.statuses = {kComplete}, .waits_for = "paid"})["looked"], 0);
  const Json page = list({.waits_for = "sent"});
  ASSERT_EQ(page["items"].size(), 1U);
  EXPECT_EQ(page["items"][0]["waits"], Json::parse(R"([{"type": "sent", "context": {}},
                                                      {"type": "paid", "context": {}}])"));
  EXPECT_FALSE(list({.statuses = {kComplete}})["items"][0].contains("waits"));
  clock.let_looks_take(milliseconds(25));
  EXPECT_THAT(pages_of({.waits_for = "none"}), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
}

TEST_F(InstanceListQueriesTest, SayHowManyInstancesWereReadForAPage) {
  for (const uint8_t number : {1, 2, 3}) store(waiting_instance(waits, number));
  store(ended(waiting_instance(waits, 4), kFailed));
  const Json all = list({});
  EXPECT_EQ(all["looked"], 4);
  EXPECT_EQ(all["complete"], true);
  EXPECT_EQ(list({.statuses = {kFailed}})["looked"], 1);
  EXPECT_EQ(list({.correlation = "c-1"})["looked"], 4);
  const Json first = list({.limit = 2});
  EXPECT_EQ(first["complete"], true) << "its limit ends the page";
  EXPECT_TRUE(first["next"].is_string());
}

TEST_F(InstanceListQueriesTest, EndAPageAfterATimeAndContinueBehindIt) {
  for (const uint8_t number : {1, 2, 3, 4, 5}) store(waiting_instance(waits, number));
  clock.let_looks_take(milliseconds(25));
  // The time is read when the walk begins, and from the second instance on before each one.
  EXPECT_THAT(pages_of({}), ElementsAre(ElementsAre(5, 4), ElementsAre(3, 2), ElementsAre(1)));
  EXPECT_THAT(pages_of({.statuses = {kWaiting}, .oldest_first = true}),
              ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(5)));
  EXPECT_THAT(pages_of({.correlation = "c-1"}), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
  const Json cut = list({});
  EXPECT_TRUE(cut["next"].is_string());
  EXPECT_EQ(cut["complete"], true) << "the next page goes on";
}

TEST_F(InstanceListQueriesTest, ListDamagedInstancesOnlyIfNoConditionNeedsTheirHeads) {
  for (const uint8_t number : {1, 2}) store(waiting_instance(waits, number));
  damage(Table::kLive, head_key(waiting_instance(waits, 1)));
  EXPECT_THAT(numbers({}), ElementsAre(2, 1));
  EXPECT_THAT(numbers({.id = "0"}), ElementsAre(2, 1));
  EXPECT_THAT(numbers({.state = "wait"}), ElementsAre(2));
  EXPECT_THAT(numbers({.traits = {InstanceTrait::kCalls}}), IsEmpty());
  drop(Table::kDefinitions, definition_key({waits, 1}));
  EXPECT_THAT(numbers({.state = "wait"}), IsEmpty()) << "the names of its states are not known";
}

TEST_F(InstanceListQueriesTest, FailWhenAReadFails) {
  give_key(waits, "o-1", 1);
  Instance calls = waiting_instance(waits, 2);
  calls.calls.resize(2);
  calls.timers = {{TimerKind::kCalls, now + seconds(1)}};
  store(calls);
  const InstanceFilter filters[] = {
      {.since = start, .until = now + minutes(1), .state = "wait"},
      {.key = "o-1"},
      {.parent = numbered_id(1)},
      {.workflow = "waits", .traits = {InstanceTrait::kRetrying}, .oldest_first = true},
  };
  for (const InstanceFilter& filter : filters) {
    expect_each_read_to_count([&](Queries& queries, const View& view) {
      return queries.instances(view, "default", filter);
    });
  }
}

}  // namespace
}  // namespace millrace
