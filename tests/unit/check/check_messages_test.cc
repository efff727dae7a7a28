#include "base/bytes.h"
#include "orchestrator/outgoing/lifecycle.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/rate_rows.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kGeneratesNowAndLater = R"(
id: tells
states:
- {id: now, type: generateEvent, event: {type: told, source: s}, transition: later}
- {id: later, type: generateEvent, delay: PT10M, event: {type: told, source: s}}
)";

/// A store with an event in the outbox, a delayed event, and the instance that generated both.
class CheckMessagesTest : public CheckTest {
 protected:
  CheckMessagesTest() {
    define(kGeneratesNowAndLater);
    generator = start("tells", "key");
    // The tests use row numbers up to 9, so the counters must be at least 9.
    for (const Counter which : {Counter::kWebhook, Counter::kKeptEvents, Counter::kDelayed,
                                Counter::kNamespace, Counter::kWorkflow, Counter::kOutbox}) {
      write_counter(*tx, which, 9);
    }
    write_cursor(*tx, {.stream_created = 1, .sequence = 1, .stamped = now});
    commit();
  }
  static std::string number(uint64_t of) { return rows::key_of(of); }
  Change message(const std::function<void(NatsMessage&)>& change) {
    return [=](Transaction& in) {
      edit<OutboxRecord>(in, Table::kOutbox, number(1), decode_outbox, encode,
                         [&](OutboxRecord& one) { change(one.message); });
    };
  }
  Change put(Table table, const std::string& key, const std::string& value) {
    return [=](Transaction& in) { in.put(table, key, value); };
  }
  static std::string event_text() {
    return encode_json_event({.id = "1", .source = "/s", .type = "t"});
  }

  /// A lifecycle event of the instance.
  Event lifecycle_event() {
    const Instance head = *read_instance(*tx, ns, generator).value();
    const LifecycleOf of{.ns = "default", .workflow = "tells", .instance = head};
    const HistoryRecord ended{.time = now, .kind = HistoryKind::kEnded};
    return lifecycle_events(of, {&ended, 1}, 1).front();
  }

  InstanceId generator;
};

TEST_F(CheckMessagesTest, HasNoFindingInAnUndamagedStore) {
  EXPECT_EQ(rows_of(Table::kOutbox), 1U);
  EXPECT_EQ(rows_of(Table::kDelayed), 1U);
  EXPECT_EQ(rows_of(Table::kIdempotency), 1U);
  expect_sound();
}

TEST_F(CheckMessagesTest, ReportsAFailedReadAsTheOnlyFinding) {
  const OutboxRecord kept = *read_outbox(*tx, 1).value();
  write_sent(*tx, 1,
             {.stream_created = 1,
              .at = now,
              .messages = {{.number = 1,
                            .sequence = 1,
                            .bytes = kept.message.subject.size() + kept.message.data.size()}}});
  write_variable(
      *tx,
      {.owner = {.scope = VariableScope::kInstance, .ns = ns, .instance = generator}, .key = "v"},
      {});
  build_index();
  commit();
  expect_sound();
  EXPECT_GT(expect_each_failed_read_alone(), 30U);
}

// Rows of what is sent: messages, delayed events, webhooks.

