// The store check finds damage under its code. Messages: the outbox, what was sent, events that are
// kept or delayed, webhooks, fingerprints.
#include <gtest/gtest.h>

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
    {"a message that was sent and is not in the outbox",
     {"sent.message"},
     [](Transaction& tx) {
       const auto sent = decode_sent(first(tx, Table::kSent).second).value();
       erase_outbox(tx, sent.messages.front().number);
     }},
    {"a message that was sent twice",
     {"sent.message"},
     [](Transaction& tx) {
       write_sent(tx, 1'000, decode_sent(first(tx, Table::kSent).second).value());
     }},
    {"a kept event under another type",
     {"recent.place"},
     [](Transaction& tx) {
       auto [key, value] = first(tx, Table::kRecent);
       tx.erase(Table::kRecent, key);
       key[4] = static_cast<char>(key[4] ^ 1);
       tx.put(Table::kRecent, key, value);
     }},
    {"a fan-out of an event that is not kept",
     {"fanout.event"},
     [](Transaction& tx) {
       write_counter(tx, Counter::kRecent, 100);
       write_fan_out(tx, 100);
     }},
    {"an idempotency key of an instance that does not exist",
     {"idempotency.instance"},
     [](Transaction& tx) {
       write_idempotency(tx, number_of(tx, "naps"), "another", {.instance = kNobody});
     }},
    {"a message to a subject that is not millrace's",
     {"row.value"},
     [](Transaction& tx) {
       add_message(tx, {.message = {.subject = "orders.new", .headers = {{"Nats-Msg-Id", "1"}}}});
     }},
    {"an event under the id of another one",
     {"row.value"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number, [](OutboxRecord& record) {
         record.message.headers.back().second = std::string(32, '0');
       });
     }},
    {"an event under the subject of another type",
     {"row.value", "sent.message"},
     [](Transaction& tx) {
       edit_message(tx, sent_message(tx).number,
                    [](OutboxRecord& record) { record.message.subject += ".more"; });
     }},
    {"a sent message without a sequence",
     {"row.value"},
     [](Transaction& tx) {
       edit_sent(tx, [](SentRecord& record) { record.messages[0].sequence = 0; });
     }},
    {"a sent message of another size",
     {"sent.message"},
     [](Transaction& tx) {
       edit_sent(tx, [](SentRecord& record) { record.messages[0].bytes += 1; });
     }},
    {"a sent message that is not an event",
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
    {"messages that were sent before those that were sent before them",
     {"row.value"},
     [](Transaction& tx) {
       SentRecord record = decode_sent(first(tx, Table::kSent).second).value();
       record.at -= hours(1);
       const auto message = *read_outbox(tx, record.messages[0].number).value();
       const uint64_t number = add_message(tx, message);
       record.messages = {record.messages[0]};
       record.messages[0].number = number;
       write_sent(tx, 1'000'000, record);
     }},
    {"a delayed event of another namespace than its instance",
     {"row.value"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) { record.space = kShop; });
     }},
    {"a delayed event of another instance than its own",
     {"row.value"},
     [](Transaction& tx) {
       edit<DelayedRecord>(tx, Table::kDelayed, first(tx, Table::kDelayed).first, decode_delayed,
                           encode, [](DelayedRecord& record) { record.instance = kNobody; });
     }},
    {"a webhook's event of another namespace",
     {"row.value"},
     [](Transaction& tx) {
       edit<HookRecord>(tx, Table::kHooks, first(tx, Table::kHooks).first, decode_hook, encode,
                        [](HookRecord& record) { record.space = kDefault; });
     }},
    {"a webhook's event for what is not a URL of HTTP",
     {"row.value"},
     [](Transaction& tx) {
       edit<HookRecord>(tx, Table::kHooks, first(tx, Table::kHooks).first, decode_hook, encode,
                        [](HookRecord& record) { record.url = "gopher://hook"; });
     }},
    {"an idempotency key with the fingerprint of another input",
     {"idempotency.instance"},
     [](Transaction& tx) {
       write_idempotency(tx, number_of(tx, "naps"), "key of naps",
                         {.instance = id_of("naps"), .input = {1}});
     }},
    {"a fingerprint under no sequence",
     {"row.key"},
     [](Transaction& tx) {
       const auto [key, value] = first(tx, Table::kDedupe);
       tx.put(Table::kDedupe, key.substr(0, 8) + rows::key_of(uint64_t{0}), value);
     }},
};

TEST(StoreCheckMessages, FindsEachDamageUnderItsCode) { expect_each_found(kMessagePlants); }

}  // namespace

std::span<const Plant> message_plants() { return kMessagePlants; }

}  // namespace millrace
