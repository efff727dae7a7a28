// Generated events: their ids, their hops, and the record of a delayed event in the history of its
// instance.
#include "cloudevents/json_format.h"
#include "cloudevents/nats_binding.h"
#include "model/hops.h"
#include "orchestrator/outgoing/messages.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kGeneratesTwice = R"(
id: tells
states:
- {id: now, type: generateEvent, event: {type: told, source: s}, transition: later}
- {id: later, type: generateEvent, delay: PT10M, event: {type: told, source: s}}
)";

/// The detail of the record of another event.
LazyJson detail_of_other() { return Json{{"id", "other"}, {"type", "other"}}; }

/// A store with an event in the outbox, a delayed event, and the instance that generated both.
class CheckEventIdsTest : public CheckTest {
 protected:
  CheckEventIdsTest() {
    define(kGeneratesTwice);
    generator = start("tells");
    // The tests use row numbers up to 9, so the counters must be at least 9.
    for (const Counter which : {Counter::kDelayed, Counter::kOutbox, Counter::kNamespace}) {
      write_counter(*tx, which, 9);
    }
    commit();
  }
  static std::string number(uint64_t of) { return rows::key_of(of); }
  /// Changes the delayed event.
  static Change delayed(const std::function<void(DelayedRecord&)>& change) {
    return [=](Transaction& in) {
      edit<DelayedRecord>(in, Table::kDelayed, number(1), decode_delayed, encode, change);
    };
  }
  static Change event_of_delayed(const std::function<void(Event&)>& change) {
    return delayed([=](DelayedRecord& one) {
      Event event = decode_json_event(one.event).value();
      change(event);
      one.event = encode_json_event(event);
    });
  }

  InstanceId generator;
};

TEST_F(CheckEventIdsTest, FindsAGeneratedEventThatIsInTwoRows) {
  for (const Table table : {Table::kDelayed, Table::kOutbox}) {
    const std::string name = table_name(table);
    expect_only(
        fmt::format("number.twice {}/2: the event with the id {}-", name, to_string(generator)),
        [=](Transaction& in) { in.put(table, number(2), std::string(*in.get(table, number(1)))); });
  }
  const Event event = decode_json_event(read_delayed(*tx, 1).value()->event).value();
  expect_only(fmt::format("number.twice outbox/1: the event with the id {} is in the row delayed/1",
                          event.id),
              [&](Transaction& in) {
                edit<OutboxRecord>(
                    in, Table::kOutbox, number(1), decode_outbox, encode, [&](OutboxRecord& one) {
                      one.message = message_to_publish(in.seal().message_key(), "default", event);
                    });
              });
}

TEST_F(CheckEventIdsTest, ChecksTheHopsOfAGeneratedEvent) {
  const auto set_hops = [](uint32_t hops) {
    return [=](Event& event) {
      event.extensions[std::string(kHopsAttribute)] = static_cast<int32_t>(hops);
    };
  };
  const auto sent = [&](uint32_t hops) {
    return [=](Transaction& in) {
      edit<OutboxRecord>(
          in, Table::kOutbox, number(1), decode_outbox, encode, [&](OutboxRecord& one) {
            Event event = decode_nats(one.message).value();
            set_hops(hops)(event);
            one.message = message_to_publish(in.seal().message_key(), "default", event);
          });
    };
  };
  EXPECT_THAT(found_after(event_of_delayed(set_hops(kMaxHops))), IsEmpty());
  EXPECT_THAT(found_after(sent(kMaxHops)), IsEmpty());
  expect_only("has more than 100 hops, so it should be a dead letter",
              event_of_delayed(set_hops(kMaxHops + 1)));
  const std::string id = to_string(generator);
  expect_only("row.value delayed/1: the event " + id + "-", event_of_delayed(set_hops(500)));
  expect_only("row.value outbox/1: the event " + id + "-", sent(500));
}

