// The store check compares an instance with its history: its start, its runs, its error, its times
// and its flags.
#include <algorithm>

#include "orchestrator/batch/input.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

constexpr const char* kWaitsTwice = R"(
id: twice
states:
- {id: first, type: consumeEvent, event: {type: one}, transition: second}
- {id: second, type: consumeEvent, event: {type: two}}
)";
constexpr const char* kWaitsForEvent = R"(
id: waits
start: {type: event, event: {type: begin}}
states:
- {id: wait, type: consumeEvent, event: {type: go}}
)";
constexpr const char* kFails = "id: fails\nstates: [{id: a, type: error, error: e, message: m}]";
constexpr const char* kFailsAgain = R"(
id: again
states:
- {id: a, type: error, error: e, message: m}
retries: {maximumAttempts: 3, initialInterval: PT1H}
)";

constexpr const char* kCleansUp = R"(
id: cleans
on_failure: {state: tidy, when: any}
states:
- {id: try, type: noop, transform: .from.b}
- {id: tidy, type: delay, duration: PT1H}
)";
constexpr const char* kGoesOnWithAnError = R"(
id: goes
on_failure: {state: tidy, when: any}
states:
- {id: a, type: error, error: e, message: m, transition: b}
- {id: b, type: delay, duration: PT1H}
- {id: tidy, type: noop}
)";

class CheckStoryTest : public CheckTest {
 protected:
  Change head(const InstanceId& id, const std::function<void(Instance&)>& change,
              Table table = Table::kLive) {
    return [=, this](Transaction&) { edit_head(id, change, table); };
  }
  /// Changes the detail of the latest record of that kind in a history row.
  Change detail(uint64_t row, HistoryKind kind, const Json& changed) {
    return [=, this](Transaction&) {
      edit_history(row, [&](HistoryRow& one) {
        const auto found =
            std::find_if(one.records.rbegin(), one.records.rend(),
                         [&](const HistoryRecord& record) { return record.kind == kind; });
        ASSERT_NE(found, one.records.rend());
        found->detail = changed;
      });
    };
  }
  Instance live(const InstanceId& id) const { return *read_live(*tx, ns, id).value(); }
  /// The id of the only live instance.
  InstanceId only_live() const {
    InstanceId found;
    EXPECT_TRUE(each_live(*tx, ns, std::nullopt, [&](const Instance& head) {
      found = head.id;
      return true;
    }));
    return found;
  }
  static std::string at(const InstanceId& id, const char* table = "live") {
    return fmt::format("{}/default/{} head: ", table, to_string(id));
  }
};

TEST_F(CheckStoryTest, ChecksTheRunsThatTheHistoryBegan) {
  define(kFailsAgain);
  const InstanceId id = start("again");
  now = live(id).timers.front().deadline;
  run(TimerInput{
      .deadline = now,
      .owner = TimerInput::OfInstance{.ns = ns, .instance = id, .kind = TimerKind::kRetry}});
  const Instance second = live(id);
  ASSERT_EQ(second.run, 2U);
  expect_sound();
  expect_only(fmt::format("row.value history/{}: a record begins run 7, but 0 runs follow and the "
                          "instance is in run 2",
                          second.last_history),
              detail(second.last_history, HistoryKind::kRun, {{"run", 7}}));
  expect_only("row.value " + at(id) + "the policy counts from run 2, but no operator began this",
              head(id, [](Instance& one) { one.first_run = 2; }));
  expect_only(fmt::format("row.value history/{}: by a record run 9 comes next, but 0 runs follow",
                          second.last_history),
              detail(second.last_history, HistoryKind::kRetrying,
                     {{"run", 9}, {"at", format_rfc3339(second.timers.front().deadline)}}));
  expect_only("row.value " + at(id) + "the state is in attempt 3, but by the history the highest",
              head(id, [](Instance& one) { one.attempt = 3; }));
}

TEST_F(CheckStoryTest, RequiresARecordOfTheErrorThatAnInstanceEndedWith) {
  define(kFails);
  const InstanceId id = start("fails");
  expect_sound();
  expect_only(
      "instance.status " + at(id, "ended") +
          "no record of the history has the error of the head, with the code e and the same "
          "message",
      head(
          id, [](Instance& one) { one.error->message = "other"; }, Table::kEnded));
  expect_only("row.value " + at(id, "ended") + "the failed state was in attempt 2",
              head(
                  id, [](Instance& one) { one.failed_attempt = 2; }, Table::kEnded));
}

