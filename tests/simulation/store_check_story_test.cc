// The store check reports damage to instances and calls that contradicts their history, their
// definition or their caller.
#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/simulation/store_damage.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

template <class Change>
void edit_failed(Transaction& tx, const Change& change) {
  edit(tx, Table::kEnded, key_of(id_of("fails"), Part::kHead), decode_head, encode_head, change);
}

/// Changes the history of the ended instance of `fails`, which has one row.
template <class Change>
void edit_history_of_failed(Transaction& tx, const Change& change) {
  const uint64_t number = read_instance(tx, kDefault, id_of("fails")).value()->last_history;
  edit<HistoryRow>(tx, Table::kHistory, rows::key_of(number), decode_history, encode, change);
}

/// Replaces the detail of the record of the start. The history of the instance has one row.
void change_start(Transaction& tx, const std::string& workflow, const Json& detail) {
  edit_history(tx, workflow, [&](HistoryRow& row) { row.records.front().detail = detail; });
}

/// The first live instance for which `is_one` holds.
template <class Test>
InstanceId find_one(const View& view, const Test& is_one) {
  InstanceId found;
  EXPECT_TRUE(each_live(view, kDefault, std::nullopt, [&](const Instance& head) {
    if (is_one(head)) found = head.id;
    return found == InstanceId();
  }));
  EXPECT_NE(found, InstanceId());
  return found;
}

/// Changes the call of an instance that waits for the next attempt of that call.
template <class Change>
void edit_waiting_call(Transaction& tx, const Change& change) {
  const InstanceId id = find_one(tx, [&](const Instance& head) {
    if (head.calls.empty()) return false;
    return read_live(tx, kDefault, head.id).value()->calls[0].status == Call::Status::kBetween;
  });
  edit(tx, Table::kLive, call_key(id, 0), decode_call, encode_call, change);
}

/// Changes a task for which no call waits.
template <class Change>
void edit_detached_task(Transaction& tx, const Change& change) {
  std::string found;
  tx.scan(Table::kTasks, {}, [&](std::string_view key, std::string_view value) {
    const auto task = rows::decode(tx, Table::kTasks, key, value, decode_task);
    if (task && !task->caller) found.assign(key);
    return found.empty();
  });
  edit<StartTask>(tx, Table::kTasks, found, decode_task, encode, change);
}

