// The store check compares the calls of an instance with its history and with its definition.
#include <algorithm>

#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using std::chrono::days;
using std::chrono::hours;
using testing::ElementsAre;
using testing::HasSubstr;

class CheckCallsTest : public CheckTest {
 protected:
  /// Starts an instance with one call. `action` has the keys of the action, `keys` those of the
  /// workflow.
  void call_with(const std::string& action, const std::string& keys = "") {
    define("id: calls\n" + keys +
           "\nfunctions: [{id: f, type: knative-namespace, service: f}]\n"
           "states: [{id: call, type: action, action: {function: f" +
           action + "}}]");
    id = start("calls");
    expect_sound();
  }
  Change call(const std::function<void(Call&)>& change) {
    return [=, this](Transaction& in) {
      edit<Call>(in, Table::kLive, part(id, Part::kCall) + std::string(4, '\0'), decode_call,
                 encode_call, change);
    };
  }
  std::string where() const {
    return fmt::format("call.state live/default/{} call 0: ", to_string(id));
  }

  InstanceId id;
};

TEST_F(CheckCallsTest, ComparesTheInputOfACallWithThatOfTheState) {
  call_with(", input: jq(.from), retries: {maximumAttempts: 2, initialInterval: 1h}");
  expect_only(where() + "the input of the call is not the one that its state computes",
              call([](Call& one) { one.input = LazyJson("other"); }));
}

TEST_F(CheckCallsTest, RequiresTheMinorNumberOfProgress) {
  call_with("");
  const auto progress =
      call([this](Call& one) { one.progress = CallProgress{.json = "3", .at = now}; });
  const InstanceId task = read_live(*tx, ns, id).value()->calls.at(0).id;
  for (const char* const of : {"calls", "tasks"}) {
    expect_among(
        fmt::format("the minor number is 8, but the store has progress of {}, expected at least 9",
                    of),
        [&](Transaction& in) {
          progress(in);
          edit<StartTask>(in, Table::kTasks, rows::key_of(task), decode_task, encode,
                          [](StartTask& one) { one.progress = "2"; });
          in.put(Table::kMeta, "minor", rows::key_of(uint64_t{8}));
        });
  }
  expect_among(
      "the call is queued, but has a field that only a call with an attempt has",
      call([this](Call& one) { one = {.progress = CallProgress{.json = "3", .at = now}}; }));
}

TEST_F(CheckCallsTest, RequiresTheMinorNumberOfRecordsThatSayWhoAnswered) {
  call_with("");
  const InstanceId task = read_live(*tx, ns, id).value()->calls.at(0).id;
  run_command(AnswerTask{.ns = "default", .task = task, .what = TaskEnded{.result = "7"}});
  expect_sound();
  const auto minor_11 = [](Transaction& in) {
    in.put(Table::kMeta, "minor", rows::key_of(uint64_t{11}));
  };
  EXPECT_THAT(found_after(minor_11),
              ElementsAre(HasSubstr("the store has answers from outside, expected at least 12"),
                          HasSubstr("the store has times of given answers, expected at least 13")));
}

TEST_F(CheckCallsTest, BoundsTheDeadlinesOfACallByItsTimeouts) {
  call_with(", scheduleToCloseTimeout: PT2H");
  expect_only(where() + "the deadline millrace.timeout.scheduleToClose of the call is at",
              call([](Call& one) { *one.deadlines[0] += days(2); }));
  expect_among("before the entry into its state",
               call([this](Call& one) { one.deadlines[0] = now - Duration(1); }));
}

TEST_F(CheckCallsTest, BoundsTheDeadlinesOfASubflowByTheStartOfItsAttempt) {
  define("id: child\nstates: [{id: wait, type: consumeEvent, event: {type: never}}]");
  define(R"(
id: parent
functions: [{id: f, type: subflow, workflow: child}]
states:
- {id: call, type: action, action: {function: f, scheduleToCloseTimeout: PT2H}}
)");
  id = start("parent");
  const auto later = call([](Call& one) { *one.deadlines[0] += Duration(1); });
  now += hours(1);
  start("child");
  expect_sound();
  expect_only(where() + "the deadline millrace.timeout.scheduleToClose of the call is at", later);
}

TEST_F(CheckCallsTest, BoundsTheDeadlineOfATaskByThoseOfItsCallAndItsState) {
  const auto expect_bound = [this] {
    const InstanceId task = read_live(*tx, ns, id).value()->calls.at(0).id;
    expect_only(fmt::format("task.caller tasks/{}: the deadline of the task is not that of call 0",
                            to_string(task)),
                [&](Transaction& in) {
                  edit<StartTask>(in, Table::kTasks, rows::key_of(task), decode_task, encode,
                                  [](StartTask& one) { *one.deadline += days(2); });
                });
  };
  call_with(", scheduleToCloseTimeout: PT2H");
  expect_bound();
  define(R"(
id: timed
functions: [{id: f, type: knative-namespace, service: f}]
states:
- {id: call, type: action, timeout: PT2H, action: {function: f}}
)");
  id = start("timed");
  expect_sound();
  expect_bound();
}

