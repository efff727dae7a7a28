#include "orchestrator/batch/batch_state.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "matchers/glob.h"
#include "model/hops.h"
#include "orchestrator/outgoing/lifecycle.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// One overload for each effect: a new one does not compile without.
struct Stage {
  Draft& draft;
  const Instance& instance;

  Status operator()(Publish& asked) const {
    if (hops_of(asked.event) > kMaxHops) return refuse(asked);
    if (!asked.at) {
      return draft.publish(asked.space, instance.id, asked.event, instance.sealed);
    }
    const uint64_t number = TRY(draft.next(Counter::kDelayed));
    write_delayed(draft.tx, number,
                  {.space = asked.space,
                   .instance = instance.id,
                   .at = *asked.at,
                   .event = encode_json_event(asked.event),
                   .sealed = instance.sealed});
    draft.waiting.arm_delayed(number, *asked.at);
    return {};
  }
  Status operator()(SetVariable& asked) const {
    if (asked.value) {
      write_variable(draft.tx, asked.name, *asked.value);
    } else {
      erase_variable(draft.tx, asked.name);
    }
    return {};
  }
  Status operator()(StartTask& task) const {
    draft.tasks.begin(draft.tx, task);
    draft.after_commit(std::move(task));
    return {};
  }
  Status operator()(StopTask& task) const {
    draft.tasks.end(draft.tx, task.task);
    draft.after_commit(task);
    return {};
  }
  Status operator()(Evaluate& evaluate) const {
    draft.after_commit(std::move(evaluate));
    return {};
  }
  Status operator()(StartChild& errand) const { return queue(std::move(errand)); }
  Status operator()(CancelChild& errand) const { return queue(errand); }
  Status operator()(ReturnResult& errand) const { return queue(std::move(errand)); }

 private:
  Status queue(Errand errand) const {
    draft.errands.push_back({std::move(errand), draft.recent.last()});
    return {};
  }
  Status refuse(const Publish& asked) const {
    const std::string& space = draft.catalog.name_of(asked.space);
    return draft.dead_letter(
        {.space = space,
         .reason = {std::string(kHopsError),
                    fmt::format("event {} would be the {}th in a chain of generated events",
                                asked.event.id, kMaxHops + 1)},
         .message = event_message(space, asked.event)},
        instance.sealed);
  }
};

}  // namespace

Status Draft::stage(const Instance& instance, Effect effect) {
  return std::visit(Stage{*this, instance}, effect);
}

Result<uint64_t> Draft::next(Counter counter) {
  const auto found = counters.find(counter);
  const uint64_t number =
      found == counters.end() ? TRY(next_number(tx, counter)) : found->second + 1;
  counters[counter] = number;
  return number;
}

Result<uint64_t> Draft::last(Counter counter) {
  const auto found = counters.find(counter);
  return found == counters.end() ? read_counter(tx, counter) : found->second;
}

Status Draft::publish(NamespaceNumber space, const InstanceId& instance, const Event& event,
                      bool sealed) {
  ++outcome.counts.published;
  return send({instance, event_message(catalog.name_of(space), event), sealed});
}

Status Draft::dead_letter(const DeadLetter& letter, bool sealed) {
  ++outcome.counts.dead_letters;
  NatsMessage message = dead_letter_message(letter, cursor.stream_created);
  const NamespaceNumber space =
      letter.number.value_or(catalog.find_namespace(letter.space).value_or(NamespaceNumber(0)));
  message.headers.emplace_back(kDeadLetterNamespace, std::to_string(static_cast<uint32_t>(space)));
  return send({std::nullopt, std::move(message), sealed});
}

Status Draft::tell(const Instance& instance, std::span<const HistoryRecord> records,
                   uint64_t first) {
  const NamespaceSettings& settings = catalog.settings(instance.space);
  if (!settings.tells()) return {};
  const WorkflowEntry* const workflow = catalog.find_workflow(instance.revision.workflow);
  const LifecycleOf of{.space = catalog.name_of(instance.space),
                       .workflow = workflow == nullptr ? std::string_view() : workflow->id,
                       .instance = instance};
  for (const Event& event : lifecycle_events(of, records, first)) {
    if (settings.lifecycle) TRY(send({instance.id, lifecycle_message(of, event), instance.sealed}));
    for (const WebhookSetting& hook : settings.webhooks) {
      const auto wants = [&](const std::string& glob) { return glob_matches(glob, event.type); };
      if (!hook.types.empty() && std::none_of(hook.types.begin(), hook.types.end(), wants)) {
        continue;
      }
      const uint64_t number = TRY(next(Counter::kHook));
      hooks.add(tx, number,
                {.space = instance.space,
                 .url = hook.url,
                 .at = records.back().time,
                 .event = encode_json_event(event),
                 .sealed = instance.sealed});
    }
  }
  return {};
}

Status Draft::send(OutboxRecord record) {
  const uint64_t number = TRY(next(Counter::kOutbox));
  write_outbox(tx, number, record);
  after_commit(NumberedMessage{number, std::move(record)});
  return {};
}

}  // namespace millrace