TEST_F(CheckMessagesTest, ChecksTheSubjectAndTheIdOfAMessage) {
  expect_only("row.record outbox/1", message([](NatsMessage& one) { one.subject = "a b"; }));
  expect_only("the subject other.subject of the message does not begin with",
              message([](NatsMessage& one) { one.subject = "other.subject"; }));
  expect_only("the message has no header Nats-Msg-Id",
              message([](NatsMessage& one) { one.headers = {}; }));
  expect_only("row.event outbox/1: the event does not decode",
              message([](NatsMessage& one) { one.data = "{"; }));
  expect_only(
      "the subject of the message is millrace.events.default.other, but the type of its event is "
      "told",
      message([](NatsMessage& one) { one.subject = "millrace.events.default.other"; }));
  expect_only("but for its event in shop that id should be",
              message([](NatsMessage& one) { one.subject = "millrace.events.shop.told"; }));
  expect_only("does not begin with dlq-",
              message([](NatsMessage& one) { one.subject = "millrace.dlq.default"; }));
  expect_only("but the id of its event", message([](NatsMessage& one) {
                one.subject = "millrace.lifecycle.default.tells.ended";
              }));
  expect_only("row.value outbox/1: the message belongs to instance " + to_string(numbered_id(99)) +
                  ", but its event has the id " + to_string(generator) + "-",
              [](Transaction& in) {
                edit<OutboxRecord>(in, Table::kOutbox, number(1), decode_outbox, encode,
                                   [](OutboxRecord& one) { one.instance = numbered_id(99); });
              });
  expect_only("row.value outbox/1: the message of an event belongs to no instance",
              [](Transaction& in) {
                edit<OutboxRecord>(in, Table::kOutbox, number(1), decode_outbox, encode,
                                   [](OutboxRecord& one) { one.instance.reset(); });
              });
  expect_only(
      "the dead letter belongs to instance " + to_string(generator) + ", expected none",
      message([](NatsMessage& one) {
        one = NatsMessage{.subject = "millrace.dlq.default", .headers = {{"Nats-Msg-Id", "dlq-1"}}};
      }));
  expect_only("row.record outbox/1", put(Table::kOutbox, number(1), "rubbish"));
  expect_only("row.key outbox/0: the key of 8 bytes is not a number from 1",
              put(Table::kOutbox, number(0), "x"));
}

TEST_F(CheckMessagesTest, ChecksTheHeadersOfAMessage) {
  expect_only("row.value outbox/1: the message has a header Nats-Rollup that",
              message([](NatsMessage& one) { one.headers.emplace_back("Nats-Rollup", "all"); }));
  expect_only("row.value outbox/1: the message has a header nats-msg-id that",
              message([](NatsMessage& one) { one.headers.emplace_back("nats-msg-id", "1"); }));
  expect_only("row.value outbox/1: the message has a header Other that",
              message([](NatsMessage& one) { one.headers.emplace_back("Other", "1"); }));
  const auto letter = [&](std::string header) {
    return [=](Transaction& in) {
      NatsMessage original{.subject = "millrace.events.default.x", .headers = {{header, "all"}}};
      NatsMessage sent =
          dead_letter_message({.ns = "default", .reason = {"no", "no"}, .message = original}, 1);
      if (header.starts_with("Nats-")) sent.headers.emplace_back(header, "all");
      write_outbox(in, 2, {.message = sent});
    };
  };
  EXPECT_THAT(found_after(letter("Other")), IsEmpty()) << "a dead letter keeps the headers";
  expect_only("row.value outbox/2: the message has a header Nats-Rollup that",
              letter("Nats-Rollup"));
}

TEST_F(CheckMessagesTest, ChecksTheSubjectOfALifecycleEvent) {
  const Instance head = *read_instance(*tx, ns, generator).value();
  const LifecycleOf of{.ns = "default", .workflow = "tells", .instance = head};
  const NatsMessage right = lifecycle_message(of, lifecycle_event());
  ASSERT_EQ(right.subject, "millrace.lifecycle.default.tells.completed");
  const auto sent_to = [&](const std::string& subject) {
    return [=, this](Transaction& in) {
      NatsMessage one = right;
      one.subject = subject;
      write_outbox(in, 2, {.instance = generator, .message = one});
    };
  };
  EXPECT_THAT(found_after(sent_to(right.subject)), IsEmpty());
  for (const char* const end : {"default.tells.failed", "default.other.completed",
                                "shop.tells.completed", "default.tells"}) {
    const std::string subject = std::string("millrace.lifecycle.") + end;
    expect_only("row.value outbox/2: the subject of the message is " + subject +
                    ", but for the type millrace.instance.completed and the source "
                    "/millrace/default/tells" +
                    " of its event it should be " + right.subject,
                sent_to(subject));
  }
}

TEST_F(CheckMessagesTest, AcceptsTheMessageIdOfAnEarlierRelease) {
  const Change earlier = message([](NatsMessage& one) {
    const auto event = decode_nats(one);
    ASSERT_TRUE(event) << event.error().message;
    std::erase_if(one.headers, [](const auto& header) { return header.first == "Nats-Msg-Id"; });
    one.headers.emplace_back("Nats-Msg-Id", earlier_message_id("default", *event));
  });
  EXPECT_THAT(found_after(earlier), IsEmpty());
  expect_only("row.value outbox/1: the message belongs to instance " + to_string(numbered_id(99)),
              [&](Transaction& in) {
                earlier(in);
                edit<OutboxRecord>(in, Table::kOutbox, number(1), decode_outbox, encode,
                                   [](OutboxRecord& one) { one.instance = numbered_id(99); });
              });
}