TEST_F(CheckEventIdsTest, ChecksADelayedEventAgainstItsInstance) {
  expect_only("row.event delayed/1: ", delayed([](DelayedRecord& one) { one.event = "{}"; }));
  expect_only("row.value delayed/1: the event has the id 1, but instance",
              event_of_delayed([](Event& event) { event.id = "1"; }));
  expect_only("namespace.missing delayed/1: no namespace has the number 5",
              delayed([](DelayedRecord& one) { one.ns = NamespaceNumber(5); }));
  expect_only("row.value delayed/1: the event belongs to namespace shop, but its instance",
              [&](Transaction& in) {
                write_namespace(in, "shop", {.number = NamespaceNumber(2), .created_at = now});
                delayed([](DelayedRecord& one) { one.ns = NamespaceNumber(2); })(in);
              });
  expect_only(std::string("row.value delayed/1: the event of type ") + "told" + " is due at",
              delayed([](DelayedRecord& one) { one.at += Duration(1); }));
  expect_only("row.value delayed/1: the event of type other is due at",
              event_of_delayed([](Event& event) { event.type = "other"; }));
  EXPECT_THAT(found_after([&](Transaction& in) {
                delayed([](DelayedRecord& one) { one.at += Duration(1); })(in);
                edit_history(read_instance(in, ns, generator).value()->last_history,
                             [](HistoryRow& row) {
                               for (HistoryRecord& one : row.records) {
                                 if (one.kind == HistoryKind::kPublished)
                                   one.detail = detail_of_other();
                               }
                             });
              }),
              ElementsAre(HasSubstr("has no record of it")));
  expect_only("row.record delayed/1",
              [](Transaction& in) { in.put(Table::kDelayed, number(1), "rubbish"); });
}

TEST_F(CheckEventIdsTest, RequiresTheTimeOfADelayedEvent) {
  expect_among("has no time, but millrace gives a time to each event that it makes",
               event_of_delayed([](Event& event) { event.time.reset(); }));
}

TEST_F(CheckEventIdsTest, RequiresARecordOfADelayedEvent) {
  const std::string id = to_string(generator);
  const auto with_id = [&](const std::string& end) {
    return event_of_delayed([id, end](Event& event) { event.id = id + end; });
  };
  for (const char* const end : {"-x-0", "-1", "-1-", "-1-0-0", "-1-0x", "1-0"}) {
    expect_only("row.value delayed/1: the event has the id " + id + end + ", but instance",
                with_id(end));
  }
  for (const char* const end : {"-9-0", "-1-7"}) {
    expect_only("row.value delayed/1: the event has the id " + id + end +
                    ", but the history of instance " + id + " has no record of it",
                with_id(end));
  }
  EXPECT_THAT(found_after(event_of_delayed([&](Event& event) {
                event.id = id + "-9-0";
                event.time = format_rfc3339(now - Duration(1));
              })),
              IsEmpty())
      << "an instance of the same id may have been deleted before this instance started";
  expect_only(
      "row.value delayed/1: the event was generated at " + format_rfc3339(now - Duration(1)) +
          ", but by the history",
      event_of_delayed([&](Event& event) { event.time = format_rfc3339(now - Duration(1)); }));
}

TEST_F(CheckEventIdsTest, AllowsADelayedEventWhoseRecordWasTrimmed) {
  const std::string id = to_string(generator);
  const Instance head = *read_instance(*tx, ns, generator).value();
  const HistoryRow row = read_history_row(*tx, head.last_history).value();
  const uint64_t trimmed = row.records.size() - 1;
  const auto trim = [&](Transaction& in) {
    const uint64_t before = read_history_link(in, head.last_history).value()->bytes;
    const uint64_t after = begin_history_within(in, head.last_history, row, trimmed);
    edit_head(
        generator,
        [&](Instance& one) {
          one.history_trimmed = trimmed;
          one.history_bytes -= before - after;
        },
        Table::kEnded);
  };
  const auto with_id = [&](const std::string& end) {
    return [&, end](Transaction& in) {
      trim(in);
      event_of_delayed([&](Event& event) { event.id = id + end; })(in);
    };
  };
  EXPECT_THAT(found_after(trim), IsEmpty());
  EXPECT_THAT(found_after(with_id("-1-7")), IsEmpty()) << "the record may have been trimmed";
  expect_only("row.value delayed/1: the event was generated in step 99, but instance " + id +
                  " has made " + std::to_string(head.step) + " steps",
              with_id("-99-0"));
}

TEST_F(CheckEventIdsTest, ReportsAFailedReadAsTheOnlyFinding) {
  edit_history(read_instance(*tx, ns, generator).value()->last_history, [](HistoryRow& row) {
    for (HistoryRecord& one : row.records) {
      if (one.kind == HistoryKind::kPublished) one.detail = detail_of_other();
    }
  });
  build_index();
  event_of_delayed([&](Event& event) { event.time = format_rfc3339(now - Duration(1)); })(*tx);
  commit();
  expect_sound();
  expect_each_failed_read_alone();
}

}  // namespace
}  // namespace millrace
