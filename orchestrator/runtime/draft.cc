#include "orchestrator/runtime/draft.h"

#include "orchestrator/runtime/messages.h"

namespace millrace {

Result<uint64_t> Draft::next(Counter counter) {
  auto found = counters.find(counter);
  if (found == counters.end()) {
    found = counters.emplace(counter, TRY(read_counter(tx, counter))).first;
  }
  return ++found->second;
}

Status Draft::publish(NamespaceNumber space, const InstanceId& instance, const Event& event,
                      bool sealed) {
  ++outcome.counts.published;
  return send({instance, event_message(catalog.name_of(space), event), sealed});
}

Status Draft::dead_letter(const DeadLetter& letter, bool sealed) {
  ++outcome.counts.dead_letters;
  return send({std::nullopt, dead_letter_message(letter, cursor.stream_created), sealed});
}

Status Draft::send(OutboxRecord record) {
  const uint64_t number = TRY(next(Counter::kOutbox));
  write_outbox(tx, number, record);
  outcome.messages.push_back({number, std::move(record)});
  return {};
}

}  // namespace millrace