TEST_F(CheckStoryTest, ChecksWhetherAnInstanceWithAnErrorHasFailed) {
  define(kCleansUp);
  define(kGoesOnWithAnError);
  const InstanceId fails = start("cleans");
  const InstanceId goes_on = start("goes");
  ASSERT_TRUE(live(fails).failing);
  ASSERT_TRUE(live(goes_on).error);
  expect_sound();
  expect_only("instance.status " + at(fails) +
                  "the instance continues after an error that no Error state has set, but the flag",
              head(fails, [](Instance& one) { one.failing = false; }));
  expect_only("instance.status " + at(goes_on) +
                  "the flag `failing` (2) is set, but the run has not entered `on_failure`",
              head(goes_on, [](Instance& one) { one.failing = true; }));
}

TEST_F(CheckStoryTest, ChecksTheTimesOfARunThatAnOperatorBegan) {
  define(kWaitsForEvent);
  const InstanceId id = start("waits");
  run_command(CancelInstance{"default", id});
  now += std::chrono::seconds(1);
  run_command(RestartInstance{"default", id});
  expect_sound();
  const auto earlier = [&](TimePoint Instance::*field) {
    return head(id, [=](Instance& one) { one.*field -= Duration(1); });
  };
  expect_only("instance.status " + at(id) + "the start of the execution is at",
              earlier(&Instance::execution_from));
  expect_only("instance.status " + at(id) + "the scheduled time of the run from which its retries",
              earlier(&Instance::runs_from));
  expect_only("instance.status " + at(id) + "the entry into the state is at",
              earlier(&Instance::state_from));
  EXPECT_THAT(found_after(head(id,
                               [](Instance& one) {
                                 one.first_run = 1;
                                 one.runs_from = one.state_from = one.started_at;
                               })),
              testing::IsEmpty())
      << "as in a head that was written in a version before 5";
}

TEST_F(CheckStoryTest, ChecksTheDefinitionOfAStartByAnEvent) {
  define(kWaitsForEvent);
  publish({.id = "1", .source = "/s", .type = "begin"});
  const InstanceId id = only_live();
  const uint64_t row = live(id).last_history;
  expect_sound();
  expect_only(
      "by its history the instance was started by \"event\", but its definition does not "
      "start by an event of type other",
      detail(row, HistoryKind::kStarted,
             {{"by", "event"},
              {"event", {{"type", "other"}, {"source", "/s"}, {"id", "1"}}},
              {"revision", 1}}));
  expect_only("instance.state " + at(id) +
                  "the instance has revision 1, but by its history it "
                  "started with revision 2",
              detail(row, HistoryKind::kStarted,
                     {{"by", "event"},
                      {"event", {{"type", "begin"}, {"source", "/s"}, {"id", "1"}}},
                      {"revision", 2}}));
}

TEST_F(CheckStoryTest, AllowsHopsOnlyAfterAnEvent) {
  define(kWaitsTwice);
  const InstanceId id = start("twice");
  const auto hops = [](Instance& one) { one.hops = 3; };
  expect_only("instance.status " + at(id) +
                  "by its history the instance was started by \"call\", but the head has 3 hops",
              head(id, hops));
  publish({.id = "1", .source = "/s", .type = "one"});
  EXPECT_THAT(found_after(head(id, hops)), testing::IsEmpty()) << "an event woke the instance";
}

TEST_F(CheckStoryTest, RefusesACountOfErasedRecordsIfTheHistoryIsComplete) {
  define(kFails);
  define(kWaitsForEvent);
  const InstanceId fails = start("fails");
  const InstanceId waits = start("waits");
  const auto trimmed = [](Instance& one) {
    one.history_count += 5;
    one.history_trimmed = 5;
  };
  const std::string found = "the head counts 5 erased records, but the history still begins with";
  expect_only("history.count " + at(waits) + found, head(waits, trimmed));
  expect_only("history.count " + at(fails, "ended") + found, head(fails, trimmed, Table::kEnded));
  expect_among("no record of the history has the error of the head", head(
                                                                         fails,
                                                                         [&](Instance& one) {
                                                                           trimmed(one);
                                                                           one.error->message =
                                                                               "other";
                                                                         },
                                                                         Table::kEnded));
}

TEST_F(CheckStoryTest, ChecksTheFlagOfARetryOfAnEndedInstance) {
  define(kFails);
  const InstanceId id = start("fails");
  const auto retried = head(
      id, [](Instance& one) { one.retried = true; }, Table::kEnded);
  expect_only("instance.status " + at(id, "ended") + "the flag `retried` (16) is set, but no",
              retried);
  run_command(RetryInstance{"default", id});
  EXPECT_THAT(found_after(retried), testing::IsEmpty()) << "an operator retried the instance";
}