TEST_F(CheckMessagesTest, ChecksThatAckedMessagesAreEventsOfTheOutbox) {
  const OutboxRecord kept = *read_outbox(*tx, 1).value();
  const SentRecord::Message right{
      .number = 1, .sequence = 1, .bytes = kept.message.subject.size() + kept.message.data.size()};
  const auto sent = [&](std::vector<SentRecord::Message> messages, TimePoint when) {
    return [=](Transaction& in) {
      write_sent(in, 1, {.stream_created = 1, .at = when, .messages = messages});
    };
  };
  const auto with = [&](const std::function<void(SentRecord::Message&)>& change) {
    SentRecord::Message one = right;
    change(one);
    return sent({one}, now);
  };
  EXPECT_THAT(found_after(sent({right}, now)), IsEmpty());
  expect_only("row.value sent/1: the row names no message", sent({}, now));
  expect_only("row.time sent/1: the time of the row is at", sent({right}, now + Duration(1)));
  expect_only("row.value sent/1: the broker acknowledged the messages of the row at",
              sent({right}, now - Duration(1)));
  expect_only("row.value sent/1: message 1 has sequence 0",
              with([](SentRecord::Message& one) { one.sequence = 0; }));
  expect_only("sent.message sent/1: message 5 is not in the outbox",
              with([](SentRecord::Message& one) { one.number = 5; }));
  expect_only("by this row, but", with([](SentRecord::Message& one) { ++one.bytes; }));
  expect_only("another row names message 1, too", sent({right, right}, now));
  expect_among("is not an event: only events stay in the outbox", [&](Transaction& in) {
    sent({right}, now)(in);
    message([](NatsMessage& one) { one.subject = "millrace.dlq.default"; })(in);
  });
  expect_among("the time of the preceding row", [&](Transaction& in) {
    sent({right}, now)(in);
    write_sent(in, 2, {.stream_created = 1, .at = now - Duration(1), .messages = {right}});
  });
  expect_only("row.record sent/1", put(Table::kSent, number(1), "rubbish"));
}

TEST_F(CheckMessagesTest, ChecksTheUrlAndTheAttemptOfAWebhookDelivery) {
  const WebhookRecord right{
      .ns = ns, .url = "https://a.test/", .at = now, .event = encode_json_event(lifecycle_event())};
  const auto webhook = [&](const std::function<void(WebhookRecord&)>& change) {
    WebhookRecord one = right;
    change(one);
    return [=](Transaction& in) { write_webhook(in, 1, one); };
  };
  EXPECT_THAT(found_after(webhook([](WebhookRecord&) {})), IsEmpty());
  expect_only("row.value hooks/1: the number of the next attempt is 0",
              webhook([](WebhookRecord& one) { one.attempt = 0; }));
  expect_only("does not begin with http:// or https://",
              webhook([](WebhookRecord& one) { one.url = "ftp://a.test/"; }));
  expect_only("the URL is not UTF-8", webhook([](WebhookRecord& one) { one.url = "http://\xff"; }));
  expect_only("row.event hooks/1: ", webhook([](WebhookRecord& one) { one.event = "{}"; }));
  expect_only("namespace.missing hooks/1: ",
              webhook([](WebhookRecord& one) { one.ns = NamespaceNumber(5); }));
  expect_only("row.value hooks/1: the next attempt is due at",
              webhook([](WebhookRecord& one) { one.at -= Duration(1); }));
  expect_only("row.record hooks/1", put(Table::kWebhooks, number(1), "rubbish"));
}

