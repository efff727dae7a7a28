// Checks of the work that remains after a commit: instance messages, and tasks with the calls that
// wait for them.
#include <algorithm>
#include <utility>
#include <variant>

#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "states/state.h"

namespace millrace {

// Instance messages.

void Checker::check_inbox() {
  each_row(Table::kInbox, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kInbox, key};
    const auto number = number_key(place);
    if (!number) return;
    note_given(Counter::kInbox, *number, place);
    const auto record = open_and_decode(place, value, decode_inbox);
    if (!record) return;
    note_given(Counter::kKeptEvents, record->listen_from.kept, place);
    check_position(record->listen_from.event, place);
    const NamespaceNumber ns =
        std::visit([](const auto& message) { return message.ns; }, record->message);
    note_given(Counter::kNamespace, static_cast<uint32_t>(ns), place);
    if (const auto* const start = std::get_if<StartChild>(&record->message)) {
      check_utf8(start->workflow, place, "the name of the workflow");
      check_json(start->input.text(), place, "the input");
      check_depth(*start, place);
      check_hops(start->hops, place);
      starts_.emplace(start->child, start->caller);
      if (start->caller && start->caller->instance != start->by) {
        add(StoreFault::kRowValue, place,
            fmt::format("the instance message starts a subflow for a call of {}, but says that {} "
                        "starts it",
                        to_string(start->caller->instance), to_string(start->by)));
      }
      if (exists(start->ns, start->child)) {
        add(StoreFault::kInstanceMessageTwice, place,
            fmt::format("subflow {} exists, but the instance message starts it",
                        to_string(start->child)));
      }
    } else if (const auto* const cancel = std::get_if<CancelChild>(&record->message)) {
      cancels_.insert(cancel->child);
      check_cancel(*cancel, place);
    } else {
      const auto& result = std::get<ReturnResult>(record->message);
      returns_.insert(place_of(result.to));
      if (result.result) check_json(result.result->text(), place, "the result");
      check_return(result, place);
    }
  });
}

/// Checks that the caller of a subflow that a message cancels does not wait for the subflow. The
/// server skips such a message, too. An operator may have started a run of the subflow since:
/// then it has no caller.
void Checker::check_cancel(const CancelChild& cancel, const Place& place) {
  const Known child = find(Table::kLive, cancel.ns, cancel.child);
  if (!child.head || !child.head->caller) return;
  const Caller& caller = *child.head->caller;
  bool known = true;
  const auto call = waiting_call(cancel.ns, caller, known);
  if (!call || call->outside || call->id != cancel.child) return;
  add(StoreFault::kRowValue, place,
      fmt::format("the instance message cancels subflow {}, but call {} of {} waits for its result",
                  to_string(cancel.child), caller.index, to_string(caller.instance)));
}

/// Checks that the subflow or the task of a call for which a message has the result has ended. The
/// subflow ends in the batch that makes the message. If an operator has started a run of the
/// subflow since, that run has no caller. Only if a quota refused the task of a call, its result
/// comes in an instance message; then there is no such task.
void Checker::check_return(const ReturnResult& result, const Place& place) {
  bool known = true;
  const auto call = waiting_call(result.ns, result.to, known);
  if (!call) return;
  bool runs = false;
  if (call->outside) {
    runs = view_.get(Table::kTasks, rows::key_of(call->id)).has_value();
  } else {
    const Known child = find(Table::kLive, result.ns, call->id);
    runs = child.head && child.head->caller == result.to;
  }
  if (!runs) return;
  add(StoreFault::kRowValue, place,
      fmt::format("the instance message has the result of call {} of {}, but {} {} has not ended",
                  result.to.index, to_string(result.to.instance),
                  call->outside ? "task" : "subflow", to_string(call->id)));
}

/// Checks the depth of a subflow that does not exist yet. If no call waits for it any more, it
/// never starts, and its depth is not known.
void Checker::check_depth(const StartChild& start, const Place& place) {
  uint32_t depth = 0;  // of a detached subflow
  if (start.caller) {
    bool known = true;
    if (!waiting_call(start.ns, *start.caller, known)) return;
    depth = find_live(start.ns, start.caller->instance).head->depth + 1;
  }
  if (start.depth == depth) return;
  add(StoreFault::kRowValue, place,
      fmt::format("the subflow has depth {}, expected {}: one more than its caller, or 0 without a "
                  "caller",
                  start.depth, depth));
}

