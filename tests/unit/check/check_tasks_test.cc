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
    task = read_living(*tx, space, pays).value()->calls.at(0).id;
  }
  Change edit_task(const std::function<void(StartTask&)>& change) const {
    return [=, this](Transaction& in) {
      edit<StartTask>(in, Table::kTasks, rows::key_of(task), decode_task, encode, change);
    };
  }
  Change errand(Errand what, uint64_t listen_from = 0) const {
    return [=](Transaction& in) {
      write_counter(in, Counter::kInbox, 1);
      write_inbox(in, 1, {.errand = what, .listen_from = listen_from});
    };
  }

  InstanceId pays;
  InstanceId task;
};

TEST_F(CheckTasksTest, OfASoundStoreHasNoFinding) { expect_sound(); }

TEST_F(CheckTasksTest, TellsAReadThatFailsAndNothingThatMayFollowFromIt) {
  errand(CancelChild{.space = space, .child = pays})(*tx);
  commit();
  EXPECT_GT(expect_each_read_to_count(), 30U);
}

// Tasks.

TEST_F(CheckTasksTest, HoldsATaskAgainstItsKeyAndItsValues) {
  expect_among(
      "row.key tasks/" + to_string(numbered_id(99)) + ": the row is of task " + to_string(task),
      [&](Transaction& in) {
        in.put(Table::kTasks, rows::key_of(numbered_id(99)),
               std::string(*in.get(Table::kTasks, rows::key_of(task))));
      });
  expect_among("row.record tasks/",
               [&](Transaction& in) { in.put(Table::kTasks, rows::key_of(task), "rubbish"); });
  expect_among("row.value tasks/" + to_string(task) + ": attempt 0, by instance",
               edit_task([](StartTask& one) { one.attempt = 0; }));
  expect_only("row.value tasks/", edit_task([](StartTask& one) { one.heartbeat = Duration(0); }));
  expect_among("row.value tasks/", edit_task([](StartTask& one) { one.by = numbered_id(99); }));
  expect_among("counter.behind tasks/",
               edit_task([](StartTask& one) { one.workflow = WorkflowNumber(9); }));
  expect_among("namespace.missing tasks/",
               edit_task([](StartTask& one) { one.space = NamespaceNumber(9); }));
}

TEST_F(CheckTasksTest, HoldsATaskAgainstTheCallThatWaitsForIt) {
  const auto expect_unawaited = [&](const std::function<void(Caller&)>& change) {
    expect_among("task.caller tasks/" + to_string(task) + ": call ",
                 edit_task([&](StartTask& one) { change(*one.caller); }));
  };
  expect_unawaited([](Caller& caller) { ++caller.entered; });
  expect_unawaited([](Caller& caller) { ++caller.index; });
  expect_unawaited([](Caller& caller) { ++caller.attempt; });
  expect_among("task.caller", [&](Transaction& in) { ASSERT_TRUE(erase_parts(in, space, pays)); });
  EXPECT_THAT(found_after(edit_task([](StartTask& one) { one.caller.reset(); })),
              testing::Not(testing::Contains(HasSubstr("task.caller"))))
      << "nobody waits for a detached one";
}

TEST_F(CheckTasksTest, DoesNotBlameATaskForACallThatCannotBeRead) {
  for (const Part which : {Part::kHead, Part::kCall}) {
    std::string key = part(pays, which);
    if (which == Part::kCall) key += std::string(4, '\0');
    const auto lines = found_after([&](Transaction& in) { in.put(Table::kLive, key, "rubbish"); });
    EXPECT_THAT(lines, testing::Contains(HasSubstr("row.record live/")));
    EXPECT_THAT(lines, testing::Not(testing::Contains(HasSubstr("task.caller"))));
  }
}

// Errands.

TEST_F(CheckTasksTest, HoldsAnErrandAgainstItsKeyAndItsValues) {
  expect_only("row.key inbox/0x616263: a key of 3 bytes that is not a number from 1",
              [](Transaction& in) { in.put(Table::kInbox, "abc", "x"); });
  expect_among("row.record inbox/1", [](Transaction& in) {
    in.put(Table::kInbox, rows::key_of(uint64_t{1}), "rubbish");
  });
  expect_only("counter.behind inbox/5: number 5 was given", [&](Transaction& in) {
    write_inbox(in, 5, {.errand = CancelChild{.space = space, .child = pays}});
  });
  const StartChild start_child{.space = space, .child = numbered_id(50), .workflow = "child"};
  EXPECT_THAT(found_after(errand(start_child)), IsEmpty());
  expect_only("counter.behind inbox/1: number 9 was given, and the counter `g`",
              errand(start_child, 9));
  expect_only("counter.behind inbox/1: number 9 was given, and the counter `a`",
              errand(CancelChild{.space = NamespaceNumber(9), .child = pays}));
  StartChild broken = start_child;
  broken.workflow = "\xff";
  expect_only("row.value inbox/1: the name of the workflow is not UTF-8", errand(broken));
}

TEST_F(CheckTasksTest, AnErrandStartsNoChildThatExists) {
  expect_only(
      "errand.twice inbox/1: child " + to_string(pays) + " exists, and the errand starts it",
      errand(StartChild{.space = space, .child = pays, .workflow = "pays"}));
}

TEST_F(CheckTasksTest, AChildIsAwaitedOrAnErrandStartsCancelsOrReturnsIt) {
  define(kWaitsForAll);
  define(kParent);
  const InstanceId parent = start("parent");
  const Instance caller = *read_living(*tx, space, parent).value();
  const InstanceId child = caller.calls.at(0).id;
  ASSERT_TRUE(read_living(*tx, space, child).value());
  expect_sound();
  const Caller call{.instance = parent, .entered = caller.entered, .index = 0, .attempt = 1};
  const auto lose_child = [&](Transaction& in) {
    const auto row = read_living(in, space, child).value();
    ASSERT_TRUE(erase_parts(in, space, child));
    in.erase(Table::kHistory, rows::key_of(row->last_history));
  };
  expect_only("call.child live/default/" + to_string(parent) + " call 0: child " +
                  to_string(child) + " does not live",
              lose_child);
  EXPECT_THAT(found_after([&](Transaction& in) {
                lose_child(in);
                errand(ReturnResult{.space = space, .to = call, .result = LazyJson(1)})(in);
              }),
              IsEmpty());
  EXPECT_THAT(found_after([&](Transaction& in) {
                lose_child(in);
                errand(StartChild{.space = space, .child = child, .workflow = "child"})(in);
              }),
              IsEmpty());
  const auto lose_parent = [&](Transaction& in) {
    edit(in, Table::kLive, part(child, Part::kHead), decode_head, encode_head,
         [](Instance& head) { ++head.caller->attempt; });
  };
  expect_among("instance.caller live/default/" + to_string(child) + " head: call 0 of " +
                   to_string(parent) + " does not wait for it",
               lose_parent);
  const auto cancelled = found_after([&](Transaction& in) {
    lose_parent(in);
    errand(CancelChild{.space = space, .child = child})(in);
  });
  EXPECT_THAT(cancelled, testing::Not(testing::Contains(HasSubstr("instance.caller"))));
}

}  // namespace
}  // namespace millrace