TEST_F(CheckStoryTest, ChecksWhenAnInstanceEnteredItsLastState) {
  define(kWaitsTwice);
  const InstanceId id = start("twice");
  const auto earlier = [](Instance& one) { one.state_from -= Duration(1); };
  now += std::chrono::seconds(1);
  publish({.id = "1", .source = "/s", .type = "one"});
  expect_sound();
  expect_only("instance.status " + at(id) + "the entry into the state is at", head(id, earlier));
  now += std::chrono::seconds(1);
  publish({.id = "2", .source = "/s", .type = "two"});
  expect_sound();
  expect_only("instance.status " + at(id, "ended") + "the entry into the state is at",
              head(id, earlier, Table::kEnded));
  now += std::chrono::seconds(1);
  start("twice");
  expect_only(
      "instance.status " + at(id, "ended") + "the entry into the state is at",
      head(
          id, [](Instance& one) { one.state_from = *one.ended_at + Duration(1); }, Table::kEnded));
}

TEST_F(CheckStoryTest, RefusesStream0AfterARecordWithAnotherStream) {
  define(kWaitsForEvent);
  publish({.id = "1", .source = "/s", .type = "begin"});
  const InstanceId id = only_live();
  const uint64_t row = live(id).last_history;
  ASSERT_EQ(live(id).listen_from.event.stream, 1U);
  const auto without_stream = head(id, [](Instance& one) { one.listen_from.event.stream = 0; });
  expect_only("row.value " + at(id) + "the position of listen-from has stream 0, but an earlier",
              without_stream);
  EXPECT_THAT(found_after([&](Transaction& in) {
                without_stream(in);
                edit_history(row, [](HistoryRow& one) {
                  for (HistoryRecord& record : one.records) record.event = {};
                });
              }),
              testing::IsEmpty())
      << "as in rows that an earlier format wrote";
}

TEST_F(CheckStoryTest, RefusesANumberThatWasAssignedAfterTheNewestRecord) {
  define(kWaitsForEvent);
  const InstanceId first = start("waits");
  now += std::chrono::seconds(1);
  const InstanceId second = start("waits");
  write_counter(*tx, Counter::kKeptEvents, 4);
  commit();
  const auto later = [](Instance& one) { one.listen_from.kept = 4; };
  expect_only("row.value " + at(first) + "the instance listens from kept event 4, but its newest",
              head(first, later));
  EXPECT_THAT(found_after(head(second, later)), testing::IsEmpty())
      << "no instance started after the second one";
}

TEST_F(CheckStoryTest, DoesNotCompareTheNumberWithAStartByAnEvent) {
  define(kWaitsForEvent);
  const InstanceId first = start("waits");
  now += std::chrono::seconds(1);
  publish({.id = "1", .source = "/s", .type = "begin"});
  write_counter(*tx, Counter::kKeptEvents, 4);
  commit();
  const auto later = head(first, [](Instance& one) { one.listen_from.kept = 4; });
  EXPECT_THAT(found_after(later), testing::IsEmpty())
      << "an event for many workflows starts some of them later, from its own number";
  start("waits");
  expect_only("row.value " + at(first) + "the instance listens from kept event 4, but its newest",
              later);
}

TEST_F(CheckStoryTest, RefusesASecondLiveInstanceIfEachRevisionIsSingular) {
  const std::string states = "\nstates: [{id: wait, type: consumeEvent, event: {type: go}}]";
  define("id: one" + states);
  start("one");
  const InstanceId second = start("one");
  define("id: one\nsingular: true" + states);
  expect_sound();
  const WorkflowNumber number = number_of("one");
  const auto make_singular = [&](Transaction& in) {
    write_definition(in, {number, 1}, *read_definition(in, {number, 2}).value());
  };
  expect_only("instance.status " + at(second) + "the instance is live, and instance",
              make_singular);
}

TEST_F(CheckStoryTest, RefusesANewestRecordThatEndsTheWait) {
  define(kWaitsForEvent);
  const InstanceId id = start("waits");
  const uint64_t row = live(id).last_history;
  const auto add_record = [&](HistoryKind kind, const Json& detail) -> Change {
    return [=, this](Transaction&) {
      edit_history(row, [&](HistoryRow& one) {
        one.records.push_back({.time = one.records.back().time,
                               .kind = kind,
                               .state = "wait",
                               .detail = LazyJson(detail)});
      });
      edit_head(id, [](Instance& one) { ++one.history_count; });
    };
  };
  const std::string at_head = "instance.status " + at(id);
  expect_only(at_head + "the instance waits in its state, but its newest record `woken`",
              add_record(HistoryKind::kWoken, {{"type", "go"}, {"source", "/s"}, {"id", "1"}}));
  expect_only(at_head + "the instance waits in its state, but its newest record `elapsed`",
              add_record(HistoryKind::kElapsed, nullptr));
  expect_only(
      at_head + "the instance waits in its state, but its newest record `retrying`",
      add_record(HistoryKind::kRetrying, {{"attempt", 2}, {"at", "2023-11-14T22:13:20.000Z"}}));
  expect_only(
      fmt::format("history.order history/{}: a record `resumed` follows a record `started`", row),
      add_record(HistoryKind::kResumed, nullptr));
}

