#include "orchestrator/runtime/draft.h"

#include "orchestrator/runtime/messages.h"
#include "orchestrator/runtime/outbox.h"

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

Status Draft::send(const OutboxRecord& record) {
  write_outbox(tx, TRY(next(Counter::kOutbox)), record);
  outcome.outbox_bytes += size_of(record);
  return {};
}

}  // namespace millrace