TEST_F(CheckMessagesTest, ChecksTheEventOfAWebhookDelivery) {
  const auto event = [&](const std::function<void(Event&)>& change) {
    Event changed = lifecycle_event();
    change(changed);
    const WebhookRecord record{
        .ns = ns, .url = "https://a.test/", .at = now, .event = encode_json_event(changed)};
    return [=](Transaction& in) { write_webhook(in, 1, record); };
  };
  for (const std::string_view type : lifecycle_types()) {
    EXPECT_THAT(found_after(event([&](Event& one) { one.type = type; })), IsEmpty()) << type;
  }
  for (const char* const source : {"/millrace/shop/w", "s"}) {
    expect_only(std::string("the delivery belongs to namespace default, but the source of its ") +
                    "event is " + source,
                event([&](Event& one) { one.source = source; }));
  }
  expect_only("row.value hooks/1: the type of the lifecycle event is millrace.instance.fooled",
              event([](Event& one) { one.type = "millrace.instance.fooled"; }));
  const std::string other = to_string(numbered_id(99));
  for (const std::optional<std::string>& subject :
       std::vector<std::optional<std::string>>{std::nullopt, "x", other}) {
    expect_only("row.value hooks/1: the subject of the lifecycle event is " + subject.value_or(""),
                event([&](Event& one) { one.subject = subject; }));
  }
  expect_only("expected the id of one instance in both",
              event([&](Event& one) { one.id = other + "-h1"; }));
  expect_only("row.value hooks/1: the event " + to_string(generator) + "-h1 has no time",
              event([](Event& one) { one.time.reset(); }));
  expect_among("row.time hooks/1: the lifecycle event is at ",
               event([&](Event& one) { one.time = format_rfc3339(now + Duration(1)); }));
}

// Rows of received events: kept events and deduplication.

TEST_F(CheckMessagesTest, ChecksTheTypeAndTheFingerprintOfAKeptEvent) {
  const KeptEventPlace place{.ns = ns, .type = fingerprint({"t"}), .number = 1};
  const KeptEventRecord right{.known_as = fingerprint({"default", "/s", "1"}),
                              .event = event_text()};
  const auto kept = [&](KeptEventPlace at, KeptEventRecord record) {
    return [=](Transaction& in) { write_kept_event(in, at, record); };
  };
  EXPECT_THAT(found_after(kept(place, right)), IsEmpty());
  KeptEventPlace other = place;
  other.type = fingerprint({"u"});
  expect_only("recent.place recent/", kept(other, right));
  expect_only("the fingerprint in the row does not match the source and id of the event",
              kept(place, {.known_as = {}, .event = right.event}));
  expect_only("row.event recent/", kept(place, {.known_as = right.known_as, .event = "{}"}));
  for (const EventPosition& half : {EventPosition{1, 0}, EventPosition{0, 7}}) {
    KeptEventRecord record = right;
    record.position = half;
    expect_only("row.value recent/", kept(place, record));
  }
  expect_among("number.twice recent/", [&](Transaction& in) {
    kept(place, right)(in);
    kept(other, right)(in);
  });
  KeptEventPlace next = place;
  next.number = 2;
  expect_only("the kept event 1 has the source and id of this event, too", [&](Transaction& in) {
    kept(place, right)(in);
    kept(next, right)(in);
  });
  expect_only(
      "the key of the kept event is not a namespace number, the fingerprint of an event type and a "
      "number",
      put(Table::kKeptEvents, "abc", "x"));
  other = place;
  other.number = 0;
  expect_only(
      "the key of the kept event is not a namespace number, the fingerprint of an event type and a "
      "number",
      kept(other, right));
  other.number = 99;
  expect_only("counter.behind recent/", kept(other, right));

  const auto fan_out = [&](uint64_t event, const std::string& value) {
    return [=](Transaction& in) {
      kept(place, right)(in);
      in.put(Table::kFanout, number(event), value);
    };
  };
  EXPECT_THAT(found_after(fan_out(1, "")), IsEmpty());
  expect_only("fanout.event fanout/1: 1 bytes", fan_out(1, "x"));
  expect_only("fanout.event fanout/2: there is no kept event with that number", fan_out(2, ""));

  const auto late_match = [&](uint64_t event, const std::string& value) {
    return [=](Transaction& in) {
      kept(place, right)(in);
      in.put(Table::kFanout, number(event) + '\1', value);
    };
  };
  const std::string late = encode(LateMatchRecord{.starts = {WorkflowNumber(1)}});
  EXPECT_THAT(found_after(late_match(1, late)), IsEmpty());
  expect_only("row.record fanout/", late_match(1, late + "x"));
  expect_only("the row names the workflow 0 or the instance 0",
              late_match(1, encode(LateMatchRecord{.starts = {WorkflowNumber(0)}})));
  expect_only("the row names the workflow 0 or the instance 0",
              late_match(1, encode(LateMatchRecord{.instances = {InstanceId()}})));
  expect_only("counter.behind fanout/",
              late_match(1, encode(LateMatchRecord{.starts = {WorkflowNumber(10)}})));
  expect_only("there is no kept event with that number", late_match(2, late));
}

