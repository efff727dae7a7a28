// WebhookOutbox: sends each delivery until it is accepted or given up, also after a lost batch or a
// failed read.
#include "orchestrator/outgoing/webhook_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cloudevents/json_format.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/unit/support/catalog_store.h"
#include "tests/unit/support/recorders.h"

namespace millrace {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kUrl = "http://hook";

class WebhookOutboxTest : public CatalogStoreTest {
 protected:
  WebhookOutboxTest() {
    set_settings(Json::parse(
        R"({"webhooks": [{"url": "http://hook",
                          "retries": {"maxAttempts": 3, "backoffMs": 1000}}]})"));
  }

  WebhookRecord record(const std::string& id) {
    return {.ns = ns,
            .url = kUrl,
            .at = now,
            .event = encode_json_event({.id = id, .source = "/s", .type = "t"})};
  }
  void add(uint64_t number) { webhook_outbox->add(*tx, number, record(std::to_string(number))); }
  void commit_webhooks() {
    commit();
    batches.begin();
  }
  void lose_batch() {
    tx->drop();
    webhook_outbox->undo();
  }
  /// Sends the deliveries that are due at that time; returns the ids of their events.
  std::vector<std::string> pump(TimePoint at) {
    const Status done = webhook_outbox->pump(*tx, at);
    EXPECT_TRUE(done) << done.error().message;
    return sender.take_sent();
  }
  std::vector<std::string> pump() { return pump(now); }
  /// Settles a result; returns the record if the delivery is given up.
  std::optional<WebhookRecord> settle(uint64_t number, std::optional<WebhookFailure> failure) {
    auto settled = webhook_outbox->on_result(*tx, {number, std::move(failure)}, now);
    EXPECT_TRUE(settled) << settled.error().message;
    return settled ? *settled : std::nullopt;
  }
  bool has_row(uint64_t number) { return read_webhook(*tx, number).value().has_value(); }
  void restart() {
    webhook_outbox = make();
    const Status loaded = webhook_outbox->load(*tx);
    EXPECT_TRUE(loaded) << loaded.error().message;
  }
  std::unique_ptr<WebhookOutbox> make() {
    return std::make_unique<WebhookOutbox>(
        sender, catalog, damages, batches,
        [this](WebhookResult outcome) { results.push_back(std::move(outcome)); });
  }
  static WebhookFailure refused() { return {.error = {"webhook.status", "it answered 503"}}; }

  RecordingSender sender;
  std::vector<WebhookResult> results;
  std::unique_ptr<WebhookOutbox> webhook_outbox = make();
};

TEST_F(WebhookOutboxTest, SendsADeliveryOnlyOnceAndNotBeforeItIsDue) {
  WebhookRecord later = record("2");
  later.at = now + seconds(1);
  add(1);
  webhook_outbox->add(*tx, 2, later);
  commit_webhooks();
  EXPECT_EQ(webhook_outbox->next_due(), now);
  EXPECT_THAT(pump(), ElementsAre("1"));
  EXPECT_THAT(pump(), IsEmpty()) << "the delivery is in flight";
  EXPECT_EQ(webhook_outbox->next_due(), now + seconds(1));
  EXPECT_THAT(pump(now + seconds(1) - Duration(1)), IsEmpty());
  EXPECT_THAT(pump(now + seconds(1)), ElementsAre("2"));
  EXPECT_EQ(webhook_outbox->next_due(), std::nullopt);
}

