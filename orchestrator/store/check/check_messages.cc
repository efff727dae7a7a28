// Messages on their way, events that are kept, and what belongs to namespaces and workflows by
// name: variables, secrets, idempotency keys.
#include <algorithm>

#include "base/bytes.h"
#include "cloudevents/nats_binding.h"
#include "cloudevents/subject.h"
#include "model/variable.h"
#include "orchestrator/store/check/checker.h"

namespace millrace {

// Out.

void Checker::check_delayed() {
  each_row(Table::kDelayed, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kDelayed, key};
    const auto number = number_key(place);
    if (!number) return;
    note_given(Counter::kDelayed, *number, place);
    const auto record = open_and_decode(place, value, decode_delayed);
    if (!record) return;
    check_namespace(record->space, place);
    check_event(record->event, place);
  });
}

void Checker::check_outbox() {
  each_row(Table::kOutbox, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kOutbox, key};
    const auto number = number_key(place);
    if (!number) return;
    note_given(Counter::kOutbox, *number, place);
    const auto record = open_and_decode(place, value, decode_outbox);
    if (!record) return;
    const NatsMessage& message = record->message;
    if (!is_publish_subject(message.subject)) {
      add(StoreFault::kRowValue, place, "its subject is not one to publish to");
    } else if (message.subject.starts_with(kEventSubjectPrefix)) {
      const auto event = decode_nats(message);
      if (!event) {
        add(StoreFault::kRowEvent, place,
            fmt::format("the event does not decode: {}", event.error().code));
      }
    }
  });
}

void Checker::check_sent() {
  NumberSet sent;
  each_row(Table::kSent, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kSent, key};
    const auto number = number_key(place);
    if (!number) return;
    const auto record = decode(place, value, decode_sent);
    if (!record) return;
    check_time(record->at, place, "its time");
    if (record->messages.empty()) add(StoreFault::kRowValue, place, "it names no message");
    for (const SentRecord::Message& message : record->messages) {
      const std::string row_key = rows::key_of(message.number);
      note_given(Counter::kOutbox, message.number, place);
      if (!view_.get(Table::kOutbox, row_key)) {
        add(StoreFault::kSentMessage, place,
            fmt::format("message {} is not in the outbox", message.number));
      } else if (!sent.insert(message.number)) {
        add(StoreFault::kSentMessage, place,
            fmt::format("another row names message {}, too", message.number));
      }
    }
  });
}

void Checker::check_hooks() {
  each_row(Table::kHooks, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kHooks, key};
    const auto number = number_key(place);
    if (!number) return;
    note_given(Counter::kHook, *number, place);
    const auto record = open_and_decode(place, value, decode_hook);
    if (!record) return;
    check_namespace(record->space, place);
    check_event(record->event, place);
    if (record->attempt == 0 || record->url.empty()) {
      add(StoreFault::kRowValue, place,
          fmt::format("attempt {} at the URL \"{}\"", record->attempt, record->url));
    }
  });
}

// In.

void Checker::check_recent() {
  each_row(Table::kRecent, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kRecent, key};
    Reader reader(key);
    const auto space = NamespaceNumber(reader.u32());
    const Fingerprint type = reader.id();
    const uint64_t number = reader.u64();
    if (!reader.done() || number == 0) {
      add(StoreFault::kRowKey, place, "the key is not a namespace, a type and a number");
      return;
    }
    note_given(Counter::kRecent, number, place);
    note_given(Counter::kNamespace, static_cast<uint32_t>(space), place);
    if (!kept_.insert(number)) {
      add(StoreFault::kNumberTwice, place, fmt::format("another row has the number {}", number));
    }
    const auto record = decode(place, value, decode_recent);
    if (!record) return;
    const auto event = check_event(record->event, place);
    if (!event) return;
    if (fingerprint({event->type}) != type) {
      add(StoreFault::kRecentPlace, place, fmt::format("the event is of type {}", event->type));
    }
    // What is kept of a namespace that was deleted goes with the next event that is not.
    const auto name = spaces_.find(space);
    if (name != spaces_.end() &&
        fingerprint({name->second, event->source, event->id}) != record->known_as) {
      add(StoreFault::kRecentPlace, place, "its fingerprint is not that of its source and id");
    }
  });
}

void Checker::check_fan_outs() {
  each_row(Table::kFanout, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kFanout, key};
    const auto number = number_key(place);
    if (!number) return;
    note_given(Counter::kRecent, *number, place);
    if (!value.empty()) add(StoreFault::kFanOutEvent, place, fmt::format("{} bytes", value.size()));
    if (!kept_.contains(*number)) add(StoreFault::kFanOutEvent, place, "the event is not kept");
  });
}