TEST_F(CheckMessagesTest, ChecksTimeSequenceAndFingerprintsInTheRowsOfDeduplication) {
  const std::string one(16, 'f');
  const auto seen = [&](TimePoint time, uint64_t sequence, const std::string& value) {
    return put(Table::kDedupe, number(static_cast<uint64_t>(to_millis(time))) + number(sequence),
               value);
  };
  EXPECT_THAT(found_after(seen(now, 1, one + one)), IsEmpty());
  expect_only("row.record dedupe/", seen(now, 1, ""));
  expect_only("the row has 15 bytes, expected a multiple of 16",
              seen(now, 1, std::string(15, 'f')));
  expect_only("the key is not a time and a sequence from 1", seen(now, 0, one));
  expect_only("the key is not a time and a sequence from 1", put(Table::kDedupe, "abc", one));
  EXPECT_THAT(found_after(seen(now + std::chrono::days(366), 1, one)), IsEmpty());
  expect_only("row.time dedupe/", seen(now + std::chrono::days(367), 1, one));
  expect_only("row.time dedupe/", seen(from_millis(-1), 1, one));
}

TEST_F(CheckMessagesTest, RefusesRowsInTheOldTreeOfDeadLetters) {
  expect_only("row.key dead_letters/0x61: no release writes rows into this tree",
              put(Table::kDeadLetters, "a", ""));
}

// Rows with a name: idempotency keys, variables, secrets.

TEST_F(CheckMessagesTest, ChecksAnIdempotencyKeyAgainstItsInstance) {
  const std::string where = "idempotency.instance idempotency/workflow 1 key ";
  const IdempotencyRecord right = *read_idempotency(*tx, WorkflowNumber(1), "key").value();
  const auto record = [&](const std::string& key, IdempotencyRecord one) {
    return [=](Transaction& in) { write_idempotency(in, WorkflowNumber(1), key, one); };
  };
  expect_only(where + "other: instance " + to_string(generator) + " was not started under this key",
              record("other", right));
  expect_only(where + "other: instance " + to_string(numbered_id(99)) + " does not exist",
              record("other", {.instance = numbered_id(99)}));
  expect_only(where + "key: the fingerprint in the row does not match the input of instance",
              record("key", {.instance = generator}));
  expect_only("row.key idempotency/", record("\xff", right));
  expect_only("the key is not a workflow number and a key in UTF-8",
              put(Table::kIdempotency, rows::workflow_prefix(WorkflowNumber(1)), encode(right)));
  expect_among(
      "row.record idempotency/workflow 1 key key",
      put(Table::kIdempotency, rows::workflow_prefix(WorkflowNumber(1)) + "key", "rubbish"));
}

TEST_F(CheckMessagesTest, RequiresTheOwnerOfAVariable) {
  const auto variable = [](VariableOwner owner, std::string key = "v") {
    return [=](Transaction& in) { write_variable(in, {.owner = owner, .key = key}, {}); };
  };
  using enum VariableScope;
  EXPECT_THAT(found_after(variable({.scope = kNamespace, .ns = ns})), IsEmpty());
  EXPECT_THAT(found_after(variable(
                  {.scope = VariableScope::kWorkflow, .ns = ns, .workflow = WorkflowNumber(1)})),
              IsEmpty());
  EXPECT_THAT(found_after(variable({.scope = kInstance, .ns = ns, .instance = generator})),
              IsEmpty());
  expect_only("instance.missing variables/default/",
              variable({.scope = kInstance, .ns = ns, .instance = numbered_id(99)}));
  expect_only(
      "workflow.missing variables/default/workflow 5/v: the owner of the variable, workflow 5, "
      "does not",
      variable({.scope = VariableScope::kWorkflow, .ns = ns, .workflow = WorkflowNumber(5)}));
  expect_only("namespace.missing variables/number 5/v",
              variable({.scope = kNamespace, .ns = NamespaceNumber(5)}));
  expect_only("the key is not an owner and the key of a variable",
              variable({.scope = kNamespace, .ns = ns}, "no key"));
  expect_only("the key is not an owner and the key of a variable",
              put(Table::kVariables, rows::ns_prefix(ns) + "\x03v", "x"));
  expect_only("row.record variables/default/v",
              put(Table::kVariables, rows::ns_prefix(ns) + "\x02v", "rubbish"));
}