TEST_F(CheckStoryTest, RequiresARecordOfTheEntryIntoTheStateOfAWait) {
  define(kWaitsForEvent);
  const InstanceId id = start("waits");
  expect_only("instance.state " + at(id) +
                  "the instance waits in state \"wait\", but its history has no record `entered`",
              [&](Transaction&) {
                uint64_t erased = 0;
                edit_history(live(id).last_history, [&](HistoryRow& row) {
                  erased = std::erase_if(row.records, [](const HistoryRecord& record) {
                    return record.kind == HistoryKind::kEntered;
                  });
                  row.with_input.clear();
                });
                edit_head(id, [&](Instance& one) { one.history_count -= erased; });
              });
}

TEST_F(CheckStoryTest, RequiresDataInTheRecordOfTheEntryOfAWaitAndInNoOtherKindOfRecord) {
  define(kWaitsForEvent);
  const InstanceId id = start("waits");
  const uint64_t row = live(id).last_history;
  const auto has_input = [&](const std::vector<size_t>& records) -> Change {
    return [=, this](Transaction&) {
      edit_history(row, [&](HistoryRow& one) {
        ASSERT_THAT(one.with_input, testing::ElementsAre(1)) << "the data equals the input";
        one.with_input = records;
      });
    };
  };
  expect_only("instance.parts " + at(id) +
                  "the instance waits in its state, but the record `entered` has no data",
              has_input({}));
  expect_only(fmt::format("row.value history/{}: a record `started` has data, but only", row),
              has_input({0, 1}));
}

TEST_F(CheckStoryTest, RequiresTransitionsAndAStepOfTheEntryAfterTheFirstState) {
  define(R"(
id: passes
states:
- {id: first, type: noop, transition: last}
- {id: last, type: noop}
)");
  const InstanceId ended = start("passes");
  define(R"(
id: thrice
states:
- {id: first, type: consumeEvent, event: {type: one}, transition: second}
- {id: second, type: consumeEvent, event: {type: two}, transition: third}
- {id: third, type: consumeEvent, event: {type: three}}
)");
  const InstanceId third = start("thrice");
  publish({.id = "1", .source = "/s", .type = "one"});
  publish({.id = "2", .source = "/s", .type = "two"});
  ASSERT_EQ(live(third).state, 2U);
  expect_sound();
  expect_only("row.value " + at(ended, "ended") +
                  "the instance is in state \"last\", which is not its first state, but made no",
              head(
                  ended, [](Instance& one) { one.transitions = 0; }, Table::kEnded));
  expect_only("row.value " + at(third) +
                  "the instance entered state \"third\" in step 0, but it had entered another",
              head(third, [](Instance& one) { one.entered = 0; }));
  EXPECT_THAT(found_after([&](Transaction& in) {
                head(third, [](Instance& one) {
                  one.entered = 0;
                  one.listen_from.event = {};
                })(in);
                for (uint64_t number = live(third).last_history; number != 0;) {
                  edit_history(number, [&](HistoryRow& row) {
                    for (HistoryRecord& record : row.records) record.event = {};
                    number = row.previous;
                  });
                }
              }),
              testing::IsEmpty())
      << "as in a head that was written in a version before 3";
}

TEST_F(CheckStoryTest, AllowsAWaitForMoreEventsAfterTheFirst) {
  define(R"(
id: both
states:
- {id: wait, type: eventAnd, events: [{type: one}, {type: two}]}
)");
  const InstanceId id = start("both");
  publish({.id = "1", .source = "/s", .type = "one"});
  ASSERT_EQ(live(id).phase, Phase::kWaiting);
  expect_sound();
}

TEST_F(CheckStoryTest, ChecksWhetherThePauseOfAnInstanceHasEnded) {
  define(kWaitsForEvent);
  const InstanceId id = start("waits");
  run_command(PauseInstance{"default", id});
  expect_sound();
  expect_only("the instance is not paused, but its history has a pause that has not ended",
              head(id, [](Instance& one) {
                one.paused = false;
                one.status = InstanceStatus::kWaiting;
              }));
  run_command(ResumeInstance{"default", id});
  expect_sound();
  expect_only("the instance is paused, but its history has no pause that has not ended",
              head(id, [](Instance& one) {
                one.paused = true;
                one.status = InstanceStatus::kPaused;
              }));
}

}  // namespace
}  // namespace millrace