TEST_F(CheckCallsTest, ComparesACallWithTheRecordOfItsStart) {
  call_with("");
  expect_only(where() + "the first attempt started at",
              call([](Call& one) { *one.first_at -= Duration(1); }));
  expect_among(where() + "the call is in attempt 1, but its history has no start of it",
               [this](Transaction& in) {
                 edit_history(read_live(in, ns, id).value()->last_history, [](HistoryRow& row) {
                   std::erase_if(row.records, [](const HistoryRecord& record) {
                     return record.kind == HistoryKind::kCalled;
                   });
                 });
               });
}

TEST_F(CheckCallsTest, RequiresAnAttemptOrASkipOfACallThatIsDone) {
  define(R"(
id: both
functions: [{id: f, type: knative-namespace, service: f}]
states:
- id: call
  type: foreach
  concurrency: 1
  array: '[1, 2]'
  action: {function: f}
)");
  id = start("both");
  expect_sound();
  const auto second = [this](const std::function<void(Call&)>& change) -> Change {
    return [=, this](Transaction& in) {
      edit<Call>(in, Table::kLive, part(id, Part::kCall) + std::string("\0\0\0\1", 4), decode_call,
                 encode_call, change);
    };
  };
  const std::string place = fmt::format("call.state live/default/{} call 1: ", to_string(id));
  const auto done = [](Call& one) {
    one.status = Call::Status::kDone;
    one.input = {};
  };
  expect_only(place + "the call is done and has no attempt, but its history did not skip it",
              second(done));
  expect_only(place +
                  "the status of the call does not fit its history, in which attempt 0 has not "
                  "ended",
              second([](Call& one) { one.status = Call::Status::kFailed; }));
  expect_among(place + "the call has a result, but no attempt", second([&](Call& one) {
                 done(one);
                 one.result = LazyJson(1);
               }));
  expect_among(place + "the call has succeeded, but has no attempt number or no id",
               second([&](Call& one) {
                 done(one);
                 one.id = numbered_id(99);
               }));
  EXPECT_THAT(found_after([&](Transaction& in) {
                second(done)(in);
                edit_history(read_live(in, ns, id).value()->last_history, [](HistoryRow& row) {
                  HistoryRecord skipped = row.records.back();
                  skipped.kind = HistoryKind::kSkipped;
                  skipped.data.reset();
                  skipped.detail = Json{{"function", "f"}, {"index", 1}};
                  row.records.push_back(skipped);
                });
                edit_head(id, [](Instance& head) { ++head.history_count; });
              }),
              testing::IsEmpty())
      << "a call without attempts is skipped";
}

TEST_F(CheckCallsTest, ComparesTheStatusOfACallWithTheEndOfItsAttempt) {
  define(R"(
id: any
functions: [{id: f, type: knative-namespace, service: f}]
states:
- {id: call, type: parallel, mode: or, actions: [{function: f}, {function: f}]}
)");
  id = start("any");
  const InstanceId task = read_live(*tx, ns, id).value()->calls.at(0).id;
  run(TaskInput{.report = {.task = task, .what = TaskEnded{.result = fail("e", "m")}}});
  ASSERT_EQ(read_live(*tx, ns, id).value()->calls.at(0).status, Call::Status::kFailed);
  expect_sound();
  expect_only(where() +
                  "the status of the call does not fit its history, in which attempt 1 has "
                  "failed",
              call([](Call& one) {
                one.status = Call::Status::kDone;
                one.last_error.reset();
              }));
}

TEST_F(CheckCallsTest, RequiresTheTimeOfTheFirstAttemptInEachLaterAttempt) {
  call_with(", retries: {maximumAttempts: 3, initialInterval: 1h}");
  const InstanceId task = read_live(*tx, ns, id).value()->calls.at(0).id;
  run(TaskInput{.report = {.task = task, .what = TaskEnded{.result = fail("e", "m")}}});
  now = *read_live(*tx, ns, id).value()->calls.at(0).retry_at;
  run(TimerInput{
      .deadline = now,
      .owner = TimerInput::OfInstance{.ns = ns, .instance = id, .kind = TimerKind::kCalls}});
  ASSERT_EQ(read_live(*tx, ns, id).value()->calls.at(0).attempt, 2U);
  expect_sound();
  expect_only(where() + "the first attempt started at",
              call([](Call& one) { *one.first_at += Duration(1); }));
  expect_only(where() + "the first attempt started at",
              call([](Call& one) { *one.first_at -= Duration(1); }));
}

