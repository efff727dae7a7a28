#include "base/bytes.h"
#include "cloudevents/json_format.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kTellsNowAndLater = R"(
id: tells
states:
- {id: now, type: generateEvent, event: {type: told, source: s}, transition: later}
- {id: later, type: generateEvent, delay: PT10M, event: {type: told, source: s}}
)";

/// With an event in the outbox, a delayed one, and the instance that generated both.
class CheckMessagesTest : public CheckTest {
 protected:
  CheckMessagesTest() {
    define(kTellsNowAndLater);
    tells = start("tells", "key");
    // What more each test needs: all counters have come far enough.
    for (const Counter which : {Counter::kHook, Counter::kRecent, Counter::kDelayed,
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
  static std::string event_text(const std::string& type = "t", const std::string& source = "/s") {
    return encode_json_event({.id = "1", .source = source, .type = type});
  }

  InstanceId tells;
};

TEST_F(CheckMessagesTest, OfASoundStoreHaveNoFinding) {
  EXPECT_EQ(rows_of(Table::kOutbox), 1U);
  EXPECT_EQ(rows_of(Table::kDelayed), 1U);
  EXPECT_EQ(rows_of(Table::kIdempotency), 1U);
  expect_sound();
}

TEST_F(CheckMessagesTest, TellAReadThatFailsAndNothingThatMayFollowFromIt) {
  const OutboxRecord kept = *read_outbox(*tx, 1).value();
  write_sent(*tx, 1,
             {.stream_created = 1,
              .at = now,
              .messages = {{.number = 1,
                            .sequence = 1,
                            .bytes = kept.message.subject.size() + kept.message.data.size()}}});
  write_variable(
      *tx,
      {.owner = {.scope = VariableScope::kInstance, .space = space, .instance = tells}, .key = "v"},
      {});
  commit();
  expect_sound();
  EXPECT_GT(expect_each_read_to_count(), 30U);
}

// Out.

TEST_F(CheckMessagesTest, OfTheOutboxHaveASubjectAndAnIdThatFit) {
  expect_only("row.record outbox/1", message([](NatsMessage& one) { one.subject = "a b"; }));
  expect_only("its subject other.subject begins with none of",
              message([](NatsMessage& one) { one.subject = "other.subject"; }));
  expect_only("it has no header Nats-Msg-Id", message([](NatsMessage& one) { one.headers = {}; }));
  expect_only("row.event outbox/1: the event does not decode",
              message([](NatsMessage& one) { one.data = "{"; }));
  expect_only("its subject is millrace.events.default.other, and its event of type told",
              message([](NatsMessage& one) { one.subject = "millrace.events.default.other"; }));
  expect_only("and that of its event in shop is",
              message([](NatsMessage& one) { one.subject = "millrace.events.shop.told"; }));
  expect_only("does not begin with dlq-",
              message([](NatsMessage& one) { one.subject = "millrace.dlq.default"; }));
  expect_only("and the id of its event", message([](NatsMessage& one) {
                one.subject = "millrace.lifecycle.default.tells.ended";
              }));
  expect_only("row.record outbox/1", put(Table::kOutbox, number(1), "rubbish"));
  expect_only("row.key outbox/0: a key of 8 bytes that is not a number from 1",
              put(Table::kOutbox, number(0), "x"));
}

TEST_F(CheckMessagesTest, ThatWereSentAreEventsOfTheOutbox) {
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
  expect_only("row.value sent/1: it names no message", sent({}, now));
  expect_only("row.time sent/1: its time is at", sent({right}, now + Duration(1)));
  expect_only("row.value sent/1: message 1 has sequence 0",
              with([](SentRecord::Message& one) { one.sequence = 0; }));
  expect_only("sent.message sent/1: message 5 is not in the outbox",
              with([](SentRecord::Message& one) { one.number = 5; }));
  expect_only("by this row, and", with([](SentRecord::Message& one) { ++one.bytes; }));
  expect_only("another row names message 1, too", sent({right, right}, now));
  expect_among("is not an event: only events are kept", [&](Transaction& in) {
    sent({right}, now)(in);
    message([](NatsMessage& one) { one.subject = "millrace.dlq.default"; })(in);
  });
  expect_among("and that of the row before", [&](Transaction& in) {
    sent({right}, now)(in);
    write_sent(in, 2, {.stream_created = 1, .at = now - Duration(1), .messages = {right}});
  });
  expect_only("row.record sent/1", put(Table::kSent, number(1), "rubbish"));
}

TEST_F(CheckMessagesTest, ThatAreDelayedAreOfTheInstanceThatGeneratedThem) {
  const auto delayed = [&](const std::function<void(DelayedRecord&)>& change) {
    return [=](Transaction& in) {
      edit<DelayedRecord>(in, Table::kDelayed, number(1), decode_delayed, encode, change);
    };
  };
  expect_only("row.event delayed/1: ", delayed([](DelayedRecord& one) { one.event = "{}"; }));
  expect_only("row.value delayed/1: the event has the id 1, and was generated by instance",
              delayed([](DelayedRecord& one) { one.event = event_text(); }));
  expect_only("namespace.missing delayed/1: no namespace has the number 5",
              delayed([](DelayedRecord& one) { one.space = NamespaceNumber(5); }));
  expect_only("row.value delayed/1: it is of namespace shop, and its instance",
              [&](Transaction& in) {
                write_namespace(in, "shop", {.number = NamespaceNumber(2), .created_at = now});
                delayed([](DelayedRecord& one) { one.space = NamespaceNumber(2); })(in);
              });
  expect_only("row.record delayed/1", put(Table::kDelayed, number(1), "rubbish"));
}

TEST_F(CheckMessagesTest, ForWebhooksHaveAUrlAndAnAttempt) {
  const HookRecord right{.space = space,
                         .url = "https://a.test/",
                         .at = now,
                         .event = event_text("t", "/millrace/default/tells")};
  const auto hook = [&](const std::function<void(HookRecord&)>& change) {
    HookRecord one = right;
    change(one);
    return [=](Transaction& in) { write_hook(in, 1, one); };
  };
  EXPECT_THAT(found_after(hook([](HookRecord&) {})), IsEmpty());
  EXPECT_THAT(found_after(hook([](HookRecord& one) { one.event = event_text(); })), IsEmpty())
      << "an event of any source";
  expect_only("row.value hooks/1: its next attempt is number 0",
              hook([](HookRecord& one) { one.attempt = 0; }));
  expect_only("begins with neither http:// nor https://",
              hook([](HookRecord& one) { one.url = "ftp://a.test/"; }));
  expect_only("the URL is not UTF-8", hook([](HookRecord& one) { one.url = "http://\xff"; }));
  expect_only("row.event hooks/1: ", hook([](HookRecord& one) { one.event = "{}"; }));
  expect_only("namespace.missing hooks/1: ",
              hook([](HookRecord& one) { one.space = NamespaceNumber(5); }));
  expect_only("it is of namespace default, and its event of the source /millrace/shop/w",
              hook([](HookRecord& one) { one.event = event_text("t", "/millrace/shop/w"); }));
  expect_only("row.record hooks/1", put(Table::kHooks, number(1), "rubbish"));
}

// In.

TEST_F(CheckMessagesTest, ThatAreKeptStandUnderTheirTypeAndTheirFingerprint) {
  const RecentPlace place{.space = space, .type = fingerprint({"t"}), .number = 1};
  const RecentRecord right{.known_as = fingerprint({"default", "/s", "1"}), .event = event_text()};
  const auto kept = [&](RecentPlace at, RecentRecord record) {
    return [=](Transaction& in) { write_recent(in, at, record); };
  };
  EXPECT_THAT(found_after(kept(place, right)), IsEmpty());
  RecentPlace other = place;
  other.type = fingerprint({"u"});
  expect_only("recent.place recent/", kept(other, right));
  expect_only("its fingerprint is not that of its source and id",
              kept(place, {.known_as = {}, .event = right.event}));
  expect_only("row.event recent/", kept(place, {.known_as = right.known_as, .event = "{}"}));
  expect_among("number.twice recent/", [&](Transaction& in) {
    kept(place, right)(in);
    kept(other, right)(in);
  });
  expect_only("the key is not a namespace, a type and a number", put(Table::kRecent, "abc", "x"));
  other = place;
  other.number = 0;
  expect_only("the key is not a namespace, a type and a number", kept(other, right));
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
  expect_only("fanout.event fanout/2: the event is not kept", fan_out(2, ""));
}

TEST_F(CheckMessagesTest, ThatWereSeenHaveATimeASequenceAndWholeFingerprints) {
  const std::string one(16, 'f');
  const auto seen = [&](TimePoint time, uint64_t sequence, const std::string& value) {
    return put(Table::kDedupe, number(static_cast<uint64_t>(to_millis(time))) + number(sequence),
               value);
  };
  EXPECT_THAT(found_after(seen(now, 1, one + one)), IsEmpty());
  expect_only("row.record dedupe/", seen(now, 1, ""));
  expect_only("15 bytes, and fingerprints have 16 each", seen(now, 1, std::string(15, 'f')));
  expect_only("the key is not a time and a sequence from 1", seen(now, 0, one));
  expect_only("the key is not a time and a sequence from 1", put(Table::kDedupe, "abc", one));
  EXPECT_THAT(found_after(seen(now + std::chrono::days(366), 1, one)), IsEmpty());
  expect_only("row.time dedupe/", seen(now + std::chrono::days(367), 1, one));
  expect_only("row.time dedupe/", seen(from_millis(-1), 1, one));
}

TEST_F(CheckMessagesTest, OfTheOldTreeOfDeadLettersAreNone) {
  expect_only("row.key dead_letters/0x61: no release writes rows into this tree",
              put(Table::kDeadLetters, "a", ""));
}

// By name.

TEST_F(CheckMessagesTest, IdempotencyKeysLeadToTheInstanceThatWasStartedUnderThem) {
  const std::string where = "idempotency.instance idempotency/workflow 1 key ";
  const IdempotencyRecord right = *read_idempotency(*tx, WorkflowNumber(1), "key").value();
  const auto record = [&](const std::string& key, IdempotencyRecord one) {
    return [=](Transaction& in) { write_idempotency(in, WorkflowNumber(1), key, one); };
  };
  expect_only(where + "other: instance " + to_string(tells) + " was not started under it",
              record("other", right));
  expect_only(where + "other: instance " + to_string(numbered_id(99)) + " does not exist",
              record("other", {.instance = numbered_id(99)}));
  expect_only(where + "key: its fingerprint is not that of the input of instance",
              record("key", {.instance = tells}));
  expect_only("row.key idempotency/", record("\xff", right));
  expect_only("the key is not a workflow and a key in UTF-8",
              put(Table::kIdempotency, rows::workflow_prefix(WorkflowNumber(1)), encode(right)));
  expect_among(
      "row.record idempotency/workflow 1 key key",
      put(Table::kIdempotency, rows::workflow_prefix(WorkflowNumber(1)) + "key", "rubbish"));
}

TEST_F(CheckMessagesTest, VariablesHaveAnOwnerThatExists) {
  const auto variable = [](VariableOwner owner, std::string key = "v") {
    return [=](Transaction& in) { write_variable(in, {.owner = owner, .key = key}, {}); };
  };
  using enum VariableScope;
  EXPECT_THAT(found_after(variable({.scope = kNamespace, .space = space})), IsEmpty());
  EXPECT_THAT(
      found_after(variable(
          {.scope = VariableScope::kWorkflow, .space = space, .workflow = WorkflowNumber(1)})),
      IsEmpty());
  EXPECT_THAT(found_after(variable({.scope = kInstance, .space = space, .instance = tells})),
              IsEmpty());
  expect_only("instance.missing variables/default/",
              variable({.scope = kInstance, .space = space, .instance = numbered_id(99)}));
  expect_only(
      "workflow.missing variables/default/workflow 5/v: its owner, workflow 5, does not",
      variable({.scope = VariableScope::kWorkflow, .space = space, .workflow = WorkflowNumber(5)}));
  expect_only("namespace.missing variables/number 5/v",
              variable({.scope = kNamespace, .space = NamespaceNumber(5)}));
  expect_only("the key is not an owner and the key of a variable",
              variable({.scope = kNamespace, .space = space}, "no key"));
  expect_only("the key is not an owner and the key of a variable",
              put(Table::kVariables, rows::space_prefix(space) + "\x03v", "x"));
  expect_only("row.record variables/default/v",
              put(Table::kVariables, rows::space_prefix(space) + "\x02v", "rubbish"));
}

TEST_F(CheckMessagesTest, SecretsAreSealedAndHaveAName) {
  const std::string key = rows::space_prefix(space) + "s";
  expect_only("row.plain secrets/default/s: the secret is not sealed",
              put(Table::kSecrets, key, "secret"));
  expect_only("row.value secrets/default/s: the secret is not UTF-8",
              [&](Transaction& in) { rows::put(in, Table::kSecrets, key, "\xff", true); });
  expect_only("row.key secrets/default/no name",
              put(Table::kSecrets, rows::space_prefix(space) + "no name", "x"));
  expect_only("namespace.missing secrets/number 5/s",
              [](Transaction& in) { write_secret(in, NamespaceNumber(5), "s", "secret"); });
}

}  // namespace
}  // namespace millrace
