#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

constexpr const char* kWaitsHour = R"(
id: waits
states:
- {id: wait, type: consumeEvent, timeout: PT1H, event: {type: go}}
)";
constexpr const char* kCallsOut = R"(
id: calls
functions: [{id: f, type: knative-namespace, service: f}]
states:
- {id: call, type: parallel, actions: [{function: f}, {function: f}]}
)";

class CheckInstancesTest : public CheckTest {
 protected:
  CheckInstancesTest() {
    define(kWaitsHour);
    define(kCallsOut);
    define("id: ends\nstates: [{id: a, type: noop}]");
    waits = start("waits", "key");
    calls = start("calls");
    ends = start("ends");
  }
  std::string at(const InstanceId& id, const char* which = "head") const {
    return fmt::format("{}/default/{} {}: ", id == ends ? "ended" : "live", to_string(id), which);
  }
  /// Changes the head of the instance.
  Change head(const InstanceId& id, const std::function<void(Instance&)>& change) {
    return [=, this](Transaction&) {
      edit_head(id, change, id == ends ? Table::kEnded : Table::kLive);
    };
  }
  Change call(const std::function<void(Call&)>& change) {
    return [=, this](Transaction& in) {
      edit<Call>(in, Table::kLive, call_key(0), decode_call, encode_call, change);
    };
  }
  std::string call_key(uint32_t index) const {
    Writer key;
    key.raw(part(calls, Part::kCall));
    key.u32(index);
    return key.take();
  }
  Change put(const std::string& key, const std::string& value, Table table = Table::kLive) {
    return [=](Transaction& in) { in.put(table, key, value); };
  }

  InstanceId waits;
  InstanceId calls;
  InstanceId ends;
};

TEST_F(CheckInstancesTest, HasNoFindingInAnUndamagedStore) { expect_sound(); }

TEST_F(CheckInstancesTest, ReportsAFailedReadAsTheOnlyFinding) {
  EXPECT_GT(expect_each_failed_read_alone(), 40U);
}

// Rows.

TEST_F(CheckInstancesTest, ChecksTheKeysOfInstances) {
  constexpr const char* kFinding = "the key is not a namespace, an instance and one of its parts";
  const std::string prefix = rows::instance_prefix(ns, waits);
  for (const std::string& key : {std::string("abc"), prefix, prefix + "\x08", prefix + "\x05",
                                 prefix + std::string(2, '\0')}) {
    expect_only(kFinding, put(key, "x"));
  }
  expect_among(
      "instance.key " + at(waits) + "the head belongs to instance " + to_string(numbered_id(99)),
      head(waits, [](Instance& one) { one.id = numbered_id(99); }));
  expect_among("instance.key ", head(waits, [](Instance& one) { one.ns = NamespaceNumber(9); }));
  expect_among("row.record " + at(waits), put(part(waits, Part::kHead), "rubbish"));
}

TEST_F(CheckInstancesTest, RequiresTheRowsOfAnInstance) {
  const auto erase = [&](const std::string& key) {
    return [=](Transaction& in) { in.erase(Table::kLive, key); };
  };
  expect_among("instance.no_head " + at(waits, "input") + "the instance has rows, but no head",
               erase(part(waits, Part::kHead)));
  expect_among("instance.parts " + at(waits) + "the input of the instance is missing",
               erase(part(waits, Part::kInput)));
  expect_among("instance.parts " + at(calls, "call 1") +
                   "the row of call 0, which must come before this row, is missing",
               erase(call_key(0)));
  expect_among("the head has 2 calls, but 1 rows of calls exist", erase(call_key(1)));
  expect_among("the instance has data of a failed state, but the head does not mention such data",
               put(part(waits, Part::kFailedData), "{}"));
  expect_among("it has a starting event, but no event started it",
               put(part(waits, Part::kStartEvent), "{}"));
  expect_among("the instance has the data at the entry of its state, but does not leave a state",
               put(part(waits, Part::kFoundData), "{}"));
  expect_only("only a live instance has this part",
              put(part(ends, Part::kSlots), "x", Table::kEnded));
}

