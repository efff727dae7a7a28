// Checks of messages that wait to be sent, of deduplication, of secrets, and of idempotency keys.
#include <algorithm>

#include "base/bytes.h"
#include "cloudevents/nats_binding.h"
#include "cloudevents/subject.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/outgoing/lifecycle.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/secret_rows.h"

namespace millrace {
namespace {

/// The maximum number of searches, in one check, for an instance in a namespace that is not its
/// own.
constexpr size_t kMostLooksElsewhere = 100'000;

/// The subject of a lifecycle event, whose source is /millrace/NAMESPACE/WORKFLOW; empty: the event
/// has another source.
std::string lifecycle_subject(const Event& event) {
  constexpr std::string_view kSource = "/millrace/";
  std::string_view source = event.source;
  if (!source.starts_with(kSource)) return {};
  source.remove_prefix(kSource.size());
  const size_t slash = source.find('/');
  if (slash == std::string_view::npos) return {};
  const Instance any;
  const LifecycleOf of{
      .ns = source.substr(0, slash), .workflow = source.substr(slash + 1), .instance = any};
  return lifecycle_message(of, event).subject;
}

/// When an instance generated the event in a message; nullopt: the message has no event, or the
/// event has no time.
std::optional<TimePoint> generated_at(const NatsMessage& message) {
  const auto event = decode_nats(message, kStoredEvents);
  const auto at = event ? parse_rfc3339(event->time.value_or("")) : fail("", "");
  return at ? std::optional(*at) : std::nullopt;
}

/// The name of a header that millrace does not write, or not twice; nullopt: there is none. A dead
/// letter has the headers of the original message, except those of NATS. The case of letters
/// counts: NATS servers know the header Nats-Msg-Id in this form only.
std::optional<std::string> wrong_header(const Headers& headers, bool is_letter) {
  std::set<std::string_view> own;
  for (const auto& [name, value] : headers) {
    const bool is_own = name == "Nats-Msg-Id" || (!is_letter && name == "content-type");
    if (is_own && own.insert(name).second) continue;
    if (is_own || !is_letter || to_lower(name).starts_with("nats-")) return name;
  }
  return std::nullopt;
}

}  // namespace

// Outgoing messages.

void Checker::check_delayed() {
  each_row(Table::kDelayed, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kDelayed, key};
    const auto number = number_key(place);
    if (!number) return;
    note_given(Counter::kDelayed, *number, place);
    const auto record = open_and_decode(place, value, decode_delayed);
    if (!record) return;
    if (!check_namespace(record->ns, place)) return;
    const auto event = check_event(record->event, place);
    if (!event) return;
    const std::string by = to_string(record->instance);
    if (!step_of_event(event->id, record->instance)) {
      add(StoreFault::kRowValue, place,
          fmt::format("the event has the id {}, but instance {} generated it", event->id, by));
      return;
    }
    note_event_id(record->instance, event->id);
    note_delayed(*number, event->id);
    check_hops_of(*event, place);
    const auto generated = check_time_of(*event, place);
    if (generated && record->at < *generated) {
      add(StoreFault::kRowValue, place,
          fmt::format("the event is due at {} ms, before its instance generated it at {} ms",
                      to_millis(record->at), to_millis(*generated)));
    }
    if (exists(record->ns, record->instance)) return;
    // The instance of the message may have been deleted since, but must not exist in another
    // namespace.
    for (const auto& [ns, name] : spaces_) {
      if (looked_elsewhere_ >= kMostLooksElsewhere) return;
      ++looked_elsewhere_;
      if (!exists(ns, record->instance)) continue;
      add(StoreFault::kRowValue, place,
          fmt::format("the event belongs to namespace {}, but its instance {} belongs to {}",
                      name_of(record->ns), by, name));
      return;
    }
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
    check_message(place, *record);
  });
}

