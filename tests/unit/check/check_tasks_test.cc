#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kPays = R"(
id: pays
functions: [{id: charge, type: knative-namespace, service: charge}]
states:
- {id: pay, type: action, action: {function: charge}}
)";
constexpr const char* kWaitsForAll = R"(
id: child
states:
- {id: wait, type: consumeEvent, event: {type: never}}
)";
constexpr const char* kParent = R"(
id: parent
functions: [{id: f, type: subflow, workflow: child}]
states:
- {id: call, type: action, action: {function: f}}
)";

class CheckTasksTest : public CheckTest {
 protected:
  CheckTasksTest() {
    define(kPays);
    pays = start("pays");
    task = read_live(*tx, ns, pays).value()->calls.at(0).id;
  }
  Change edit_task(const std::function<void(StartTask&)>& change) const {
    return [=, this](Transaction& in) {
      edit<StartTask>(in, Table::kTasks, rows::key_of(task), decode_task, encode, change);
    };
  }
  Change message(InstanceMessage what, uint64_t listen_from = 0) const {
    return [=](Transaction& in) {
      write_counter(in, Counter::kInbox, 1);
      write_inbox(in, 1, {.message = what, .listen_from = {.kept = listen_from}});
    };
  }

  InstanceId pays;
  InstanceId task;
};

TEST_F(CheckTasksTest, HasNoFindingInAnUndamagedStore) { expect_sound(); }

TEST_F(CheckTasksTest, ReportsAFailedReadAsTheOnlyFinding) {
  message(CancelChild{.ns = ns, .child = pays})(*tx);
  commit();
  EXPECT_GT(expect_each_failed_read_alone(), 30U);
}

// Tasks.

TEST_F(CheckTasksTest, ChecksTheKeyAndTheValuesOfATask) {
  expect_among("row.key tasks/" + to_string(numbered_id(99)) + ": the task in the row has the id " +
                   to_string(task) + ", which is not the key of the row",
               [&](Transaction& in) {
                 in.put(Table::kTasks, rows::key_of(numbered_id(99)),
                        std::string(*in.get(Table::kTasks, rows::key_of(task))));
               });
  expect_among("row.record tasks/",
               [&](Transaction& in) { in.put(Table::kTasks, rows::key_of(task), "rubbish"); });
  expect_among("row.value tasks/" + to_string(task) +
                   ": the attempt 0, the heartbeat or the caller of the task",
               edit_task([](StartTask& one) { one.attempt = 0; }));
  expect_only("row.value tasks/", edit_task([](StartTask& one) { one.heartbeat = Duration(0); }));
  expect_among("row.value tasks/", edit_task([](StartTask& one) { one.by = numbered_id(99); }));
  expect_among("counter.behind tasks/",
               edit_task([](StartTask& one) { one.workflow = WorkflowNumber(9); }));
  expect_among("namespace.missing tasks/",
               edit_task([](StartTask& one) { one.ns = NamespaceNumber(9); }));
}

TEST_F(CheckTasksTest, ChecksThatTheMinorNumberAllowsAcceptedTasks) {
  const Change accept = edit_task([](StartTask& one) { one.is_accepted = true; });
  EXPECT_THAT(found_after(accept), testing::IsEmpty());
  expect_only("the minor number is 6, but the store has accepted tasks, expected at least 7",
              [&](Transaction& in) {
                accept(in);
                in.put(Table::kMeta, "minor", rows::key_of(uint64_t{6}));
              });
}

TEST_F(CheckTasksTest, ChecksATaskAgainstTheCallThatWaitsForIt) {
  const auto expect_unawaited = [&](const std::function<void(Caller&)>& change) {
    expect_among("task.caller tasks/" + to_string(task) + ": call ",
                 edit_task([&](StartTask& one) { change(*one.caller); }));
  };
  expect_unawaited([](Caller& caller) { ++caller.entered; });
  expect_unawaited([](Caller& caller) { ++caller.index; });
  expect_unawaited([](Caller& caller) { ++caller.attempt; });
  expect_among("task.caller", [&](Transaction& in) { ASSERT_TRUE(erase_parts(in, ns, pays)); });
  EXPECT_THAT(found_after(edit_task([](StartTask& one) { one.caller.reset(); })),
              testing::Not(testing::Contains(HasSubstr("task.caller"))))
      << "no call waits for a detached task";
}

TEST_F(CheckTasksTest, DoesNotReportATaskIfTheRowsOfItsCallAreDamaged) {
  for (const Part which : {Part::kHead, Part::kCall}) {
    std::string key = part(pays, which);
    if (which == Part::kCall) key += std::string(4, '\0');
    const auto lines = found_after([&](Transaction& in) { in.put(Table::kLive, key, "rubbish"); });
    EXPECT_THAT(lines, testing::Contains(HasSubstr("row.record live/")));
    EXPECT_THAT(lines, testing::Not(testing::Contains(HasSubstr("task.caller"))));
  }
}

// Instance messages.

