// TaskDispatchTest: the dispatch of tasks on a store in a new folder, with a runner that records.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "scenarios/virtual_clock.h"
#include "tests/unit/support/catalog_store.h"
#include "tests/unit/support/recorders.h"

namespace millrace {

inline constexpr std::chrono::seconds kHeartbeat{10};

class TaskDispatchTest : public CatalogStoreTest {
 protected:
  StartTask task(uint8_t number) {
    return {.ns = ns,
            .task = numbered_id(number),
            .by = numbered_id(200),
            .workflow = WorkflowNumber(1),
            .state = "pay",
            .function = "charge",
            .attempt = 2,
            .runs = NamedService{.name = "charges"},
            .input = Json{{"sum", number}}};
  }
  StartTask with_heartbeat(uint8_t number) {
    StartTask one = task(number);
    one.heartbeat = kHeartbeat;
    return one;
  }
  StartTask with_file(uint8_t number) {
    StartTask one = task(number);
    one.files = {{.key = "prices", .scope = VariableScope::kNamespace, .as = "prices.txt"}};
    return one;
  }
  VariableName prices() {
    return {owner_of(ns, WorkflowNumber(1), numbered_id(200), VariableScope::kNamespace), "prices"};
  }
  void put_prices(const std::string& bytes) {
    write_variable(*tx, prices(), {.content_type = "text/plain", .bytes = bytes});
    commit();
  }

  /// A batch that starts these tasks.
  void begin(const std::vector<StartTask>& all) {
    for (const StartTask& one : all) tasks->begin(*tx, one);
    commit_tasks();
  }
  void commit_tasks() {
    commit();
    batches.begin();
  }
  void lose_batch() {
    tx->drop();
    tasks->undo();
  }
  /// Hands out a task as after a commit, and then as in the following turn.
  void hand_out(const StartTask& one) {
    tasks->hand_out(one);
    if (!one.files.empty()) {
      const Status done = tasks->hand_out_due(*tx);
      EXPECT_TRUE(done) << done.error().message;
    }
  }
  /// Hands out due tasks; returns their ids.
  std::vector<InstanceId> hand_out_due() {
    const Status done = tasks->hand_out_due(*tx);
    EXPECT_TRUE(done) << done.error().message;
    return runner.take_ran();
  }
  /// Restarts the process on the same store.
  void restart() {
    started = std::make_unique<StartedTasks>();
    tasks = make();
    const Status loaded = tasks->load(*tx);
    EXPECT_TRUE(loaded) << loaded.error().message;
  }
  std::unique_ptr<TaskDispatch> make(CallBudget::Limits limits = {}) {
    return std::make_unique<TaskDispatch>(runner, catalog, clock, *started, damages, batches,
                                          limits);
  }

  /// Writes the caller of a task, an instance with this task as its only call; returns the task.
  StartTask called(uint8_t number, std::optional<TimePoint> deadline, bool has_started) {
    StartTask one = with_heartbeat(number);
    Instance caller{.id = numbered_id(200),
                    .ns = ns,
                    .revision = {WorkflowNumber(1), 1},
                    .status = InstanceStatus::kWaiting,
                    .phase = Phase::kWaiting,
                    .entered = 3,
                    .input = Json::object(),
                    .data = Json::object()};
    Call& call = caller.calls.emplace_back();
    call.status = Call::Status::kRunning;
    call.attempt = 2;
    call.id = one.task;
    call.outside = true;
    call.started = has_started;
    call.deadlines[static_cast<size_t>(TimeoutKind::kScheduleToClose)] = deadline;
    one.caller = Caller{.instance = caller.id, .entered = 3, .index = 0, .attempt = 2};
    const std::vector<Call> stored;
    write_instance(*tx, caller, {.input = true, .data = true, .calls = &stored});
    return one;
  }

  VirtualClock clock;
  RecordingRunner runner;
  std::unique_ptr<StartedTasks> started = std::make_unique<StartedTasks>();
  std::unique_ptr<TaskDispatch> tasks = make();
};

}  // namespace millrace
