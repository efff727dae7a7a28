// The query of tasks that a service has accepted.
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;

class AcceptedTaskQueriesTest : public QueryTest {
 protected:
  /// The id of a task; no instance has one of these.
  static InstanceId task_id(uint8_t number) { return numbered_id(100 + number); }

  void accept(StartTask task) {
    task.is_accepted = true;
    write_task(*tx, task);
    commit();
  }
  StartTask task(uint8_t number) const {
    return {.ns = ns,
            .task = task_id(number),
            .by = numbered_id(1),
            .workflow = WorkflowNumber(1),
            .state = "ask",
            .function = "approve",
            .runs = NamedService{.name = "mail"},
            .input = Json(nullptr)};
  }
  /// Stores an instance whose calls run the tasks 1, 2 and so on; call i has the task i + 1.
  void store_caller(uint8_t calls) {
    Instance instance = waiting_instance(WorkflowNumber(1), 1);
    instance.entered = 3;
    std::vector<Call> made(calls);
    for (uint8_t i = 0; i < calls; ++i) {
      made[i] = {.status = Call::Status::kRunning,
                 .attempt = 1,
                 .id = task_id(i + 1),
                 .outside = true,
                 .started = true};
      made[i].progress = {.json = fmt::format(R"({{"done":{}}})", i), .at = now};
      made[i].deadlines[static_cast<size_t>(TimeoutKind::kStartToClose)] = now + hours(2 + i);
    }
    instance.calls = made;
    const std::vector<Call> none;
    write_instance(*tx, instance, {.input = true, .data = true, .calls = &none});
    commit();
  }
  StartTask called_task(uint8_t number) const {
    StartTask made = task(number);
    made.caller = Caller{
        .instance = numbered_id(1), .entered = 3, .index = number - uint32_t{1}, .attempt = 1};
    made.deadline = now + hours(100);
    return made;
  }
  static Ask list(AcceptedFilter filter = {}, std::string name = "default") {
    return [=](Queries& queries, const View& view) {
      return queries.accepted_tasks(view, name, filter);
    };
  }
  static AskPage each_page(std::optional<InstanceId> instance = std::nullopt) {
    return [=](Queries& queries, const View& view, size_t limit, std::string_view cursor) {
      return queries.accepted_tasks(
          view, "default", {.instance = instance, .limit = limit, .cursor = std::string(cursor)});
    };
  }
};

TEST_F(AcceptedTaskQueriesTest, ShowTheCallAndItsEarliestDeadline) {
  store_caller(1);
  accept(called_task(1));
  const Json expected{{{"task", to_string(task_id(1))},
                       {"namespace", "default"},
                       {"instance", to_string(numbered_id(1))},
                       {"state", "ask"},
                       {"function", "approve"},
                       {"attempt", 1},
                       {"since", format_rfc3339(time_of(task_id(1)))},
                       {"deadline", format_rfc3339(now + hours(2))},
                       {"progress", {{"done", 0}}},
                       {"progressAt", format_rfc3339(now)}}};
  for (const auto& instance : {std::optional<InstanceId>(), std::optional(numbered_id(1))}) {
    const Json found = answer(list({.instance = instance}));
    EXPECT_EQ(found["items"], expected);
    EXPECT_EQ(found["next"], nullptr);
    EXPECT_EQ(found["complete"], true);
    expect_each_read_to_count(list({.instance = instance}));
  }
}

TEST_F(AcceptedTaskQueriesTest, LeaveOutTasksThatAreNotAcceptedOrOfAnotherNamespace) {
  write_task(*tx, task(1));
  StartTask other = task(2);
  other.ns = create_namespace("shop");
  accept(other);
  const Json found = answer(list());
  EXPECT_THAT(found["items"], IsEmpty());
  EXPECT_EQ(found["looked"], 2);
  EXPECT_EQ(answer(list({}, "shop"))["items"].size(), 1U);
  EXPECT_EQ(outcome(list({}, "none")), "namespace.not_found");
  EXPECT_EQ(outcome(list({.instance = numbered_id(9)})), "instance.not_found");
  EXPECT_EQ(outcome(list({.cursor = "x"})), "cursor.malformed");
}

TEST_F(AcceptedTaskQueriesTest, MarkATaskForWhichNoCallWaits) {
  accept(task(1));
  const Json item = answer(list())["items"][0];
  EXPECT_EQ(item["detached"], true);
  EXPECT_FALSE(item.contains("deadline"));
  EXPECT_FALSE(item.contains("progress"));
}

TEST_F(AcceptedTaskQueriesTest, GoOnWithTheNextPageWhereOneEnds) {
  store_caller(3);
  for (uint8_t number = 1; number <= 3; ++number) accept(called_task(number));
  const std::string ids[] = {to_string(task_id(1)), to_string(task_id(2)), to_string(task_id(3))};
  const auto expected = ElementsAre(ElementsAre(ids[0], ids[1]), ElementsAre(ids[2]));
  EXPECT_THAT(pages("task", 2, each_page()), expected);
  EXPECT_THAT(pages("task", 2, each_page(numbered_id(1))), expected);
}

TEST_F(AcceptedTaskQueriesTest, EndAPageIfTheTimeIsOverAndGoOnBehindTheLastTask) {
  write_task(*tx, task(1));
  accept(task(2));
  clock.let_looks_take(std::chrono::seconds(10));
  const Json cut = answer(list());
  EXPECT_THAT(cut["items"], IsEmpty());
  EXPECT_EQ(cut["complete"], true) << "the next page goes on";
  EXPECT_EQ(cut["looked"], 1);
  ASSERT_EQ(cut["next"], to_string(task_id(1)));
  const Json rest = answer(list({.cursor = to_string(task_id(1))}));
  EXPECT_EQ(rest["items"].size(), 1U);
}

TEST_F(AcceptedTaskQueriesTest, PassOverADamagedRow) {
  accept(task(1));
  accept(task(2));
  damage(Table::kTasks, rows::key_of(task_id(1)));
  EXPECT_EQ(answer(list())["items"].size(), 1U);
}

}  // namespace
}  // namespace millrace
