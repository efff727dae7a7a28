// Hooks: deliveries of events to URLs, each made until it is taken or given up, whatever batch is
// lost and whatever read fails.
#include "orchestrator/outgoing/webhooks.h"

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

class HooksTest : public CatalogStoreTest {
 protected:
  HooksTest() {
    set_settings(Json::parse(
        R"({"webhooks": [{"url": "http://hook",
                          "retries": {"maxAttempts": 3, "backoffMs": 1000}}]})"));
  }

  HookRecord record(const std::string& id) {
    return {.space = space,
            .url = kUrl,
            .at = now,
            .event = encode_json_event({.id = id, .source = "/s", .type = "t"})};
  }
  void add(uint64_t number) { hooks->add(*tx, number, record(std::to_string(number))); }
  void commit_hooks() {
    commit();
    batches.begin();
  }
  void lose_batch() {
    tx->drop();
    hooks->undo();
  }
  /// What is sent at that time.
  std::vector<std::string> pump(TimePoint at) {
    const Status done = hooks->pump(*tx, at);
    EXPECT_TRUE(done) << done.error().message;
    return sender.take_sent();
  }
  std::vector<std::string> pump() { return pump(now); }
  /// The record that is given up, if it is.
  std::optional<HookRecord> settle(uint64_t number, std::optional<WebhookFailure> failure) {
    auto settled = hooks->settle(*tx, {number, std::move(failure)}, now);
    EXPECT_TRUE(settled) << settled.error().message;
    return settled ? *settled : std::nullopt;
  }
  bool has_row(uint64_t number) { return read_hook(*tx, number).value().has_value(); }
  void restart() {
    hooks = make();
    const Status loaded = hooks->load(*tx);
    EXPECT_TRUE(loaded) << loaded.error().message;
  }
  std::unique_ptr<Hooks> make() {
    return std::make_unique<Hooks>(
        sender, catalog, damages, batches,
        [this](WebhookResult outcome) { told.push_back(std::move(outcome)); });
  }
  static WebhookFailure refused() { return {.error = {"webhook.status", "it answered 503"}}; }

  RecordingSender sender;
  std::vector<WebhookResult> told;
  std::unique_ptr<Hooks> hooks = make();
};

TEST_F(HooksTest, AreSentOnceWhenTheyAreDue) {
  HookRecord later = record("2");
  later.at = now + seconds(1);
  add(1);
  hooks->add(*tx, 2, later);
  commit_hooks();
  EXPECT_EQ(hooks->next_due(), now);
  EXPECT_THAT(pump(), ElementsAre("1"));
  EXPECT_THAT(pump(), IsEmpty()) << "it is under way";
  EXPECT_EQ(hooks->next_due(), now + seconds(1));
  EXPECT_THAT(pump(now + seconds(1) - Duration(1)), IsEmpty());
  EXPECT_THAT(pump(now + seconds(1)), ElementsAre("2"));
  EXPECT_EQ(hooks->next_due(), std::nullopt);
}