TEST_F(CheckCallsTest, ComparesTheRecordsOfACallWithEachOtherAlsoAfterItsEnd) {
  call_with(", retries: {maximumAttempts: 3, initialInterval: 1h}");
  const auto end_with = [&](tl::expected<std::string, Error> result) {
    const InstanceId task = read_live(*tx, ns, id).value()->calls.at(0).id;
    run(TaskInput{.report = {.task = task, .what = TaskEnded{.result = std::move(result)}}});
  };
  end_with(fail("e", "m"));
  now = *read_live(*tx, ns, id).value()->calls.at(0).retry_at;
  run(TimerInput{
      .deadline = now,
      .owner = TimerInput::OfInstance{.ns = ns, .instance = id, .kind = TimerKind::kCalls}});
  end_with("7");
  const uint64_t last = read_instance(*tx, ns, id).value()->last_history;
  expect_sound();
  // The rows from `last - 3` on: the start of attempt 1, its end with the retry, the start of
  // attempt 2, and its end.
  const auto change = [&](uint64_t row, HistoryKind kind, const std::string& member,
                          const Json& value) -> Change {
    return [=, this](Transaction&) {
      edit_history(row, [&](HistoryRow& one) {
        const auto found =
            std::find_if(one.records.begin(), one.records.end(),
                         [&](const HistoryRecord& record) { return record.kind == kind; });
        ASSERT_NE(found, one.records.end());
        Json changed = found->detail.value();
        changed[member] = value;
        found->detail = LazyJson(std::move(changed));
      });
    };
  };
  const auto at = [&](uint64_t row) { return fmt::format("row.value history/{}: a ", row); };
  expect_only(at(last - 1) + "record `called` is of attempt 2 of call 0, but by the later records",
              change(last, HistoryKind::kReturned, "attempt", 3));
  expect_only(at(last - 1) + "record `called` of attempt 2 of call 0 has the id",
              change(last - 1, HistoryKind::kCalled, "task", to_string(numbered_id(99))));
  expect_only(at(last - 2) + "record `retrying` is of attempt 2 of call 0, but by the later",
              change(last - 2, HistoryKind::kRetrying, "attempt", 3));
  expect_only(at(last - 3) + "later record is of attempt 1 of call 1, but no record `called`",
              change(last - 2, HistoryKind::kReturned, "index", 1));
}

TEST_F(CheckCallsTest, ComparesTheTaskOfACallThatWaitedForAnotherCall) {
  define(R"(
id: both
functions: [{id: f, type: knative-namespace, service: f}]
states:
- {id: call, type: foreach, concurrency: 1, array: '[1, 2]', action: {function: f}}
)");
  id = start("both");
  const InstanceId first = read_live(*tx, ns, id).value()->calls.at(0).id;
  run(TaskInput{.report = {.task = first, .what = TaskEnded{.result = "7"}}});
  const InstanceId second = read_live(*tx, ns, id).value()->calls.at(1).id;
  expect_sound();
  expect_task_compared(second, 1, id);
}

TEST_F(CheckCallsTest, RequiresSealedRowsOfACallThatReadsSecrets) {
  run_command(PutSecret{.ns = "default", .name = "card", .value = "4711"});
  call_with(", secrets: [card]");
  const InstanceId task = read_live(*tx, ns, id).value()->calls.at(0).id;
  const std::string call_key = part(id, Part::kCall) + std::string(4, '\0');
  const struct {
    Table table;
    std::string key;
    std::string place;
  } table[] = {
      {Table::kLive, call_key, fmt::format("live/default/{} call 0", to_string(id))},
      {Table::kTasks, rows::key_of(task), "tasks/" + to_string(task)},
  };
  for (const auto& row : table) {
    expect_only("instance.seal " + row.place +
                    ": the row is not sealed, but the action of the call reads secrets",
                [&](Transaction& in) {
                  const auto opened = in.seal().open(*in.get(row.table, row.key),
                                                     rows::seal_context(row.table, row.key));
                  ASSERT_TRUE(opened);
                  in.put(row.table, row.key, *opened);
                });
  }
}

TEST_F(CheckCallsTest, RequiresSealedRowsOfTheCallsOfASealedInstance) {
  call_with("");
  const auto seal = [](Transaction& in, Table table, const std::string& key) {
    rows::put(in, table, key, std::string(*in.get(table, key)), true);
  };
  const std::string newest = rows::key_of(read_live(*tx, ns, id).value()->last_history);
  expect_among(fmt::format("instance.seal live/default/{} call 0: the row is not sealed, but its "
                           "instance was sealed when it entered its state",
                           to_string(id)),
               [&](Transaction& in) {
                 seal(in, Table::kHistory, newest);
                 seal(in, Table::kLive, part(id, Part::kHead));
               });
}

TEST_F(CheckCallsTest, BoundsATaskByTheTimersOfItsInstance) {
  call_with("", "timeouts: {kill: PT2H}");
  const InstanceId task = read_live(*tx, ns, id).value()->calls.at(0).id;
  expect_only(fmt::format("task.caller tasks/{}: the deadline of the task is not that of call 0",
                          to_string(task)),
              [&](Transaction& in) {
                edit<StartTask>(in, Table::kTasks, rows::key_of(task), decode_task, encode,
                                [](StartTask& one) { *one.deadline += Duration(1); });
              });
}

}  // namespace
}  // namespace millrace