TEST_F(CheckTasksTest, ChecksTheKeyAndTheValuesOfAnInstanceMessage) {
  expect_only("row.key inbox/0x616263: the key of 3 bytes is not a number from 1",
              [](Transaction& in) { in.put(Table::kInbox, "abc", "x"); });
  expect_among("row.record inbox/1", [](Transaction& in) {
    in.put(Table::kInbox, rows::key_of(uint64_t{1}), "rubbish");
  });
  expect_only("counter.behind inbox/5: number 5 was assigned", [&](Transaction& in) {
    write_inbox(in, 5, {.message = CancelChild{.ns = ns, .child = pays}});
  });
  const StartChild start_child{.ns = ns, .child = numbered_id(50), .workflow = "child"};
  EXPECT_THAT(found_after(message(start_child)), IsEmpty());
  expect_only("counter.behind inbox/1: number 9 was assigned, but the counter `g`",
              message(start_child, 9));
  expect_only("counter.behind inbox/1: number 9 was assigned, but the counter `a`",
              message(CancelChild{.ns = NamespaceNumber(9), .child = pays}));
  StartChild broken = start_child;
  broken.workflow = "\xff";
  expect_only("row.value inbox/1: the name of the workflow is not UTF-8", message(broken));
  StartChild deep = start_child;
  deep.depth = 2;
  expect_only("row.value inbox/1: the subflow has depth 2, expected 0", message(deep));
  StartChild far = start_child;
  far.hops = 102;
  expect_only("row.value inbox/1: the number of hops is 102, expected at most 101", message(far));
}

TEST_F(CheckTasksTest, RefusesAnInstanceMessageThatStartsAnExistingChild) {
  expect_only(std::string("errand.twice") + " inbox/1: subflow " + to_string(pays) +
                  " exists, but the instance message starts it",
              message(StartChild{.ns = ns, .child = pays, .workflow = "pays"}));
}

TEST_F(CheckTasksTest, RefusesTheResultOfATaskThatHasNotEnded) {
  const Caller call = *decode_task(*tx->get(Table::kTasks, rows::key_of(task)))->caller;
  const InstanceMessage result = ReturnResult{.ns = ns, .to = call, .result = LazyJson(1)};
  expect_only("row.value inbox/1: the instance message has the result of call 0 of " +
                  to_string(pays) + ", but task " + to_string(task) + " has not ended",
              message(result));
}

TEST_F(CheckTasksTest, RequiresAChildForEachCallOfASubflowAndACallForEachChild) {
  define(kWaitsForAll);
  define(kParent);
  const InstanceId parent = start("parent");
  const Instance caller = *read_live(*tx, ns, parent).value();
  const InstanceId child = caller.calls.at(0).id;
  ASSERT_TRUE(read_live(*tx, ns, child).value());
  expect_sound();
  const Caller call{.instance = parent, .entered = caller.entered, .index = 0, .attempt = 1};
  const auto lose_child = [&](Transaction& in) {
    const auto row = read_live(in, ns, child).value();
    ASSERT_TRUE(erase_parts(in, ns, child));
    in.erase(Table::kHistory, rows::key_of(row->last_history));
  };
  expect_only("call.child live/default/" + to_string(parent) + " call 0: subflow " +
                  to_string(child) + " is not live",
              lose_child);
  EXPECT_THAT(found_after([&](Transaction& in) {
                lose_child(in);
                message(ReturnResult{.ns = ns, .to = call, .result = LazyJson(1)})(in);
              }),
              IsEmpty());
  const auto restart = [&](const std::function<void(StartChild&)>& change) -> Change {
    return [=, this](Transaction& in) {
      lose_child(in);
      StartChild starts{
          .ns = ns, .child = child, .workflow = "child", .caller = call, .by = parent, .depth = 1};
      change(starts);
      message(starts)(in);
    };
  };
  EXPECT_THAT(found_after(restart([](StartChild&) {})), IsEmpty());
  expect_only(
      "the instance message that starts subflow " + to_string(child) + " is that of another call",
      restart([](StartChild& one) { ++one.caller->attempt; }));
  expect_only("row.value inbox/1: the instance message starts a subflow for a call of " +
                  to_string(parent) + ", but says that " + to_string(child) + " starts it",
              restart([&](StartChild& one) { one.by = child; }));
  expect_only("row.value inbox/1: the instance message has the result of call 0 of " +
                  to_string(parent) + ", but subflow " + to_string(child) + " has not ended",
              message(ReturnResult{.ns = ns, .to = call, .result = LazyJson(1)}));
  expect_only("row.value inbox/1: the instance message cancels subflow " + to_string(child) +
                  ", but call 0 of " + to_string(parent) + " waits for its result",
              message(CancelChild{.ns = ns, .child = child}));
  Caller earlier = call;
  ++earlier.entered;
  EXPECT_THAT(found_after(message(ReturnResult{.ns = ns, .to = earlier, .result = LazyJson(1)})),
              IsEmpty())
      << "the caller does not wait for this result";
  const auto lose_parent = [&](Transaction& in) {
    edit(in, Table::kLive, part(child, Part::kHead), decode_head, encode_head,
         [](Instance& head) { ++head.caller->attempt; });
  };
  expect_among("instance.caller live/default/" + to_string(child) + " head: call 0 of " +
                   to_string(parent) + " does not wait for this instance",
               lose_parent);
  const auto cancelled = found_after([&](Transaction& in) {
    lose_parent(in);
    message(CancelChild{.ns = ns, .child = child})(in);
  });
  EXPECT_THAT(cancelled, testing::Not(testing::Contains(HasSubstr("instance.caller"))));
}

}  // namespace
}  // namespace millrace