/// Checks that the subject, the id and the instance of a message fit its kind: event, dead letter
/// or lifecycle event.
void Checker::check_message(const Place& place, const OutboxRecord& record) {
  const NatsMessage& message = record.message;
  const auto value = [&](std::string found) {
    add(StoreFault::kRowValue, place, std::move(found));
  };
  // The ids of generated events and of lifecycle events begin with the id of their instance.
  const auto check_instance_of = [&](const Event& event) {
    if (!record.instance) return value("the message of an event belongs to no instance");
    if (event.id.starts_with(to_string(*record.instance) + "-")) return;
    value(fmt::format("the message belongs to instance {}, but its event has the id {}",
                      to_string(*record.instance), printable(event.id)));
  };
  const bool is_event = message.subject.starts_with(kEventSubjectPrefix);
  const bool is_letter = message.subject.starts_with("millrace.dlq.");
  const bool is_lifecycle = message.subject.starts_with("millrace.lifecycle.");
  if (!is_publish_subject(message.subject)) {
    return value(fmt::format("{} is not a subject to publish to", printable(message.subject)));
  }
  if (!is_event && !is_letter && !is_lifecycle) {
    return value(
        fmt::format("the subject {} of the message does not begin with millrace.events., "
                    "millrace.dlq. or millrace.lifecycle.",
                    message.subject));
  }
  const std::string* const id = find_header(message.headers, "Nats-Msg-Id");
  if (id == nullptr) return value("the message has no header Nats-Msg-Id");
  if (const auto name = wrong_header(message.headers, is_letter)) {
    return value(
        fmt::format("the message has a header {} that millrace does not write, or not twice",
                    printable(*name)));
  }
  if (!is_letter && find_header(message.headers, "content-type") == nullptr) {
    return value("the message has no header content-type");
  }
  if (is_letter) {
    if (!id->starts_with("dlq-")) {
      value(fmt::format("the Nats-Msg-Id {} of the dead letter does not begin with dlq-",
                        printable(*id)));
    } else if (record.instance) {
      value(fmt::format("the dead letter belongs to instance {}, expected none",
                        to_string(*record.instance)));
    }
    return;
  }
  const auto event = decode_nats(message, kStoredEvents);
  if (!event) {
    add(StoreFault::kRowEvent, place,
        fmt::format("the event does not decode: {}", event.error().code));
    return;
  }
  if (is_lifecycle) {
    if (*id != event->id) {
      return value(
          fmt::format("the Nats-Msg-Id of the message is {}, but the id of its event is "
                      "{}",
                      printable(*id), event->id));
    }
    if (const std::string subject = lifecycle_subject(*event); message.subject != subject) {
      return value(
          fmt::format("the subject of the message is {}, but for the type {} and the "
                      "source {} of its event it should be {}",
                      message.subject, printable(event->type), printable(event->source),
                      subject.empty() ? "of another kind" : subject));
    }
    check_lifecycle(place, *event);
    return check_instance_of(*event);
  }
  if (record.instance) note_event_id(*record.instance, event->id);
  check_hops_of(*event, place);
  const auto ns = subject_namespace(message.subject);
  if (!ns || event_subject(*ns, event->type) != message.subject) {
    return value(fmt::format("the subject of the message is {}, but the type of its event is {}",
                             message.subject, event->type));
  }
  // Without the store's key the id cannot be computed. Messages of earlier releases have an id
  // without a key.
  if (has_key_ && *id != earlier_message_id(*ns, *event)) {
    const std::string expected = message_id(view_.seal().message_key(), *ns, *event);
    if (*id != expected) {
      return value(fmt::format(
          "the Nats-Msg-Id of the message is {}, but for its event in {} that id should be {}",
          printable(*id), *ns, expected));
    }
  }
  check_instance_of(*event);
}

/// Checks the type, the subject and the time of a lifecycle event. Its id has the id of its
/// instance, `-h` and the number of the record; the id of the event of a timeout ends in
/// `-timedout`.
void Checker::check_lifecycle(const Place& place, const Event& event) {
  const auto types = lifecycle_types();
  if (std::find(types.begin(), types.end(), event.type) == types.end()) {
    add(StoreFault::kRowValue, place,
        fmt::format("the type of the lifecycle event is {}, which millrace does not write",
                    printable(event.type)));
  }
  const std::string instance = event.subject.value_or("");
  if (!parse_instance_id(instance) || !event.id.starts_with(instance + "-h")) {
    add(StoreFault::kRowValue, place,
        fmt::format("the subject of the lifecycle event is {}, and its id is {}: expected the id "
                    "of one instance in both",
                    printable(instance), printable(event.id)));
  }
  if (const auto at = check_time_of(event, place)) check_time(*at, place, "the lifecycle event");
}