TEST_F(CheckInstancesTest, ChecksTheJsonOfInstances) {
  expect_among("row.json " + at(waits, "input") + "the text is not JSON",
               put(part(waits, Part::kInput), "{"));
  expect_among("row.value " + at(waits, "input") + "the input is not an object",
               put(part(waits, Part::kInput), "[]"));
  expect_among("row.value " + at(waits, "starting event") +
                   "the starting event is not an object or an array",
               put(part(waits, Part::kStartEvent), "1"));
  expect_among("row.json " + at(waits, "data"), put(part(waits, Part::kData), "{"));
  expect_among("row.record " + at(waits, "slots"), put(part(waits, Part::kSlots), "rubbish"));
  expect_among("row.value " + at(waits, "slots") + "the row has no slots",
               put(part(waits, Part::kSlots), encode_slots({})));
}

TEST_F(CheckInstancesTest, RefusesASealedRowOfAnInstanceWhoseHeadIsNotSealed) {
  expect_among("instance.seal " + at(waits, "input") + "the row is sealed, but the head is not",
               [&](Transaction& in) {
                 const std::string key = part(waits, Part::kInput);
                 rows::put(in, Table::kLive, key, std::string(*in.get(Table::kLive, key)), true);
               });
}

// Status.

TEST_F(CheckInstancesTest, ChecksTheStatusOfALiveInstance) {
  using enum InstanceStatus;
  const struct {
    const char* finding;
    void (*change)(Instance&);
  } table[] = {
      {"the instance has ended, but is in `live`", [](Instance& one) { one.status = kComplete; }},
      {"the instance is live, but its phase is `ended`",
       [](Instance& one) { one.phase = Phase::kEnded; }},
      {"the instance is live, but has an end time",
       [](Instance& one) { one.ended_at = one.started_at; }},
      {"the flag `paused` does not match the status of the instance",
       [](Instance& one) { one.paused = true; }},
      {"the flag `paused` does not match the status of the instance",
       [](Instance& one) { one.status = kPaused; }},
      {"the instance is pending, but does not enter a state",
       [](Instance& one) { one.status = kPending; }},
      {"the instance is running, but its phase is that of a wait",
       [](Instance& one) { one.status = kRunning; }},
      {"the instance is waiting, but enters or leaves a state",
       [](Instance& one) { one.phase = Phase::kLeaving; }},
      {"an evaluation is under way, but the phase of the instance is that of a wait",
       [](Instance& one) { one.parked = true; }},
      {"the instance has listeners, but does not wait",
       [](Instance& one) {
         one.status = kRunning;
         one.phase = Phase::kEntering;
       }},
      {"the instance has listeners, but leaves its state",
       [](Instance& one) {
         one.status = kRunning;
         one.phase = Phase::kLeaving;
       }},
      {"the instance is being cancelled, but is paused or has no calls",
       [](Instance& one) { one.cancelling = true; }},
      {"the instance will end as failed, but has no error",
       [](Instance& one) { one.failing = true; }},
      {"the instance waits for its next run, but has an error",
       [](Instance& one) {
         one.awaits_run = true;
         one.error = Error{"a", "b"};
       }},
  };
  for (const auto& row : table) {
    expect_among("instance.status " + at(waits) + row.finding, head(waits, row.change));
  }
  expect_among("call.state " + at(calls, "call 0") +
                   "the call has not ended, but its instance leaves the state",
               head(calls, [](Instance& one) {
                 one.status = kRunning;
                 one.phase = Phase::kLeaving;
               }));
}

TEST_F(CheckInstancesTest, ChecksTheStatusOfAnEndedInstance) {
  using enum InstanceStatus;
  const struct {
    const char* finding;
    void (*change)(Instance&);
  } table[] = {
      {"the instance has not ended, but is in `ended`",
       [](Instance& one) { one.status = kWaiting; }},
      {"the instance has ended, but its phase is not `ended`",
       [](Instance& one) { one.phase = Phase::kLeaving; }},
      {"the instance has ended, but has no end time", [](Instance& one) { one.ended_at.reset(); }},
      {"the end time of the instance is before its start time",
       [](Instance& one) { one.ended_at = one.started_at - Duration(1); }},
      {"the instance has ended, but is paused or has an evaluation under way",
       [](Instance& one) { one.paused = true; }},
      {"the instance has ended, but is paused or has an evaluation under way",
       [](Instance& one) { one.parked = true; }},
      {"the instance has ended, but waits for its next run",
       [](Instance& one) { one.awaits_run = true; }},
      {"the instance has ended, but has calls or listeners",
       [](Instance& one) { one.listeners.push_back({.filter = {.type = "t"}}); }},
      {"the instance has ended, but has timers",
       [](Instance& one) {
         one.timers = {{TimerKind::kKill, one.started_at}};
       }},
      {"the instance is complete, but has an error",
       [](Instance& one) {
         one.error = Error{"a", "b"};
       }},
      {"the instance did not complete, but has no error",
       [](Instance& one) { one.status = kFailed; }},
  };
  for (const auto& row : table) {
    expect_among("instance.status " + at(ends) + row.finding, head(ends, row.change));
  }
}

