// The store check reports damage to messages: the outbox, acked messages, kept and delayed events,
// webhooks, fingerprints.
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "model/hops.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/simulation/store_damage.h"

namespace millrace {
namespace {

using std::chrono::hours;

const Plant kMessagePlants[] = {
    {"an acked message that is not in the outbox",
     {"sent.message"},
     [](Transaction& tx) {
       const auto sent = decode_sent(first(tx, Table::kSent).second).value();
       erase_outbox(tx, sent.messages.front().number);
     }},
    {"a message that was acked twice",
     {"sent.message"},
     [](Transaction& tx) {
       write_sent(tx, 1'000, decode_sent(first(tx, Table::kSent).second).value());
     }},
    {"a kept event under another type",
     {"recent.place"},
     [](Transaction& tx) {
       auto [key, value] = first(tx, Table::kKeptEvents);
       tx.erase(Table::kKeptEvents, key);
       key[4] = static_cast<char>(key[4] ^ 1);
       tx.put(Table::kKeptEvents, key, value);
     }},
    {"a fan-out without its kept event",
     {"fanout.event"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kKeptEvents, 100);
       write_fan_out(tx, 100);
     }},
    {"an idempotency key of an instance that does not exist",
     {"idempotency.instance"},
     [](Transaction& tx) {
       write_idempotency(tx, number_of(tx, "naps"), "another", {.instance = kUnknownId});
     }},
    {"a message to a subject of another program",
     {"row.value"},
     [](Transaction& tx) {
       add_message(tx, {.message = {.subject = "orders.new", .headers = {{"Nats-Msg-Id", "1"}}}});
     }},
    {"an event under the id of another event",
     {"row.value"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number, [](OutboxRecord& record) {
         record.message.headers.back().second = std::string(32, '0');
       });
     }},
    {"an event with a header whose name has other letters",
     {"row.value"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number, [](OutboxRecord& record) {
         for (auto& [name, value] : record.message.headers) {
           if (name == "content-type") name = "Content-Type";
         }
       });
     }},
    {"an event whose id NATS servers would not see",
     {"row.value"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number, [](OutboxRecord& record) {
         for (auto& [name, value] : record.message.headers) {
           if (name == "Nats-Msg-Id") name = "nats-Msg-Id";
         }
       });
     }},
    {"an event without a content type",
     {"row.value"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number, [](OutboxRecord& record) {
         std::erase_if(record.message.headers,
                       [](const auto& header) { return header.first == "content-type"; });
       });
     }},
    {"an event under the subject of another type",
     {"row.value", "sent.message"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number,
                    [](OutboxRecord& record) { record.message.subject += ".more"; });
     }},
    {"an acked message without a sequence",
     {"row.value"},
     [](Transaction& tx) {
       edit_sent(tx, [](SentRecord& record) { record.messages[0].sequence = 0; });
     }},
    {"an acked message of another size",
     {"sent.message"},
     [](Transaction& tx) {
       edit_sent(tx, [](SentRecord& record) { record.messages[0].bytes += 1; });
     }},
    {"an acked message that is not an event",
     {"sent.message"},
     [](Transaction& tx) {
       const OutboxRecord letter{.message = {.subject = "millrace.dlq.default.x",
                                             .headers = {{"Nats-Msg-Id", "dlq-1-1-1"}}}};
       const uint64_t number = add_message(tx, letter);
       edit_sent(tx, [&](SentRecord& record) {
         record.messages.push_back(
             {.number = number, .sequence = 99, .bytes = letter.message.subject.size()});
       });
     }},
    {"acked messages with a time before that of earlier ones",
     {"row.value", "number.twice"},
     [](Transaction& tx) {
       SentRecord record = decode_sent(first(tx, Table::kSent).second).value();
       record.at -= hours(1);
       const auto message = *read_outbox(tx, record.messages[0].number).value();
       const uint64_t number = add_message(tx, message);
       record.messages = {record.messages[0]};
       record.messages[0].number = number;
       write_sent(tx, 1'000'000, record);
     }},
    {"a message that was acked before its instance generated it",
     {"row.value"},
     [](Transaction& tx) { edit_sent(tx, [](SentRecord& record) { record.at -= Duration(1); }); }},
    {"a delayed event in two rows",
     {"number.twice"},
     [](Transaction& tx) {
       const uint64_t number = *read_counter(tx, Counter::kDelayed) + 1;
       write_counter(tx, Counter::kDelayed, number);
       tx.put(Table::kDelayed, rows::key_of(number), first(tx, Table::kDelayed).second);
     }},
    {"a delayed event of another namespace",
     {"row.value"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) { record.ns = kShop; });
     }},
    {"a delayed event of another instance",
     {"row.value"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) { record.instance = kUnknownId; });
     }},
    {"an event for a webhook of another namespace",
     {"row.value"},
     [](Transaction& tx) {
       edit<WebhookRecord>(tx, Table::kWebhooks, first(tx, Table::kWebhooks).first, decode_webhook,
                           encode, [](WebhookRecord& record) { record.ns = kDefault; });
     }},
    {"an event for a webhook whose URL is not an HTTP URL",
     {"row.value"},
     [](Transaction& tx) {
       edit<WebhookRecord>(tx, Table::kWebhooks, first(tx, Table::kWebhooks).first, decode_webhook,
                           encode, [](WebhookRecord& record) { record.url = "gopher://hook"; });
     }},
    {"an event for a webhook of a type that millrace does not write",
     {"row.value"},
     [](Transaction& tx) {
       edit<WebhookRecord>(tx, Table::kWebhooks, first(tx, Table::kWebhooks).first, decode_webhook,
                           encode, [](WebhookRecord& record) {
                             Event event = decode_json_event(record.event).value();
                             event.type = "millrace.instance.other";
                             record.event = encode_json_event(event);
                           });
     }},
    {"an event for a webhook of another instance than its subject",
     {"row.value"},
     [](Transaction& tx) {
       edit<WebhookRecord>(tx, Table::kWebhooks, first(tx, Table::kWebhooks).first, decode_webhook,
                           encode, [](WebhookRecord& record) {
                             Event event = decode_json_event(record.event).value();
                             event.subject = to_string(kUnknownId);
                             record.event = encode_json_event(event);
                           });
     }},
    {"an idempotency key with the fingerprint of another input",
     {"idempotency.instance"},
     [](Transaction& tx) {
       write_idempotency(tx, number_of(tx, "naps"), "key of naps",
                         {.instance = id_of("naps"), .input = {1}});
     }},
    {"a delayed event that is due before it was generated",
     {"row.value"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) { record.at -= hours(9'000); });
     }},
    {"a delayed event that is due later than in the history",
     {"row.value"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) { record.at += hours(1); });
     }},
    {"a delayed event with the id of an event that its instance did not generate",
     {"row.value"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) {
                             Event event = decode_json_event(record.event).value();
                             event.id = to_string(record.instance) + "-90-0";
                             record.event = encode_json_event(event);
                           });
     }},
    {"a delayed event after too many generated events",
     {"row.value"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) {
                             Event event = decode_json_event(record.event).value();
                             event.extensions[std::string(kHopsAttribute)] = 500;
                             record.event = encode_json_event(event);
                           });
     }},
    {"a kept event under two numbers",
     {"number.twice"},
     [](Transaction& tx) {
       const uint64_t number = *read_counter(tx, Counter::kKeptEvents) + 1;
       write_counter(tx, Counter::kKeptEvents, number);
       const auto [key, value] = first(tx, Table::kKeptEvents);
       tx.put(Table::kKeptEvents, key.substr(0, 20) + rows::key_of(number), value);
     }},
    {"a message with a header that is a command to the broker",
     {"row.value"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number, [](OutboxRecord& record) {
         record.message.headers.emplace_back("Nats-Rollup", "all");
       });
     }},
    {"the result of a subflow that has not ended",
     {"row.value"},
     [](Transaction& tx) {
       const auto head = read_live(tx, kDefault, id_of("child")).value();
       write_counter(tx, Counter::kInbox, 1);
       write_inbox(
           tx, 1,
           {.message = ReturnResult{.ns = kDefault, .to = *head->caller, .result = LazyJson(1)}});
     }},
    {"a message of another instance than its event",
     {"row.value"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number,
                    [](OutboxRecord& record) { record.instance = kUnknownId; });
     }},
    {"a detached subflow with a depth",
     {"row.value"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kInbox, 1);
       write_inbox(tx, 1,
                   {.message = StartChild{.ns = kDefault,
                                          .child = kUnknownId,
                                          .workflow = "child",
                                          .by = id_of("parent"),
                                          .depth = 3}});
     }},
    {"effects under a number that other effects have",
     {"number.twice"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kEffects);
       tx.put(Table::kEffects, key.substr(0, 4) + rows::key_of(uint64_t{900}) + key.substr(12),
              value);
     }},
    {"a row of effects without an effect",
     {"row.value"},
     [](Transaction& tx) {
       tx.put(Table::kEffects, first(tx, Table::kEffects).first, encode_effects({}));
     }},
    {"effects at sequence 0",
     {"row.value"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kEffects, 99);
       write_effects(tx, {.at = {1, 0}, .number = 99, .effects = {{{1, 0}, {}}}});
     }},
    {"an instance that two events started",
     {"row.value"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kEffects, 99);
       const EventEffect starts{.instance = kUnknownId};
       write_effects(tx,
                     {.at = {1, 2}, .number = 99, .effects = {{{1, 1}, starts}, {{1, 2}, starts}}});
     }},
    {"a fingerprint without a sequence",
     {"row.key"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kDedupe);
       tx.put(Table::kDedupe, key.substr(0, 8) + rows::key_of(uint64_t{0}), value);
     }},
};

TEST(StoreCheck, FindsDamageToMessages) { expect_each_found(kMessagePlants); }

}  // namespace

std::span<const Plant> message_plants() { return kMessagePlants; }

}  // namespace millrace