void Checker::check_sent() {
  NumberSet sent;
  std::optional<TimePoint> last;
  each_row(Table::kSent, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kSent, key};
    const auto number = number_key(place);
    if (!number) return;
    const auto record = decode(place, value, decode_sent);
    if (!record) return;
    check_time(record->at, place, "the time of the row");
    if (last && record->at < *last) {
      add(StoreFault::kRowValue, place,
          fmt::format(
              "the time of the row is {} ms, which is before {} ms, the time of the preceding row",
              to_millis(record->at), to_millis(*last)));
    }
    last = record->at;
    if (record->messages.empty()) add(StoreFault::kRowValue, place, "the row names no message");
    std::optional<TimePoint> latest;  // when the last event of the row was generated
    for (const SentRecord::Message& message : record->messages) {
      const std::string row_key = rows::key_of(message.number);
      note_given(Counter::kOutbox, message.number, place);
      if (message.sequence == 0) {
        add(StoreFault::kRowValue, place,
            fmt::format("message {} has sequence 0 in the stream, but sequences begin with 1",
                        message.number));
      }
      const auto row = view_.get(Table::kOutbox, row_key);
      const auto kept =
          row ? rows::decode(view_, Table::kOutbox, row_key, *row, decode_outbox) : fail("", "");
      const uint64_t bytes =
          kept ? kept->message.subject.size() + kept->message.data.size() : message.bytes;
      if (!row) {
        add(StoreFault::kSentMessage, place,
            fmt::format("message {} is not in the outbox", message.number));
      } else if (kept && !kept->message.subject.starts_with(kEventSubjectPrefix)) {
        add(StoreFault::kSentMessage, place,
            fmt::format("message {} to {} is not an event: only events stay in the outbox after "
                        "the acknowledgement",
                        message.number, kept->message.subject));
      } else if (bytes != message.bytes) {
        add(StoreFault::kSentMessage, place,
            fmt::format("message {} has {} bytes by this row, but {} in the outbox", message.number,
                        message.bytes, bytes));
      } else if (!sent.insert(message.number)) {
        add(StoreFault::kSentMessage, place,
            fmt::format("another row names message {}, too", message.number));
      }
      const auto generated = kept ? generated_at(kept->message) : std::nullopt;
      if (generated) latest = std::max(latest.value_or(*generated), *generated);
    }
    if (!latest || record->at >= *latest) return;
    add(StoreFault::kRowValue, place,
        fmt::format("the broker acknowledged the messages of the row at {} ms, but an instance "
                    "generated one of them at {} ms",
                    to_millis(record->at), to_millis(*latest)));
  });
}

void Checker::check_webhooks() {
  each_row(Table::kWebhooks, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kWebhooks, key};
    const auto number = number_key(place);
    if (!number) return;
    note_given(Counter::kWebhook, *number, place);
    const auto record = open_and_decode(place, value, decode_webhook);
    if (!record) return;
    const bool has_ns = check_namespace(record->ns, place);
    const auto event = check_event(record->event, place);
    if (record->attempt == 0) {
      add(StoreFault::kRowValue, place,
          "the number of the next attempt is 0, but attempts count from 1");
    }
    check_utf8(record->url, place, "the URL");
    if (!record->url.starts_with("http://") && !record->url.starts_with("https://")) {
      add(StoreFault::kRowValue, place,
          "the URL of the webhook does not begin with http:// or https://");
    }
    if (!event) return;
    check_lifecycle(place, *event);
    const auto happened = parse_rfc3339(event->time.value_or(""));
    if (happened && record->at < *happened) {
      add(StoreFault::kRowValue, place,
          fmt::format("the next attempt is due at {} ms, before the time {} ms of the event",
                      to_millis(record->at), to_millis(*happened)));
    }
    // The source of a lifecycle event is /millrace/NAMESPACE/WORKFLOW.
    const std::string source = fmt::format("/millrace/{}/", name_of(record->ns));
    if (has_ns && !event->source.starts_with(source)) {
      add(StoreFault::kRowValue, place,
          fmt::format("the delivery belongs to namespace {}, but the source of its event is {}",
                      name_of(record->ns), event->source));
    }
  });
}

// Stored events.

