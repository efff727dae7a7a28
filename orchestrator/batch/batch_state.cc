#include "orchestrator/batch/batch_state.h"

#include <algorithm>

#include "cloudevents/json_format.h"
#include "matchers/glob.h"
#include "orchestrator/outgoing/lifecycle.h"
#include "orchestrator/outgoing/messages.h"

namespace millrace {

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
      hooks.add(tx, TRY(next(Counter::kHook)),
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
  outcome.messages.push_back({number, std::move(record)});
  return {};
}

}  // namespace millrace