TEST_F(WebhookOutboxTest, SendsADeliveryToTheUrlWithTheSecretAsTheToken) {
  set_settings(Json::parse(R"({"webhooks": [{"url": "http://hook", "secret": "key"}]})"));
  write_secret(*tx, ns, "key", "the token");
  add(1);
  commit_webhooks();
  ASSERT_TRUE(webhook_outbox->pump(*tx, now));
  ASSERT_THAT(sender.sent, SizeIs(1));
  EXPECT_EQ(sender.sent[0].url, kUrl);
  EXPECT_EQ(sender.sent[0].token, "the token");
  EXPECT_EQ(sender.sent[0].event.type, "t");
}

TEST_F(WebhookOutboxTest, SendsNoDeliveryIfTheSecretOfTheWebhookIsMissing) {
  set_settings(Json::parse(R"({"webhooks": [{"url": "http://hook", "secret": "key"}]})"));
  add(1);
  commit_webhooks();
  EXPECT_THAT(pump(), IsEmpty());
  ASSERT_THAT(results, SizeIs(1));
  ASSERT_TRUE(results[0].failure);
  EXPECT_EQ(results[0].failure->error.code, "webhook.no_secret");
  EXPECT_FALSE(results[0].failure->is_final) << "the secret may still be set";
}

TEST_F(WebhookOutboxTest, ReportsTheResultOfEachAttempt) {
  add(1);
  add(2);
  commit_webhooks();
  ASSERT_TRUE(webhook_outbox->pump(*tx, now));
  ASSERT_THAT(sender.sent, SizeIs(2));
  sender.sent[1].done(refused());
  sender.sent[0].done(std::nullopt);
  ASSERT_THAT(results, SizeIs(2));
  EXPECT_EQ(results[0].number, 2U);
  EXPECT_EQ(results[0].failure->error.code, "webhook.status");
  EXPECT_EQ(results[1].number, 1U);
  EXPECT_FALSE(results[1].failure);
}

TEST_F(WebhookOutboxTest, ErasesADeliveryThatWasAccepted) {
  add(1);
  commit_webhooks();
  pump();
  EXPECT_EQ(settle(1, std::nullopt).has_value(), false);
  commit_webhooks();
  EXPECT_FALSE(has_row(1));
  EXPECT_EQ(webhook_outbox->next_due(), std::nullopt);
  EXPECT_EQ(settle(1, std::nullopt).has_value(), false) << "a second result has no effect";
}

TEST_F(WebhookOutboxTest, RetriesAFailedDeliveryUntilItsAttemptsAreExhausted) {
  add(1);
  commit_webhooks();
  for (int attempt = 1; attempt <= 2; ++attempt) {
    EXPECT_THAT(pump(), ElementsAre("1"));
    EXPECT_EQ(settle(1, refused()).has_value(), false);
    commit_webhooks();
    ASSERT_TRUE(webhook_outbox->next_due());
    EXPECT_GT(*webhook_outbox->next_due(), now);
    now = *webhook_outbox->next_due();
  }
  EXPECT_THAT(pump(), ElementsAre("1"));
  const auto given_up = settle(1, refused());
  ASSERT_TRUE(given_up);
  EXPECT_EQ(given_up->attempt, 3U);
  EXPECT_EQ(given_up->url, kUrl);
  commit_webhooks();
  EXPECT_FALSE(has_row(1));
  EXPECT_EQ(webhook_outbox->next_due(), std::nullopt);
}

TEST_F(WebhookOutboxTest, WaitsBeforeARetryAsLongAsTheTargetRequests) {
  add(1);
  commit_webhooks();
  pump();
  WebhookFailure failure = refused();
  failure.retry_after = hours(1);
  settle(1, failure);
  commit_webhooks();
  EXPECT_EQ(webhook_outbox->next_due(), now + hours(1));
  restart();
  EXPECT_EQ(webhook_outbox->next_due(), now + hours(1)) << "the time is kept after a restart";
}

TEST_F(WebhookOutboxTest, GivesUpADeliveryAtOnceAfterAFinalFailure) {
  add(1);
  commit_webhooks();
  pump();
  WebhookFailure failure = refused();
  failure.is_final = true;
  EXPECT_TRUE(settle(1, failure));
  commit_webhooks();
  EXPECT_FALSE(has_row(1));
}

TEST_F(WebhookOutboxTest, DropsADeliveryWhoseUrlIsNoLongerInTheSettings) {
  add(1);
  commit_webhooks();
  set_settings(Json::object());
  EXPECT_THAT(pump(), IsEmpty());
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_FALSE(results[0].failure);
  EXPECT_FALSE(settle(1, refused())) << "no dead letter is made";
  commit_webhooks();
  EXPECT_FALSE(has_row(1));
}

TEST_F(WebhookOutboxTest, HoldsDeliveriesWhileTheSettingsCannotBeRead) {
  add(1);
  add(2);
  commit_webhooks();
  EXPECT_THAT(pump(), ElementsAre("1", "2"));
  damage_settings();
  EXPECT_FALSE(settle(1, refused()));
  commit_webhooks();
  EXPECT_TRUE(has_row(1));
  ASSERT_TRUE(webhook_outbox->next_due());
  const TimePoint again = *webhook_outbox->next_due();
  EXPECT_GT(again, now);
  EXPECT_THAT(pump(again), IsEmpty());
  EXPECT_GT(*webhook_outbox->next_due(), again)
      << "the delivery waits as long as the settings cannot be read";
  EXPECT_THAT(results, IsEmpty());
}

TEST_F(WebhookOutboxTest, DoesNotSendADroppedDelivery) {
  add(1);
  commit_webhooks();
  erase_webhook(*tx, 1);
  webhook_outbox->drop({ns, now, 1});
  commit_webhooks();
  EXPECT_EQ(webhook_outbox->next_due(), std::nullopt);
  EXPECT_THAT(pump(), IsEmpty());
}

TEST_F(WebhookOutboxTest, IsUnchangedByALostBatch) {
  add(1);
  add(2);
  commit_webhooks();
  EXPECT_THAT(pump(), ElementsAre("1", "2"));
  WebhookRecord later = record("3");
  later.at = now + seconds(9);
  webhook_outbox->add(*tx, 3, later);
  commit_webhooks();

  settle(1, std::nullopt);
  settle(2, refused());
  webhook_outbox->drop({ns, later.at, 3});
  add(4);
  lose_batch();

  EXPECT_EQ(webhook_outbox->next_due(), later.at);
  EXPECT_THAT(pump(), IsEmpty()) << "the first two are in flight, and the fourth does not exist";
  EXPECT_FALSE(settle(1, std::nullopt));
  EXPECT_FALSE(settle(2, refused()));
  commit_webhooks();
  EXPECT_FALSE(has_row(1));
  EXPECT_TRUE(has_row(2));
  EXPECT_THAT(pump(later.at), testing::UnorderedElementsAre("2", "3"));
}

TEST_F(WebhookOutboxTest, SendsAtMostOneWindowOfDeliveriesAtATime) {
  for (uint64_t i = 1; i <= 100; ++i) add(i);
  commit_webhooks();
  const size_t window = pump().size();
  EXPECT_LT(window, 100U);
  EXPECT_EQ(webhook_outbox->next_due(), std::nullopt)
      << "the window is full until a result is settled";
  EXPECT_THAT(pump(), IsEmpty());
  settle(1, std::nullopt);
  commit_webhooks();
  EXPECT_EQ(webhook_outbox->next_due(), now);
  EXPECT_THAT(pump(), SizeIs(1));
}

TEST_F(WebhookOutboxTest, SendsDeliveriesOfANamespaceWhileReceiversOfAnotherDoNotAnswer) {
  for (uint64_t i = 1; i <= 200; ++i) add(i);
  commit_webhooks();
  pump();
  const NamespaceNumber other = create_namespace("other");
  const Json settings = Json::parse(R"({"webhooks": [{"url": "http://hook"}]})");
  ASSERT_TRUE(catalog.set_settings(*tx, other, dump_json(settings), *parse_settings(settings)));
  WebhookRecord its = record("its");
  its.ns = other;
  webhook_outbox->add(*tx, 201, its);
  commit_webhooks();
  EXPECT_EQ(webhook_outbox->next_due(), now);
  ASSERT_TRUE(webhook_outbox->pump(*tx, now));
  ASSERT_THAT(sender.sent, SizeIs(1));
  EXPECT_EQ(sender.sent[0].event.id, "its");
  EXPECT_EQ(sender.sent[0].ns, "other");
}

TEST_F(WebhookOutboxTest, SendsTheDeliveriesOfAnEarlierProcessAgain) {
  add(1);
  add(2);
  WebhookRecord orphan = record("3");
  orphan.ns = NamespaceNumber(99);
  webhook_outbox->add(*tx, 3, orphan);
  commit_webhooks();
  pump();
  restart();
  EXPECT_THAT(pump(), ElementsAre("1", "2"));
  ASSERT_TRUE(webhook_outbox->load(*tx));
  EXPECT_THAT(pump(), IsEmpty()) << "the deliveries of this process are in flight";
}

TEST_F(WebhookOutboxTest, SkipsAndRecordsADamagedDelivery) {
  add(1);
  add(2);
  commit_webhooks();
  WebhookRecord damaged = record("1");
  damaged.event = "no event";
  write_webhook(*tx, 1, damaged);
  commit();
  EXPECT_THAT(pump(), ElementsAre("2"));
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_EQ(webhook_outbox->next_due(), std::nullopt);
}

TEST_F(WebhookOutboxTest, SendsADeliveryOnlyOnceAfterFailedReads) {
  set_settings(Json::parse(R"({"webhooks": [{"url": "http://hook", "secret": "key"}]})"));
  write_secret(*tx, ns, "key", "the token");
  add(1);
  add(2);
  commit_webhooks();
  std::vector<std::string> all;
  const auto note = [&] {
    for (const std::string& id : sender.take_sent()) all.push_back(id);
  };
  const uint64_t failed = fail_each_read([&] { return webhook_outbox->pump(*tx, now); },
                                         [&] {
                                           note();
                                           EXPECT_EQ(webhook_outbox->next_due(), now);
                                         });
  EXPECT_GE(failed, 2U) << "a row and the secret are read";
  note();
  EXPECT_THAT(all, testing::UnorderedElementsAre("1", "2"));
  EXPECT_THAT(results, IsEmpty());
}

TEST_F(WebhookOutboxTest, AppliesTheResultOfADeliveryAsSoonAsItsRowCanBeRead) {
  add(1);
  commit_webhooks();
  pump();
  const auto settle_it = [&]() -> Status {
    TRY(webhook_outbox->on_result(*tx, {1, refused()}, now));
    return {};
  };
  const uint64_t failed = fail_each_read(settle_it, [&] {
    webhook_outbox->undo();
    EXPECT_EQ(webhook_outbox->next_due(), std::nullopt) << "the delivery is in flight";
    EXPECT_EQ(read_webhook(*tx, 1).value()->attempt, 1U);
  });
  EXPECT_EQ(failed, 1U);
  commit_webhooks();
  EXPECT_EQ(read_webhook(*tx, 1).value()->attempt, 2U);
  EXPECT_TRUE(webhook_outbox->next_due());
}

TEST_F(WebhookOutboxTest, LoadsAllDeliveriesAfterFailedReads) {
  add(1);
  add(2);
  commit_webhooks();
  webhook_outbox = make();
  EXPECT_GE(fail_each_read([&] { return webhook_outbox->load(*tx); }, [] {}), 1U);
  EXPECT_THAT(pump(), ElementsAre("1", "2"));
}

}  // namespace
}  // namespace millrace