void Checker::check_dedupe() {
  each_row(Table::kDedupe, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kDedupe, key};
    Reader reader(key);
    const auto millis = static_cast<int64_t>(reader.u64());
    const uint64_t sequence = reader.u64();
    if (!reader.done() || sequence == 0) {
      add(StoreFault::kRowKey, place, "the key is not a time and a sequence from 1");
      return;
    }
    if (value.empty() || value.size() % sizeof(Fingerprint) != 0) {
      add(StoreFault::kRowRecord, place,
          fmt::format("the row has {} bytes, expected a multiple of {}", value.size(),
                      sizeof(Fingerprint)));
    }
    // The key has the broker's time, which may differ from the store's. But a row that is more than
    // a year ahead of the store's time would stay in `dedupe` too long.
    constexpr Duration kYear = std::chrono::days(366);
    const bool is_time = millis >= 0 && from_millis(millis) <= kLastTime;
    if (!is_time || (time_ && from_millis(millis) > *time_ + kYear)) {
      add(StoreFault::kRowTime, place,
          time_ ? fmt::format("the time in the key is {} ms, but the store's time is {} ms", millis,
                              to_millis(*time_))
                : fmt::format("the time in the key is {} ms, after the year 9999", millis));
    }
  });
}

// Values of namespaces and workflows.

void Checker::check_idempotency() {
  each_row(Table::kIdempotency, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kIdempotency, key};
    Reader reader(key);
    const auto workflow = WorkflowNumber(reader.u32());
    const std::string text(reader.rest());
    if (!reader.ok() || text.empty() || !is_utf8(text)) {
      add(StoreFault::kRowKey, place, "the key is not a workflow number and a key in UTF-8");
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
          fmt::format("instance {} was not started under this key", to_string(record->instance)));
    } else if (known.head && known.head->run == 1) {  // `continueAsNew` gives a run another input
      check_idempotent_input(place, *record, *known.head);
    }
  });
}

/// Checks the fingerprint of the input, which was computed from the input as the caller sent it.
void Checker::check_idempotent_input(const Place& place, const IdempotencyRecord& record,
                                     const Instance& head) {
  const Table table = has_ended(head.status) ? Table::kEnded : Table::kLive;
  std::string key = rows::instance_prefix(head.ns, head.id);
  key.push_back(static_cast<char>(Part::kInput));
  const auto input = rows::read_text(view_, table, key);
  if (!input || !*input || fingerprint({**input}) == record.input) return;
  // An input that is not an object was stored under the key `input`.
  const auto wrapped = parse_own_json(**input);
  if (!wrapped || (wrapped->is_object() && wrapped->size() == 1 && wrapped->contains("input") &&
                   fingerprint({dump_json(wrapped->at("input"))}) == record.input)) {
    return;
  }
  add(StoreFault::kIdempotencyInstance, place,
      fmt::format("the fingerprint in the row does not match the input of instance {}",
                  to_string(head.id)));
}

/// Former values are numbered from 0 without gaps, because they are erased only together with their
/// namespace.
void Checker::check_secrets() {
  std::pair<NamespaceNumber, uint32_t> next;  // the next former value of the namespace
  each_row(Table::kSecrets, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kSecrets, key};
    Reader reader(key);
    const auto ns = NamespaceNumber(reader.u32());
    const std::string_view name = reader.rest();
    const auto former = number_of_former(name);
    const bool is_note = notes_missing_values(name);
    if (!reader.ok() || !(is_identifier(name) || former || is_note)) {
      add(StoreFault::kRowKey, place, "the key is not a namespace and the name of a secret");
      return;
    }
    const bool has_ns = check_namespace(ns, place);  // a purge erases one row after the other
    if (former || is_note) note_minor(1, "former values of secrets");
    if (next.first != ns) next = {ns, 0};
    if (has_ns && former && *former != next.second) {
      add(StoreFault::kRowValue, place,
          fmt::format("the former value {} of the namespace is missing", next.second));
    }
    if (former) next.second = *former + 1;
    if (!Seal::is_sealed(value)) {
      add(StoreFault::kRowPlain, place, "the secret is not sealed");
      return;
    }
    if (Seal::is_masked(value)) {
      add(StoreFault::kRowValue, place, "the secret is sealed with the mark 254, expected 255");
    }
    const auto opened = open(place, value);
    if (opened && !is_utf8(*opened)) {
      add(StoreFault::kRowValue, place, "the secret is not UTF-8");
    }
    if (opened && is_note && !opened->empty()) {
      add(StoreFault::kRowValue, place,
          "the row says that former values are missing, but has a value");
    }
  });
}

/// Checks that the tree of dead letters is empty. Dead letters are in a stream of the broker; the
/// tree is left from an older store format.
void Checker::check_dead_letters() {
  each_row(Table::kDeadLetters, [&](std::string_view key, std::string_view) {
    add(StoreFault::kRowKey, {Table::kDeadLetters, key}, "no release writes rows into this tree");
  });
}

}  // namespace millrace