TEST_F(CheckMessagesTest, ChecksTheSealAndTheNameOfASecret) {
  const std::string key = rows::ns_prefix(ns) + "s";
  expect_only("row.plain secrets/default/s: the secret is not sealed",
              put(Table::kSecrets, key, "secret"));
  expect_only("row.value secrets/default/s: the secret is not UTF-8",
              [&](Transaction& in) { rows::put(in, Table::kSecrets, key, "\xff", true); });
  expect_only("row.key secrets/default/no name",
              put(Table::kSecrets, rows::ns_prefix(ns) + "no name", "x"));
  const auto keep = [&](Transaction& in) { EXPECT_TRUE(keep_former_value(in, ns, "former")); };
  EXPECT_THAT(found_after(keep), IsEmpty());
  EXPECT_THAT(found_after([&](Transaction& in) { note_missing_value(in, ns); }), IsEmpty());
  const auto former = [&](const std::string& name, const std::string& text) -> Change {
    return [=, this](Transaction& in) { write_secret(in, ns, name, text); };
  };
  for (const char* const name : {"~0", "~00001", "~000x", "~0256", "~other"}) {
    expect_only(std::string("row.key secrets/default/") + name, former(name, "value"));
  }
  expect_only("row.value secrets/default/~0002: the former value 0 of the namespace is missing",
              former("~0002", "value"));
  expect_only("the row says that former values are missing, but has a value",
              former("~missing", "value"));
  expect_only("row.value secrets/default/s: the secret is sealed with the mark 254, expected 255",
              [&](Transaction& in) {
                in.put(Table::kSecrets, key,
                       in.seal().seal("value", rows::seal_context(Table::kSecrets, key),
                                      Seal::Mark::kMasked));
              });
  expect_only("namespace.missing secrets/number 5/s",
              [](Transaction& in) { write_secret(in, NamespaceNumber(5), "s", "secret"); });
}

// Rows that need a minor number.

TEST_F(CheckMessagesTest, RequiresTheMinorNumberOfEachKindOfRow) {
  const std::string key = rows::ns_prefix(ns) + "s";
  const KeptEventPlace place{.ns = ns, .type = fingerprint({"t"}), .number = 1};
  const KeptEventRecord event{.known_as = fingerprint({"default", "/s", "1"}),
                              .event = event_text()};
  const struct {
    const char* rows;
    Change change;
  } cases[] = {
      {"sealed rows that begin with 254",
       [&](Transaction& in) {
         const std::string context = rows::seal_context(Table::kSecrets, key);
         in.put(Table::kSecrets, key, in.seal().seal("value", context, Seal::Mark::kMasked));
       }},
      {"former values of secrets",
       [&](Transaction& in) { write_secret(in, ns, "~0001", "value"); }},
      {"rows `rate/` of meta", [&](Transaction& in) { write_rate_use(in, ns, {.at = now}); }},
      {"kept events of version 3", [&](Transaction& in) { write_kept_event(in, place, event); }},
      {"late matches", [&](Transaction& in) { write_late_match(in, 1, {}); }},
  };
  for (const auto& one : cases) {
    for (const bool has_row : {true, false}) {
      expect_among(
          fmt::format("row.value meta/minor: the minor number is 0, but the store has {}, expected "
                      "at least 1",
                      one.rows),
          [&](Transaction& in) {
            one.change(in);
            if (has_row) in.put(Table::kMeta, "minor", rows::key_of(uint64_t{0}));
            if (!has_row) in.erase(Table::kMeta, "minor");
          });
    }
  }
  // A store with an instance has the sizes.
  expect_only("the minor number is 1, but the store has sizes of counted rows, expected at least 2",
              [](Transaction& in) { in.put(Table::kMeta, "minor", rows::key_of(uint64_t{1})); });
}

}  // namespace
}  // namespace millrace