TEST_F(HooksTest, GoToTheirUrlWithTheSecretsValueForAToken) {
  set_settings(Json::parse(R"({"webhooks": [{"url": "http://hook", "secret": "key"}]})"));
  write_secret(*tx, space, "key", "the token");
  add(1);
  commit_hooks();
  ASSERT_TRUE(hooks->pump(*tx, now));
  ASSERT_THAT(sender.sent, SizeIs(1));
  EXPECT_EQ(sender.sent[0].url, kUrl);
  EXPECT_EQ(sender.sent[0].token, "the token");
  EXPECT_EQ(sender.sent[0].event.type, "t");
}

TEST_F(HooksTest, AreNotSentWithoutTheirSecret) {
  set_settings(Json::parse(R"({"webhooks": [{"url": "http://hook", "secret": "key"}]})"));
  add(1);
  commit_hooks();
  EXPECT_THAT(pump(), IsEmpty());
  ASSERT_THAT(told, SizeIs(1));
  ASSERT_TRUE(told[0].failure);
  EXPECT_EQ(told[0].failure->error.code, "webhook.no_secret");
  EXPECT_FALSE(told[0].failure->is_final) << "it may be set yet";
}

TEST_F(HooksTest, TellWhatBecameOfEachAttempt) {
  add(1);
  add(2);
  commit_hooks();
  ASSERT_TRUE(hooks->pump(*tx, now));
  ASSERT_THAT(sender.sent, SizeIs(2));
  sender.sent[1].done(refused());
  sender.sent[0].done(std::nullopt);
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].number, 2U);
  EXPECT_EQ(told[0].failure->error.code, "webhook.status");
  EXPECT_EQ(told[1].number, 1U);
  EXPECT_FALSE(told[1].failure);
}

TEST_F(HooksTest, ThatWereTakenAreErased) {
  add(1);
  commit_hooks();
  pump();
  EXPECT_EQ(settle(1, std::nullopt).has_value(), false);
  commit_hooks();
  EXPECT_FALSE(has_row(1));
  EXPECT_EQ(hooks->next_due(), std::nullopt);
  EXPECT_EQ(settle(1, std::nullopt).has_value(), false) << "told twice";
}

TEST_F(HooksTest, ThatFailedAreSentAgainUntilTheirAttemptsAreUsedUp) {
  add(1);
  commit_hooks();
  for (int attempt = 1; attempt <= 2; ++attempt) {
    EXPECT_THAT(pump(), ElementsAre("1"));
    EXPECT_EQ(settle(1, refused()).has_value(), false);
    commit_hooks();
    ASSERT_TRUE(hooks->next_due());
    EXPECT_GT(*hooks->next_due(), now);
    now = *hooks->next_due();
  }
  EXPECT_THAT(pump(), ElementsAre("1"));
  const auto given_up = settle(1, refused());
  ASSERT_TRUE(given_up);
  EXPECT_EQ(given_up->attempt, 3U);
  EXPECT_EQ(given_up->url, kUrl);
  commit_hooks();
  EXPECT_FALSE(has_row(1));
  EXPECT_EQ(hooks->next_due(), std::nullopt);
}

TEST_F(HooksTest, WaitAsLongAsTheReceiverSays) {
  add(1);
  commit_hooks();
  pump();
  WebhookFailure failure = refused();
  failure.retry_after = hours(1);
  settle(1, failure);
  commit_hooks();
  EXPECT_EQ(hooks->next_due(), now + hours(1));
  restart();
  EXPECT_EQ(hooks->next_due(), now + hours(1)) << "and behind a restart";
}

TEST_F(HooksTest, AreGivenUpAtOnceWhereTryingAgainIsOfNoUse) {
  add(1);
  commit_hooks();
  pump();
  WebhookFailure failure = refused();
  failure.is_final = true;
  EXPECT_TRUE(settle(1, failure));
  commit_hooks();
  EXPECT_FALSE(has_row(1));
}

TEST_F(HooksTest, ForAUrlThatTheSettingsNoLongerNameAreDropped) {
  add(1);
  commit_hooks();
  set_settings(Json::object());
  EXPECT_THAT(pump(), IsEmpty());
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_FALSE(told[0].failure);
  EXPECT_FALSE(settle(1, refused())) << "no dead letter either";
  commit_hooks();
  EXPECT_FALSE(has_row(1));
}

TEST_F(HooksTest, WaitWhileTheSettingsCannotBeRead) {
  add(1);
  add(2);
  commit_hooks();
  EXPECT_THAT(pump(), ElementsAre("1", "2"));
  damage_settings();
  EXPECT_FALSE(settle(1, refused()));
  commit_hooks();
  EXPECT_TRUE(has_row(1));
  ASSERT_TRUE(hooks->next_due());
  const TimePoint again = *hooks->next_due();
  EXPECT_GT(again, now);
  EXPECT_THAT(pump(again), IsEmpty());
  EXPECT_GT(*hooks->next_due(), again) << "as long as they cannot be read";
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(HooksTest, ThatAreDroppedAreNotSent) {
  add(1);
  commit_hooks();
  erase_hook(*tx, 1);
  hooks->drop(1, now);
  commit_hooks();
  EXPECT_EQ(hooks->next_due(), std::nullopt);
  EXPECT_THAT(pump(), IsEmpty());
}

TEST_F(HooksTest, OfALostBatchAreAsTheyWereBefore) {
  add(1);
  add(2);
  commit_hooks();
  EXPECT_THAT(pump(), ElementsAre("1", "2"));
  HookRecord later = record("3");
  later.at = now + seconds(9);
  hooks->add(*tx, 3, later);
  commit_hooks();

  settle(1, std::nullopt);
  settle(2, refused());
  hooks->drop(3, later.at);
  add(4);
  lose_batch();

  EXPECT_EQ(hooks->next_due(), later.at);
  EXPECT_THAT(pump(), IsEmpty()) << "the first two are under way, and there is no fourth";
  EXPECT_FALSE(settle(1, std::nullopt));
  EXPECT_FALSE(settle(2, refused()));
  commit_hooks();
  EXPECT_FALSE(has_row(1));
  EXPECT_TRUE(has_row(2));
  EXPECT_THAT(pump(later.at), testing::UnorderedElementsAre("2", "3"));
}

TEST_F(HooksTest, HaveSoManyUnderWayAtATime) {
  for (uint64_t i = 1; i <= 100; ++i) add(i);
  commit_hooks();
  const size_t window = pump().size();
  EXPECT_LT(window, 100U);
  EXPECT_EQ(hooks->next_due(), std::nullopt) << "an answer comes first";
  EXPECT_THAT(pump(), IsEmpty());
  settle(1, std::nullopt);
  commit_hooks();
  EXPECT_EQ(hooks->next_due(), now);
  EXPECT_THAT(pump(), SizeIs(1));
}

TEST_F(HooksTest, OfAnEarlierProcessAreSentAgain) {
  add(1);
  add(2);
  HookRecord orphan = record("3");
  orphan.space = NamespaceNumber(99);
  hooks->add(*tx, 3, orphan);
  commit_hooks();
  pump();
  restart();
  EXPECT_THAT(pump(), ElementsAre("1", "2"));
  ASSERT_TRUE(hooks->load(*tx));
  EXPECT_THAT(pump(), IsEmpty()) << "this process has them under way";
}

TEST_F(HooksTest, WhoseRowsAreDamagedAreSetAside) {
  add(1);
  add(2);
  commit_hooks();
  HookRecord damaged = record("1");
  damaged.event = "no event";
  write_hook(*tx, 1, damaged);
  commit();
  EXPECT_THAT(pump(), ElementsAre("2"));
  EXPECT_EQ(damages.count(), 1U);
  EXPECT_EQ(hooks->next_due(), std::nullopt);
}

TEST_F(HooksTest, ThatCannotBeReadStayDueAndAreSentOnce) {
  set_settings(Json::parse(R"({"webhooks": [{"url": "http://hook", "secret": "key"}]})"));
  write_secret(*tx, space, "key", "the token");
  add(1);
  add(2);
  commit_hooks();
  std::vector<std::string> all;
  const auto note = [&] {
    for (const std::string& id : sender.take_sent()) all.push_back(id);
  };
  const uint64_t failed = fail_each_read([&] { return hooks->pump(*tx, now); },
                                         [&] {
                                           note();
                                           EXPECT_EQ(hooks->next_due(), now);
                                         });
  EXPECT_GE(failed, 2U) << "a row, and the secret";
  note();
  EXPECT_THAT(all, testing::UnorderedElementsAre("1", "2"));
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(HooksTest, AreSettledOnceTheirRowCanBeRead) {
  add(1);
  commit_hooks();
  pump();
  const auto settle_it = [&]() -> Status {
    TRY(hooks->settle(*tx, {1, refused()}, now));
    return {};
  };
  const uint64_t failed = fail_each_read(settle_it, [&] {
    hooks->undo();
    EXPECT_EQ(hooks->next_due(), std::nullopt) << "it is under way";
    EXPECT_EQ(read_hook(*tx, 1).value()->attempt, 1U);
  });
  EXPECT_EQ(failed, 1U);
  commit_hooks();
  EXPECT_EQ(read_hook(*tx, 1).value()->attempt, 2U);
  EXPECT_TRUE(hooks->next_due());
}

TEST_F(HooksTest, AreLoadedWholeOnceAllReadsSucceed) {
  add(1);
  add(2);
  commit_hooks();
  hooks = make();
  EXPECT_GE(fail_each_read([&] { return hooks->load(*tx); }, [] {}), 1U);
  EXPECT_THAT(pump(), ElementsAre("1", "2"));
}

}  // namespace
}  // namespace millrace