// Tasks.

void Checker::check_tasks() {
  each_row(Table::kTasks, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kTasks, key};
    const auto task = open_and_decode(place, value, decode_task);
    if (!task) return;
    if (key != rows::key_of(task->task)) {
      add(StoreFault::kRowKey, place,
          fmt::format("the task in the row has the id {}, which is not the key of the row",
                      to_string(task->task)));
      return;
    }
    check_json(task->input.text(), place, "the input");
    if (task->is_accepted) note_minor(kMinorOfAcceptedTasks, "accepted tasks");
    check_task_slot(*task, place);
    if (!task->progress.empty()) note_minor(kMinorOfProgress, "progress of tasks");
    note_given(Counter::kWorkflow, static_cast<uint32_t>(task->workflow), place);
    if (task->attempt == 0 || (task->heartbeat && *task->heartbeat <= Duration(0)) ||
        (task->caller && task->caller->instance != task->by)) {
      add(StoreFault::kRowValue, place,
          fmt::format(
              "the attempt {}, the heartbeat or the caller of the task is not valid (instance {})",
              task->attempt, to_string(task->by)));
    }
    if (!check_namespace(task->ns, place)) return;
    if (!task->caller) return check_detached(*task, place);
    bool known = true;
    const auto call = waiting_call(task->ns, *task->caller, known);
    if (!known || (call && call->outside && call->id == task->task)) return;
    add(StoreFault::kTaskCaller, place,
        fmt::format("call {} of {} does not wait for this task", task->caller->index,
                    to_string(task->caller->instance)));
  });
}

/// Checks a task for which no call waits. It has no timeouts and no second attempt, and its
/// instance may have ended or may have been deleted.
void Checker::check_detached(const StartTask& task, const Place& place) {
  const auto wrong = [&](std::string found) {
    add(StoreFault::kRowValue, place, std::move(found));
  };
  if (task.attempt != 1 || task.deadline || task.heartbeat || task.start_to_close) {
    wrong("no call waits for the task, but it has a second attempt, a deadline or a timeout");
  }
  Known by = find(Table::kLive, task.ns, task.by);
  if (!by.exists) by = find(Table::kEnded, task.ns, task.by);
  if (!by.head) return;
  const Revision revision = by.head->revision;
  if (revision.workflow != task.workflow) {
    return wrong(fmt::format("the task belongs to workflow {}, but its instance {} to workflow {}",
                             static_cast<uint32_t>(task.workflow), to_string(task.by),
                             static_cast<uint32_t>(revision.workflow)));
  }
  const auto workflow = definition(revision);
  if (workflow == nullptr) return;
  const bool has_state =
      std::any_of(workflow->states.begin(), workflow->states.end(),
                  [&](const auto& state) { return state->common().id == task.state; });
  if (has_state) return;
  wrong(
      fmt::format("the task is of state \"{}\", but the revision of its instance {} has no such "
                  "state",
                  task.state, to_string(task.by)));
}

std::optional<Call> Checker::waiting_call(NamespaceNumber ns, const Caller& caller, bool& known) {
  const Known& parent = find_live(ns, caller.instance);
  known = !parent.exists || parent.head;
  if (!parent.head || parent.head->entered != caller.entered ||
      caller.index >= parent.head->calls.size()) {
    return std::nullopt;
  }
  Writer key;
  key.raw(rows::instance_prefix(ns, caller.instance));
  key.u8(static_cast<uint8_t>(Part::kCall));
  key.u32(caller.index);
  const auto value = view_.get(Table::kLive, key.view());
  if (!value) return std::nullopt;
  const auto call = rows::decode(view_, Table::kLive, key.view(), *value, decode_call);
  known = call.has_value();
  if (!call || call->status != Call::Status::kRunning || call->attempt != caller.attempt) {
    return std::nullopt;
  }
  return *call;
}

}  // namespace millrace