void Checker::check_dedupe() {
  each_row(Table::kDedupe, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kDedupe, key};
    Reader reader(key);
    const auto millis = static_cast<int64_t>(reader.u64());
    reader.u64();
    if (!reader.done()) {
      add(StoreFault::kRowKey, place, "the key is not a time and a sequence");
      return;
    }
    if (value.empty() || value.size() % sizeof(Fingerprint) != 0) {
      add(StoreFault::kRowRecord, place,
          fmt::format("{} bytes, and fingerprints have {} each", value.size(),
                      sizeof(Fingerprint)));
    }
    // The broker's time, which need not be ours: but a year ahead of it no row ever goes.
    constexpr Duration kYear = std::chrono::days(366);
    if (time_ && (millis < 0 || from_millis(millis) > *time_ + kYear)) {
      add(StoreFault::kRowTime, place,
          fmt::format("{} ms, and the store's time is {} ms", millis, to_millis(*time_)));
    }
  });
}

// By name.

void Checker::check_idempotency() {
  each_row(Table::kIdempotency, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kIdempotency, key};
    Reader reader(key);
    const auto workflow = WorkflowNumber(reader.u32());
    const std::string text(reader.rest());
    if (!reader.ok() || text.empty()) {
      add(StoreFault::kRowKey, place, "the key is not a workflow and a key");
      return;
    }
    note_given(Counter::kWorkflow, static_cast<uint32_t>(workflow), place);
    if (purged_workflows_.contains(workflow)) return;
    const auto record = decode(place, value, decode_idempotency);
    if (!record || unsound_.contains(record->instance)) return;
    const auto home = homes_.find(workflow);
    Known known;
    if (home != homes_.end()) {
      known = find(Table::kLive, home->second, record->instance);
      if (!known.exists) known = find(Table::kEnded, home->second, record->instance);
    }
    if (!known.exists) {
      add(StoreFault::kIdempotencyInstance, place,
          fmt::format("instance {} does not exist", to_string(record->instance)));
    } else if (known.head &&
               (known.head->revision.workflow != workflow || known.head->idempotency_key != text)) {
      add(StoreFault::kIdempotencyInstance, place,
          fmt::format("instance {} was not started under it", to_string(record->instance)));
    }
  });
}

void Checker::check_variables() {
  each_row(Table::kVariables, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kVariables, key};
    Reader reader(key);
    const auto space = NamespaceNumber(reader.u32());
    const uint8_t scope = reader.u8();
    InstanceId instance;
    WorkflowNumber workflow{};
    if (scope == static_cast<uint8_t>(VariableScope::kInstance)) instance.bytes = reader.id();
    if (scope == static_cast<uint8_t>(VariableScope::kWorkflow)) {
      workflow = WorkflowNumber(reader.u32());
    }
    const std::string_view name = reader.rest();
    if (!reader.ok() || scope > static_cast<uint8_t>(VariableScope::kNamespace) ||
        !is_variable_key(name)) {
      add(StoreFault::kRowKey, place, "the key is not an owner and the key of a variable");
      return;
    }
    open_and_decode(place, value, decode_variable);
    if (!check_namespace(space, place)) return;
    if (scope == static_cast<uint8_t>(VariableScope::kInstance) && !exists(space, instance)) {
      add(StoreFault::kInstanceMissing, place,
          fmt::format("its owner, instance {}, does not exist", to_string(instance)));
    } else if (scope == static_cast<uint8_t>(VariableScope::kWorkflow)) {
      const auto owner = workflows_.find(workflow);
      if (owner == workflows_.end() || owner->second.space != space) {
        add(StoreFault::kWorkflowMissing, place,
            fmt::format("its owner, workflow {}, does not exist", static_cast<uint32_t>(workflow)));
      }
    }
  });
}

void Checker::check_secrets() {
  each_row(Table::kSecrets, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kSecrets, key};
    Reader reader(key);
    const auto space = NamespaceNumber(reader.u32());
    const std::string_view name = reader.rest();
    if (!reader.ok() || !is_identifier(name)) {
      add(StoreFault::kRowKey, place, "the key is not a namespace and the name of a secret");
      return;
    }
    check_namespace(space, place);
    if (!Seal::is_sealed(value)) {
      add(StoreFault::kRowPlain, place, "the secret is not sealed");
    } else if (const auto opened = open(place, value); opened && !is_utf8(*opened)) {
      add(StoreFault::kRowValue, place, "the secret is not UTF-8");
    }
  });
}

/// Dead letters are in a stream of the broker; the tree is of an older format and stays empty.
void Checker::check_dead_letters() {
  each_row(Table::kDeadLetters, [&](std::string_view key, std::string_view) {
    add(StoreFault::kRowKey, {Table::kDeadLetters, key}, "no release writes rows into this tree");
  });
}

}  // namespace millrace
