// The store check reports damage to instances and their calls, tasks, messages and history.
#include <gtest/gtest.h>

#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/simulation/store_damage.h"

namespace millrace {
namespace {

using std::chrono::hours;

const Plant kInstancePlants[] = {
    {"a head of another instance",
     {"instance.key"},
     [](Transaction& tx) { edit_head(tx, "both", [](Instance& head) { head.id = kUnknownId; }); }},
    {"an instance that is both live and ended",
     {"instance.twice", "history.order"},
     [](Transaction& tx) {
       edit_head(tx, "both", [&](Instance head) {
         head.status = InstanceStatus::kComplete;
         head.phase = Phase::kEnded;
         head.ended_at = head.started_at;
         head.listeners.clear();
         const auto whole = read_instance(tx, kDefault, head.id).value();
         head.input = whole->input;
         head.data = whole->data;
         tx.put(Table::kEnded, key_of(head.id, Part::kHead), encode_head(head));
         tx.put(Table::kEnded, key_of(head.id, Part::kInput), head.input.text());
       });
     }},
    {"an instance that is paused and waits",
     {"instance.status"},
     [](Transaction& tx) { edit_head(tx, "both", [](Instance& head) { head.paused = true; }); }},
    {"an ended instance with a timer",
     {"instance.status"},
     [](Transaction& tx) {
       edit(tx, Table::kEnded, key_of(id_of("fails"), Part::kHead), decode_head, encode_head,
            [](Instance& head) {
              head.timers = {{TimerKind::kKill, head.started_at}};
            });
     }},
    {"a state that its workflow does not have",
     {"instance.state"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.state = 7; }); }},
    {"a history record of an unknown state",
     {"instance.state", "row.value"},
     [](Transaction& tx) {
       edit_history(tx, "naps", [](HistoryRow& row) { row.records.back().state = "nowhere"; });
     }},
    {"a failed state without the data that its head mentions",
     {"instance.parts"},
     [](Transaction& tx) {
       tx.erase(Table::kEnded, key_of(id_of("fails"), Part::kFailedData));
       edit(tx, Table::kEnded, key_of(id_of("fails"), Part::kHead), decode_head, encode_head,
            [](Instance& head) { head.failed_data = LazyJson(Json::object()); });
     }},
    {"data of a failed state that its head does not mention",
     {"instance.parts"},
     [](Transaction& tx) { tx.put(Table::kLive, key_of(id_of("both"), Part::kFailedData), "{}"); }},
    {"an instance without its input",
     {"instance.parts"},
     [](Transaction& tx) { tx.erase(Table::kLive, key_of(id_of("naps"), Part::kInput)); }},
    {"a missing call",
     {"instance.parts", "instance.caller"},
     [](Transaction& tx) { tx.erase(Table::kLive, call_key(id_of("parent"), 1)); }},
    {"an ended instance without its data",
     {"instance.parts"},
     [](Transaction& tx) {
       const std::string key = key_of(id_of("keeps"), Part::kData);
       edit<HistoryRow>(
           tx, Table::kHistory,
           rows::key_of(read_instance(tx, kDefault, id_of("keeps")).value()->last_history),
           decode_history, encode, [](HistoryRow& row) {
             row.with_input.clear();
             for (HistoryRecord& record : row.records) record.data.reset();
           });
       tx.put(Table::kEnded, key, "");
     }},
    {"a delay without its timer",
     {"instance.stuck"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.timers.clear(); }); }},
    {"two timers of one kind",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_head(tx, "waits", [](Instance& head) { head.timers.push_back(head.timers.front()); });
     }},
    {"a deadline of a call without a timer",
     {"instance.timers"},
     [](Transaction& tx) {
       edit_call(tx, "parent", [](Call& call) { call.deadlines[0] = *call.first_at; });
     }},
    {"a listener for an event of another type",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "waits", [](Instance& head) { head.listeners[0].filter.type = "other"; });
     }},
    {"a listener of an entry that has its event",
     {"instance.listeners"},
     [](Transaction& tx) {
       edit_head(tx, "both", [](Instance& head) {
         head.listeners.push_back(head.listeners.front());
         head.listeners.back().entry = 0;
       });
     }},
    {"a sealed row of an instance that is not sealed",
     {"idempotency.instance", "instance.seal"},
     [](Transaction& tx) {
       rows::put(tx, Table::kLive, key_of(id_of("naps"), Part::kInput), "{}", true);
     }},
    {"a plain call whose action reads a secret",
     {"instance.seal"},
     [](Transaction& tx) { unseal(tx, Table::kLive, call_key(id_of("order"), 0)); }},
    {"a plain task whose action reads a secret",
     {"instance.seal"},
     [](Transaction& tx) {
       const auto call = read_live(tx, kDefault, id_of("order")).value()->calls.at(0);
       unseal(tx, Table::kTasks, rows::key_of(call.id));
     }},
    {"a plain history of a sealed instance",
     {"instance.seal"},
     [](Transaction& tx) {
       const std::string head = key_of(id_of("naps"), Part::kHead);
       rows::put(tx, Table::kLive, head, std::string(*tx.get(Table::kLive, head)), true);
     }},
    {"a missing idempotency key",
     {"instance.idempotency"},
     [](Transaction& tx) {
       tx.erase(Table::kIdempotency,
                rows::workflow_prefix(number_of(tx, "naps")).append("key of naps"));
     }},
    {"a subflow of another attempt",
     {"instance.caller", "call.child"},
     [](Transaction& tx) {
       edit_head(tx, "child", [](Instance& head) { ++head.caller->attempt; });
     }},
    {"a call that runs and waits for its next attempt",
     {"call.state"},
     [](Transaction& tx) {
       edit_call(tx, "parent", [](Call& call) { call.retry_at = call.first_at; });
     }},
    {"a missing task",
     {"call.task"},
     [](Transaction& tx) {
       const InstanceId task = read_live(tx, kDefault, id_of("order")).value()->calls.front().id;
       erase_task(tx, task);
     }},
    {"a missing subflow",
     {"call.child"},
     [](Transaction& tx) {
       const auto child = read_live(tx, kDefault, id_of("child")).value();
       for (const Part part : {Part::kHead, Part::kInput, Part::kData}) {
         tx.erase(Table::kLive, key_of(child->id, part));
       }
       erase_with_history(tx, *child);
     }},
    {"a task without a call",
     {"task.caller"},
     [](Transaction& tx) {
       const InstanceId id = read_live(tx, kDefault, id_of("order")).value()->calls.front().id;
       StartTask task = *read_task(tx, id).value();
       task.task = kUnknownId;
       write_task(tx, task);
     }},
    {"an instance message that starts a live subflow",
     {"errand.twice"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kInbox, 1);
       write_inbox(tx, 1,
                   {.message = StartChild{.ns = kDefault,
                                          .child = id_of("child"),
                                          .workflow = "child",
                                          .by = id_of("parent")}});
     }},
    {"a missing history row",
     {"history.missing"},
     [](Transaction& tx) { tx.erase(Table::kHistory, rows::key_of(last_history(tx, "naps"))); }},
    {"a history row of another instance",
     {"history.owner"},
     [](Transaction& tx) {
       edit_history(tx, "naps", [](HistoryRow& row) { row.instance = kUnknownId; });
     }},
    {"a history that goes back in time",
     {"history.order", "instance.timers"},
     [](Transaction& tx) {
       edit_history(tx, "naps", [](HistoryRow& row) {
         row.records.back().time = row.records.front().time - hours(1);
       });
     }},
    {"a history with a cycle",
     {"history.order"},
     [](Transaction& tx) {
       const uint64_t number = last_history(tx, "naps");
       edit<HistoryRow>(tx, Table::kHistory, rows::key_of(number), decode_history, encode,
                        [&](HistoryRow& row) { row.previous = number; });
     }},
    {"a head that counts one record too many",
     {"history.count"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { ++head.history_count; }); }},
    {"a history row of an instance that does not exist",
     {"history.orphan"},
     [](Transaction& tx) {
       const uint64_t number = *read_counter(tx, Counter::kHistory) + 1;
       write_counter(tx, Counter::kHistory, number);
       write_history(tx, number, {.ns = kDefault, .instance = kUnknownId});
     }},
    // Numbers and names in a head.
    {"an unknown exit of a state",
     {"instance.state"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.exit = 99; }); }},
    {"an unknown failed state",
     {"instance.state"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.failed_state = "nowhere"; });
     }},
    {"the flag of `on_failure` in a workflow without it",
     {"instance.status"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.failing = true; }); }},
    {"a retry policy that counts from a later run",
     {"row.value"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.first_run = 9; }); }},
    {"a run that the history does not have",
     {"row.value"},
     [](Transaction& tx) { edit_head(tx, "naps", [](Instance& head) { head.run = 5; }); }},
    {"more transitions than steps",
     {"row.value"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.transitions = 1'000; });
     }},
    {"a second state without a transition",
     {"row.value"},
     [](Transaction& tx) {
       edit_head(tx, "shifts", [](Instance& head) { head.transitions = 0; });
     }},
    {"an execution that starts next year",
     {"row.time"},
     [](Transaction& tx) {
       edit_head(tx, "naps", [](Instance& head) { head.execution_from += hours(9'000); });
     }},

    // Compensations.
    {"a missing compensation",
     {"instance.parts"},
     [](Transaction& tx) { tx.erase(Table::kEnded, compensation_key(id_of("halts"), 0)); }},
    {"a compensation that does not decode",
     {"row.record"},
     [](Transaction& tx) {
       tx.put(Table::kEnded, compensation_key(id_of("halts"), 1), "rubbish");
     }},
    {"a compensation of a state for each of its calls, and not for the state",
     {"instance.state"},
     [](Transaction& tx) {
       edit<Compensation>(tx, Table::kEnded, compensation_key(id_of("halts"), 0),
                          decode_compensation, encode_compensation,
                          [](Compensation& one) { one.of_call = false; });
     }},
    {"a compensation of no instance",
     {"instance.no_head"},
     [](Transaction& tx) {
       tx.put(Table::kEnded, compensation_key(kUnknownId, 0),
              encode_compensation({.input = Json(1)}));
     }},
    {"a compensation that is made and has another input than its call",
     {"call.state", "task.caller"},
     [](Transaction& tx) {
       edit<Compensation>(tx, Table::kEnded, compensation_key(id_of("undoes"), 1),
                          decode_compensation, encode_compensation,
                          [](Compensation& one) { one.input = Json(5); });
     }},

    // Calls and tasks.
    {"a task of another state",
     {"task.caller"},
     [](Transaction& tx) {
       edit_task(tx, "ships", [](StartTask& task) { task.state = "elsewhere"; });
     }},
    {"a task of another service",
     {"task.caller"},
     [](Transaction& tx) {
       edit_task(tx, "ships", [](StartTask& task) { task.runs = NamedService{"sheep"}; });
     }},
    {"a task with another input",
     {"task.caller"},
     [](Transaction& tx) {
       edit_task(tx, "ships", [](StartTask& task) { task.input = Json{{"n", 9}}; });
     }},
    {"a call without its deadlines",
     {"call.state"},
     [](Transaction& tx) { edit_call(tx, "ships", [](Call& call) { call.deadlines = {}; }); }},
};

TEST(StoreCheck, FindsDamageToInstances) { expect_each_found(kInstancePlants); }

}  // namespace

std::span<const Plant> instance_plants() { return kInstancePlants; }

}  // namespace millrace
