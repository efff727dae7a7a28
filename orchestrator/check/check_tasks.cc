// Checks of the work that remains after a commit: instance messages, and tasks with the calls that
// wait for them.
#include <variant>

#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/call_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/task_rows.h"

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
      starts_.insert(start->child);
      if (exists(start->ns, start->child)) {
        add(StoreFault::kInstanceMessageTwice, place,
            fmt::format("subflow {} exists, but the instance message starts it",
                        to_string(start->child)));
      }
    } else if (const auto* const cancel = std::get_if<CancelChild>(&record->message)) {
      cancels_.insert(cancel->child);
    } else {
      const auto& result = std::get<ReturnResult>(record->message);
      returns_.insert(place_of(result.to));
      if (result.result) check_json(result.result->text(), place, "the result");
    }
  });
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
    note_given(Counter::kWorkflow, static_cast<uint32_t>(task->workflow), place);
    if (task->attempt == 0 || (task->heartbeat && *task->heartbeat <= Duration(0)) ||
        (task->caller && task->caller->instance != task->by)) {
      add(StoreFault::kRowValue, place,
          fmt::format(
              "the attempt {}, the heartbeat or the caller of the task is not valid (instance {})",
              task->attempt, to_string(task->by)));
    }
    if (!check_namespace(task->ns, place) || !task->caller) return;
    bool known = true;
    const auto call = waiting_call(task->ns, *task->caller, known);
    if (!known || (call && call->outside && call->id == task->task)) return;
    add(StoreFault::kTaskCaller, place,
        fmt::format("call {} of {} does not wait for this task", task->caller->index,
                    to_string(task->caller->instance)));
  });
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