const Plant kStoryPlants[] = {
    // Errors.
    {"a head with another error code than its history",
     {"instance.status"},
     [](Transaction& tx) {
       edit_failed(tx, [](Instance& head) { head.error->code = "another.error"; });
     }},
    {"a head with another error message than its history",
     {"instance.status"},
     [](Transaction& tx) {
       edit_failed(tx, [](Instance& head) { head.error->message = "it worked"; });
     }},
    {"a history with another error code than its head",
     {"instance.status"},
     [](Transaction& tx) {
       edit_history_of_failed(tx, [](HistoryRow& row) {
         for (HistoryRecord& record : row.records) {
           if (record.kind != HistoryKind::kFixed) continue;
           record.detail = Json{{"code", "another.error"}, {"msg", "it had to"}};
         }
       });
     }},
    {"a failed attempt that the history does not have",
     {"row.value"},
     [](Transaction& tx) { edit_failed(tx, [](Instance& head) { head.failed_attempt = 7; }); }},
    {"a failed state in which nothing failed",
     {"instance.state"},
     [](Transaction& tx) {
       edit_head(tx, "shifts", [](Instance& head) { head.failed_state = "shift"; });
     }},
    {"an attempt of a state that the history does not have",
     {"row.value"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.attempt = 5; }); }},

    // The start.
    {"a history that starts with another revision",
     {"instance.state"},
     [](Transaction& tx) {
       change_start(tx, "naps", {{"by", "call"}, {"revision", 2}});
     }},
    {"a start by an event of an instance with an idempotency key",
     {"instance.status"},
     [](Transaction& tx) {
       change_start(tx, "naps",
                    {{"by", "event"},
                     {"event", {{"type", "t"}, {"source", "/s"}, {"id", "1"}}},
                     {"revision", 1}});
     }},
    {"a start of an unknown kind",
     {"row.value"},
     [](Transaction& tx) {
       change_start(tx, "shifts", {{"by", "chance"}, {"revision", 1}});
     }},
    {"a start by a schedule of a workflow without a schedule",
     {"instance.status"},
     [](Transaction& tx) {
       change_start(tx, "shifts", {{"by", "schedule"}, {"revision", 1}, {"triggered", true}});
     }},
    {"a start by another instance than the caller",
     {"instance.status"},
     [](Transaction& tx) {
       change_start(tx, "child",
                    {{"by", "subflow"}, {"parent", to_string(kUnknownId)}, {"revision", 1}});
     }},
    {"hops of an instance that a call started",
     {"instance.status"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.hops = 1; }); }},
    {"more hops than any event has",
     {"row.value"},
     [](Transaction& tx) { edit_head(tx, "child", [](Instance& head) { head.hops = 102; }); }},
    {"a traceparent of an instance that a call started",
     {"instance.status"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.traceparent = "00-1-1-01"; });
     }},

    // Flags.
    {"a pause that the history does not have",
     {"instance.status"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) {
         head.paused = true;
         head.status = InstanceStatus::kPaused;
         head.held_timers = std::exchange(head.timers, {});
       });
     }},
    {"an instance that has lost its pause",
     {"instance.status"},
     [](Transaction& tx) {
       const InstanceId id = find_one(tx, [](const Instance& head) { return head.paused; });
       edit(tx, Table::kLive, key_of(id, Part::kHead), decode_head, encode_head,
            [](Instance& head) {
              head.paused = false;
              head.status = InstanceStatus::kWaiting;
              head.timers = std::exchange(head.held_timers, {});
            });
     }},
    {"a cancellation that the history does not have",
     {"instance.status"},
     [](Transaction& tx) {
       edit_head(tx, "order", [](Instance& head) { head.cancelling = true; });
     }},
    {"a manual retry that the history does not have",
     {"instance.status"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.retried = true; }); }},
    {"a manual retry of an ended instance that the history does not have",
     {"instance.status"},
     [](Transaction& tx) { edit_failed(tx, [](Instance& head) { head.retried = true; }); }},
    {"erased records of a history that is complete",
     {"history.count"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) {
         head.history_count += 5;
         head.history_trimmed = 5;
       });
     }},
    {"an event that woke an instance that still waits",
     {"instance.status"},
     [](Transaction& tx) {
       edit_history(tx, "waits", [](HistoryRow& row) {
         HistoryRecord woken{.time = row.records.back().time, .kind = HistoryKind::kWoken};
         woken.state = "wait";
         woken.detail = Json{{"type", "go"}, {"source", "/s"}, {"id", "1"}};
         row.records.push_back(woken);
       });
       edit_head(tx, "waits", [](Instance& head) { ++head.history_count; });
     }},
    {"a wait for the run after the next one",
     {"row.value"},
     [](Transaction& tx) {
       edit_history(tx, "again", [](HistoryRow& row) {
         for (HistoryRecord& record : row.records) {
           if (record.kind != HistoryKind::kRetrying) continue;
           record.detail = Json{{"run", 3}, {"at", record.detail.value().at("at")}};
         }
       });
     }},

    // Times, steps and depths.
    {"an execution that started before its instance",
     {"instance.status"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.execution_from -= minutes(1); });
     }},
    {"a run that was scheduled before its instance started",
     {"instance.status"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.runs_from -= minutes(1); });
     }},
    {"an entry into a state before the start of the run",
     {"instance.status"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.state_from -= minutes(1); });
     }},
    {"more steps in a state than its phase allows",
     {"row.value"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.step += 5; }); }},
    {"more transitions than records",
     {"row.value"},
     [](Transaction& tx) {
       edit_head(tx, "shifts", [](Instance& head) {
         head.transitions = 1'000;
         head.step += 1'000;
         head.entered += 1'000;
       });
     }},
    {"a subflow that is deeper than one below its caller",
     {"row.value"},
     [](Transaction& tx) { edit_head(tx, "child", [](Instance& head) { head.depth = 2; }); }},
    {"an instance with a depth and without a caller",
     {"row.value"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.depth = 1; }); }},

    // Calls and tasks.
    {"a retry of a call at another time than in the history",
     {"call.state"},
     [](Transaction& tx) {
       edit_waiting_call(tx, [](Call& call) { *call.retry_at += hours(1); });
     }},
    {"an attempt of a call that the history does not have",
     {"call.state"},
     [](Transaction& tx) { edit_waiting_call(tx, [](Call& call) { call.attempt = 5; }); }},
    {"a call with another error than in the history",
     {"call.state"},
     [](Transaction& tx) {
       edit_waiting_call(tx, [](Call& call) { call.last_error->error.code = "another.error"; });
     }},
    {"a call with another error message than in the history",
     {"call.state"},
     [](Transaction& tx) {
       edit_waiting_call(tx, [](Call& call) { call.last_error->error.message = "yes"; });
     }},
    {"a first attempt before the call was made",
     {"call.state"},
     [](Transaction& tx) {
       edit_call(tx, "ships", [](Call& call) { *call.first_at -= minutes(1); });
     }},
    {"a deadline of a call in the next year",
     {"call.state"},
     [](Transaction& tx) {
       edit_call(tx, "ships", [](Call& call) { *call.deadlines[0] += hours(9'000); });
     }},
    {"a deadline from the start of an attempt that has not started",
     {"call.state"},
     [](Transaction& tx) {
       edit_call(tx, "ships", [](Call& call) {
         call.deadlines[static_cast<size_t>(TimeoutKind::kStartToClose)] = call.deadlines[0];
       });
     }},
    {"a result of a call that runs",
     {"call.state"},
     [](Transaction& tx) {
       edit_call(tx, "ships", [](Call& call) { call.result = LazyJson(1); });
     }},
    {"a task with a file that its function does not have",
     {"task.caller"},
     [](Transaction& tx) {
       edit_task(tx, "ships", [](StartTask& task) { task.files.push_back({.key = "k"}); });
     }},
    {"a detached task with a deadline",
     {"row.value"},
     [](Transaction& tx) {
       edit_detached_task(tx, [](StartTask& task) { task.deadline = from_millis(1); });
     }},
    {"a detached task of another workflow than its instance",
     {"row.value"},
     [](Transaction& tx) {
       const WorkflowNumber naps = number_of(tx, "naps");
       edit_detached_task(tx, [&](StartTask& task) { task.workflow = naps; });
     }},
    {"a detached task of an unknown state",
     {"row.value"},
     [](Transaction& tx) {
       edit_detached_task(tx, [](StartTask& task) { task.state = "elsewhere"; });
     }},
};

TEST(StoreCheck, FindsInstancesThatContradictTheirHistory) { expect_each_found(kStoryPlants); }

}  // namespace

std::span<const Plant> story_plants() { return kStoryPlants; }

}  // namespace millrace