TEST_F(CheckInstancesTest, ChecksTheRangeOfValues) {
  const struct {
    const char* finding;
    void (*change)(Instance&);
  } table[] = {
      {"the state is in attempt 0, but attempts count from 1",
       [](Instance& one) { one.attempt = 0; }},
      {"the instance is in run 0, but runs count from 1", [](Instance& one) { one.run = 0; }},
      {"the policy counts from run 2, but the instance is in run 1",
       [](Instance& one) { one.first_run = 2; }},
      {"the policy counts from run 0", [](Instance& one) { one.first_run = 0; }},
      {"the instance entered its state in step 99", [](Instance& one) { one.entered = 99; }},
      {"the instance made 99 transitions in", [](Instance& one) { one.transitions = 99; }},
      {"the instance made 99 transitions, but its history had only",
       [](Instance& one) { one.transitions = 99; }},
      {"the instance made 2 steps since it entered its state in step 0, but its phase requires 1 "
       "to 1",
       [](Instance& one) { ++one.step; }},
      {"the instance has depth 21 and no caller; the depth of a subflow is 1 to 20",
       [](Instance& one) { one.depth = 21; }},
      {"the instance has depth 0 and a caller", [](Instance& one) { one.caller.emplace(); }},
      {"the number of hops is 102, expected at most 101", [](Instance& one) { one.hops = 102; }},
      {"the idempotency key is not UTF-8", [](Instance& one) { one.idempotency_key = "\xff"; }},
  };
  for (const auto& row : table) {
    expect_among("row.value " + at(waits) + row.finding, head(waits, row.change));
  }
  expect_among("row.record " + at(waits), head(waits, [](Instance& one) { one.own_policy = "{"; }));
  for (const auto field : {&Instance::started_at, &Instance::execution_from, &Instance::runs_from,
                           &Instance::state_from}) {
    expect_among("row.time " + at(waits),
                 head(waits, [&](Instance& one) { one.*field = now + Duration(1); }));
  }
  expect_among("row.time " + at(ends) + "the end of the instance is at",
               head(ends, [&](Instance& one) { one.ended_at = now + Duration(1); }));
  expect_among("counter.behind " + at(waits) + "number 9 was assigned, but the counter `g`",
               head(waits, [](Instance& one) { one.listen_from.kept = 9; }));
}

// State and revision.

TEST_F(CheckInstancesTest, ChecksTheStateAndTheExitAgainstTheRevision) {
  expect_among(
      "instance.state " + at(waits) + "the instance is in state 1, but its revision has 1 states",
      head(waits, [](Instance& one) { one.state = 1; }));
  expect_among(
      "the instance entered its state by exit 3 (counted from 0), but the number of exits is 1",
      head(waits, [](Instance& one) { one.exit = 3; }));
  expect_among(
      "the instance leaves its state by exit 3 (counted from 0), but the number of exits is 1",
      head(waits, [](Instance& one) {
        one.exit = 3;
        one.phase = Phase::kLeaving;
      }));
  expect_among("the failed state is \"other\", but the revision has no state of that name",
               head(waits, [](Instance& one) { one.failed_state = "other"; }));
  expect_among(
      "the flag `failing` (2) says that the instance runs `on_failure`, but its definition has no "
      "such",
      head(waits, [](Instance& one) { one.failing = true; }));
}

TEST_F(CheckInstancesTest, RequiresTheRevisionOfALiveInstance) {
  expect_among("definition.missing " + at(waits) + "revision 9 of workflow 1 does not exist",
               head(waits, [](Instance& one) { one.revision.number = 9; }));
  expect_among("workflow.missing " + at(waits) + "no workflow has the number 9",
               head(waits, [](Instance& one) { one.revision.workflow = WorkflowNumber(9); }));
  const auto gone =
      found_after(head(ends, [](Instance& one) { one.revision.workflow = WorkflowNumber(9); }));
  EXPECT_THAT(gone, testing::Not(testing::Contains(testing::HasSubstr("workflow.missing"))))
      << "the workflow of an ended instance may have been deleted";
}

TEST_F(CheckInstancesTest, RefusesTwoInstancesWithTheSameId) {
  expect_among("instance.twice " + at(waits) + "an ended instance has this id, too",
               [&](Transaction& in) {
                 const std::string key = part(waits, Part::kHead);
                 in.put(Table::kEnded, key, std::string(*in.get(Table::kLive, key)));
               });
}

TEST_F(CheckInstancesTest, RequiresTheIdempotencyRowOfAnInstance) {
  expect_only("instance.idempotency " + at(waits) +
                  "the row of the idempotency key key does not name this instance",
              [&](Transaction& in) { erase_idempotency(in, *read_live(in, ns, waits).value()); });
  expect_among("instance.idempotency " + at(waits),
               head(waits, [](Instance& one) { one.idempotency_key = std::string(600, 'k'); }));
}

// Calls.

TEST_F(CheckInstancesTest, ChecksTheStatusOfCalls) {
  using enum Call::Status;
  const std::string where = "call.state " + at(calls, "call 0");
  const struct {
    const char* finding;
    void (*change)(Call&);
  } table[] = {
      {"the time of the next attempt does not match the status of the call",
       [](Call& one) { one.status = kBetween; }},
      {"the call is queued, but has an attempt number or an id",
       [](Call& one) { one.status = kQueued; }},
      {"the call is queued, but has a field that only a call with an attempt has",
       [](Call& one) {
         one.status = kQueued;
         one.attempt = 0;
         one.id = {};
       }},
      {"the call is running or between two attempts, but has no attempt number or no id",
       [](Call& one) { one.attempt = 0; }},
      {"the call is running or between two attempts, but has no attempt number or no id",
       [](Call& one) { one.id = {}; }},
      {"the call has ended, but has deadlines",
       [](Call& one) {
         one.status = kDone;
         one.deadlines[0] = from_millis(1);
       }},
      {"the attempt of the call has not started, but has a deadline from its start",
       [](Call& one) {
         one.started = false;
         one.deadlines[static_cast<size_t>(TimeoutKind::kStartToClose)] = from_millis(1);
       }},
      {"the attempt of the call has started, but has a deadline for its start",
       [](Call& one) {
         one.started = true;
         one.deadlines[static_cast<size_t>(TimeoutKind::kScheduleToStart)] = from_millis(1);
       }},
      {"the call has not succeeded, but has a result", [](Call& one) { one.result = LazyJson(1); }},
      {"the call has succeeded, but has an error",
       [](Call& one) {
         one.status = kDone;
         one.last_error = CallFailure{.error = {"a", "b"}, .at = from_millis(1)};
       }},
  };
  for (const auto& row : table) expect_among(where + row.finding, call(row.change));
  expect_among("row.time " + at(calls, "call 0") + "the first attempt of the call is at",
               call([&](Call& one) { one.first_at = now + Duration(1); }));
}

TEST_F(CheckInstancesTest, RequiresATaskForEachCallOfAFunctionOutsideMillrace) {
  const InstanceId task = read_live(*tx, ns, calls).value()->calls.at(0).id;
  expect_only("call.task " + at(calls, "call 0") + "task " + to_string(task) + " does not exist",
              [&](Transaction& in) { erase_task(in, task); });
  expect_among(
      "call.task " + at(calls, "call 0") + "task " + to_string(task) + " belongs to another",
      [&](Transaction& in) {
        edit<StartTask>(in, Table::kTasks, rows::key_of(task), decode_task, encode,
                        [](StartTask& one) { one.caller->index = 1; });
      });
}

}  // namespace
}  // namespace millrace
