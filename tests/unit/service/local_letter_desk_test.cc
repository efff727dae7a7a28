// LocalLetterDesk: lists, replays and deletes dead letters.
#include "orchestrator/service/local_letter_desk.h"

#include <gtest/gtest.h>

#include "tests/unit/service/fake_stored_letters.h"
#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

constexpr const char* kGood = R"({"specversion":"1.0","id":"1","source":"/s","type":"paid"})";
constexpr const char* kBad = R"({"specversion":"1.0","id":"1","type":"paid"})";

/// Acknowledges each message at once, or refuses it.
class AckingPublisher final : public Publisher {
 public:
  void publish(NatsMessage message, Done done) override {
    messages.push_back(std::move(message));
    if (refuses) return done(fail("broker.unreachable", "not connected"));
    done(PublishAck{.sequence = 100 + messages.size()});
  }
  std::vector<NatsMessage> messages;
  bool refuses = false;
};

class StillClock final : public Clock {
 public:
  TimePoint now() const override { return from_millis(1'700'000'000'000); }
};

class LocalLetterDeskTest : public CatalogStoreTest {
 protected:
  LocalLetterDesk desk() {
    return LocalLetterDesk({.environment = *environment,
                            .clock = clock,
                            .letters = letters,
                            .publisher = publisher,
                            .prefix = "millrace",
                            .admit = [this](std::string_view, size_t count) -> Status {
                              if (count <= most_admitted) admitted += count;
                              if (!over_quota && count <= most_admitted) return {};
                              return fail("millrace.quota.eventsPerSecond", "too many");
                            }});
  }
  static std::vector<std::string> ids(const Result<Json>& page) {
    std::vector<std::string> found;
    EXPECT_TRUE(page) << page.error().message;
    if (!page) return found;
    for (const Json& item : page->at("items")) found.push_back(item["id"]);
    return found;
  }
  using Ids = std::vector<std::string>;

  StillClock clock;
  FakeStoredLetters letters;
  AckingPublisher publisher;
  size_t admitted = 0;
  size_t most_admitted = 1'000'000;  ///< events at a time
  bool over_quota = false;
};

TEST_F(LocalLetterDeskTest, ListsDeadLettersNewestFirstWithTheNumberOfEachReason) {
  letters.add("default", kBad);
  letters.add("other", kBad);
  letters.add("default", "{", "event.malformed_json");
  letters.add("default", kBad);
  const Result<Json> page = desk().list("default", {});
  EXPECT_EQ(ids(page), (Ids{"4", "3", "1"}));
  EXPECT_EQ((*page)["reasons"], (Json{{{"reason", "event.malformed_json"}, {"count", 1}},
                                      {{"reason", "event.missing_attribute"}, {"count", 2}}}));
  EXPECT_EQ((*page)["complete"], true);
  EXPECT_EQ((*page)["next"], nullptr);
  EXPECT_EQ(ids(desk().list("default", {.reason = "event.malformed_json"})), Ids{"3"});
  const Result<Json> first = desk().list("default", {.limit = 2});
  EXPECT_EQ(ids(first), (Ids{"4", "3"}));
  EXPECT_EQ((*first)["next"], "3");
  EXPECT_EQ(ids(desk().list("default", {.limit = 2, .before = 3})), Ids{"1"});
}

TEST_F(LocalLetterDeskTest, ListsTheDeadLettersOfOneSource) {
  letters.add("default", kBad, "x", {{"Millrace-Source", "orders"}});
  letters.add("default", kBad, "x", {{"Millrace-Source", "payments"}});
  letters.add("default", kBad);
  letters.add("default", kBad, "x", {{"Millrace-Source", "orders"}});
  EXPECT_EQ(ids(desk().list("default", {})), (Ids{"4", "3", "2", "1"}));
  const Result<Json> page = desk().list("default", {.source = "orders"});
  EXPECT_EQ(ids(page), (Ids{"4", "1"}));
  EXPECT_EQ((*page)["items"][0]["source"], "orders");
  EXPECT_EQ(ids(desk().list("default", {.limit = 1, .before = 4, .source = "orders"})), Ids{"1"});
  EXPECT_EQ(ids(desk().list("default", {.source = "none"})), Ids{});
}

TEST_F(LocalLetterDeskTest, LeavesOutTheDeadLettersOfAnEarlierNamespace) {
  const uint64_t old = letters.add("default", kBad, "x", {{"Millrace-Namespace", "99"}});
  letters.add("default", kBad, "x", {{"Millrace-Namespace", "0"}});
  EXPECT_EQ(ids(desk().list("default", {})), Ids{"2"});
  EXPECT_EQ(desk().get("default", old).error().code, "dlq.not_found");
  EXPECT_EQ(desk().replay("default", old, std::nullopt).error().code, "dlq.not_found");
  EXPECT_EQ(desk().remove("default", old).error().code, "dlq.not_found");
}

TEST_F(LocalLetterDeskTest, ListsWhatIsUnderTheNameOfNoNamespace) {
  letters.add("nowhere", kGood, "namespace.not_found");
  EXPECT_EQ(ids(desk().list("nowhere", {})), Ids{"1"});
  EXPECT_EQ(desk().list("empty", {}).error().code, "namespace.not_found");
  EXPECT_EQ(ids(desk().list("default", {})), Ids());
  EXPECT_EQ(desk().replay("nowhere", 1, std::nullopt).error().code, "namespace.not_found");
  EXPECT_TRUE(publisher.messages.empty());
}

TEST_F(LocalLetterDeskTest, ReplaysALetterAsItIsAndDeletesIt) {
  const uint64_t id = letters.add("default", kGood);
  const Result<Json> done = desk().replay("default", id, std::nullopt);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(*done, (Json{{"id", "1"}, {"event", "1"}, {"sequence", 101}}));
  ASSERT_EQ(publisher.messages.size(), 1U);
  EXPECT_EQ(publisher.messages[0].subject, "millrace.events.default.paid");
  EXPECT_EQ(admitted, 1U);
  EXPECT_TRUE(letters.letters.empty());
  EXPECT_EQ(desk().replay("default", id, std::nullopt).error().code, "dlq.not_found");
}

TEST_F(LocalLetterDeskTest, ReplaysTheCorrectedEventInPlaceOfTheLetter) {
  const uint64_t id = letters.add("default", kBad);
  EXPECT_EQ(desk().replay("default", id, std::nullopt).error().code, "dlq.not_event");
  const Event corrected{.id = "9", .source = "/fixed", .type = "paid"};
  const Result<Json> done = desk().replay("default", id, corrected);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ((*done)["event"], "9");
  EXPECT_NE(publisher.messages[0].data.find("/fixed"), std::string::npos);
  EXPECT_TRUE(letters.letters.empty());
}

TEST_F(LocalLetterDeskTest, RefusesACorrectedEventForAMessageThatWasNoEvent) {
  const uint64_t id = letters.add("default", kGood, "webhook.failed",
                                  {{"Millrace-Subject", "millrace.lifecycle.default.a.failed"}});
  const Event corrected{.id = "9", .source = "/fixed", .type = "paid"};
  EXPECT_EQ(desk().replay("default", id, corrected).error().code, "dlq.not_event");
  EXPECT_EQ(letters.sequences(), std::vector<uint64_t>{id});
}

TEST_F(LocalLetterDeskTest, ReplaysTheEventForAMessageOfASource) {
  const uint64_t id = letters.add(
      "default", "no event", "mapping.failed",
      {{"Millrace-Subject", "shop.orders.eu"}, {std::string(kDeadLetterSource), "orders"}});
  const Error refused = desk().replay("default", id, std::nullopt).error();
  EXPECT_EQ(refused.code, "dlq.not_event");
  EXPECT_NE(refused.message.find("a message of a source"), std::string::npos) << refused.message;
  const Event event{.id = "9", .source = "/fixed", .type = "paid"};
  const Result<Json> done = desk().replay("default", id, event);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ((*done)["event"], "9");
  EXPECT_TRUE(letters.letters.empty());
}

TEST_F(LocalLetterDeskTest, SendsTheSameReplayUnderTheSameMessageId) {
  const uint64_t id = letters.add("default", kGood);
  letters.failing_removal = Error{"broker.timeout", "no answer"};
  EXPECT_EQ(desk().replay("default", id, std::nullopt).error().code, "broker.timeout");
  EXPECT_EQ(desk().replay("default", id, std::nullopt).error().code, "broker.timeout");
  const Event corrected{.id = "9", .source = "/fixed", .type = "paid"};
  EXPECT_EQ(desk().replay("default", id, corrected).error().code, "broker.timeout");
  ASSERT_EQ(publisher.messages.size(), 3U);
  const auto message_id = [&](size_t i) {
    return *find_header(publisher.messages[i].headers, "Nats-Msg-Id");
  };
  EXPECT_EQ(message_id(0), message_id(1));
  EXPECT_NE(message_id(0), message_id(2));
}

TEST_F(LocalLetterDeskTest, KeepsALetterWhoseEventIsNotInTheStream) {
  const uint64_t id = letters.add("default", kGood);
  publisher.refuses = true;
  EXPECT_EQ(desk().replay("default", id, std::nullopt).error().code, "broker.unreachable");
  over_quota = true;
  EXPECT_EQ(desk().replay("default", id, std::nullopt).error().code,
            "millrace.quota.eventsPerSecond");
  EXPECT_EQ(publisher.messages.size(), 1U);
  EXPECT_EQ(letters.sequences(), std::vector<uint64_t>{id});
}

TEST_F(LocalLetterDeskTest, ReplaysAllOfAReasonInPagesAndReportsWhatIsRefused) {
  const size_t count = kMostLettersReplayed + 20;
  for (size_t i = 0; i < count; ++i) letters.add("default", i == 5 ? kBad : kGood, "a");
  letters.add("default", kGood, "b");
  const Result<Json> first = desk().replay_all("default", "a", 0);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)["done"], kMostLettersReplayed - 1);
  EXPECT_EQ((*first)["refused"].size(), 1U);
  EXPECT_EQ((*first)["refused"][0]["id"], "6");
  EXPECT_EQ((*first)["refused"][0]["code"], "dlq.not_event");
  EXPECT_EQ((*first)["left"], 21);
  EXPECT_EQ((*first)["next"], "101");
  const Result<Json> second = desk().replay_all("default", "a", 101);
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)["done"], 20);
  EXPECT_EQ((*second)["left"], 1);
  EXPECT_EQ((*second)["next"], nullptr);
  EXPECT_EQ(letters.sequences(), (std::vector<uint64_t>{6, count + 1}));
  EXPECT_EQ(admitted, count - 1);
}

TEST_F(LocalLetterDeskTest, ReplaysAsManyAsASmallQuotaPermits) {
  for (int i = 1; i <= 10; ++i) letters.add("default", i == 2 || i == 9 ? kBad : kGood, "a");
  most_admitted = 3;  // 8 events are too many, 4 also; 2 are replayed: those of 1 and 3
  const Result<Json> first = desk().replay_all("default", "a", 0);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ((*first)["done"], 2);
  EXPECT_EQ((*first)["next"], "4");
  ASSERT_EQ((*first)["refused"].size(), 1U) << "9 is refused by the call that reaches it";
  EXPECT_EQ((*first)["refused"][0]["id"], "2");
  EXPECT_EQ(letters.sequences(), (std::vector<uint64_t>{2, 4, 5, 6, 7, 8, 9, 10}));
  over_quota = true;
  EXPECT_EQ(desk().replay_all("default", "a", 4).error().code, "millrace.quota.eventsPerSecond");
}

TEST_F(LocalLetterDeskTest, RequestsNoFurtherDeletionAfterAnError) {
  for (int i = 1; i <= 3; ++i) letters.add("default", kGood, "a");
  letters.failing_removal = Error{"broker.timeout", "no answer"};
  const Result<Json> answer = desk().replay_all("default", "a", 0);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["done"], 0);
  EXPECT_EQ((*answer)["refused"].size(), 3U);
  EXPECT_EQ((*answer)["refused"][2]["code"], "broker.timeout");
  EXPECT_EQ(letters.removals, 1U);
}

TEST_F(LocalLetterDeskTest, DeletesOneOrAllOfAReason) {
  for (const char* const reason : {"a", "b", "a", "c"}) letters.add("default", kBad, reason);
  EXPECT_EQ(desk().remove("default", 4), (Json{{"id", "4"}, {"deleted", true}}));
  const Json all = {{"done", 2}, {"refused", Json::array()}, {"left", 0}, {"next", nullptr}};
  EXPECT_EQ(desk().remove_all("default", "a"), all);
  EXPECT_EQ(letters.sequences(), std::vector<uint64_t>{2});
  EXPECT_EQ(desk().remove_all("default", "").value()["done"], 1);
}

TEST_F(LocalLetterDeskTest, FindsDeadLettersByTheirIdReasonAndEventId) {
  letters.add("default", kGood, "a");
  letters.add("default", kBad, "b");
  letters.add("default", "{", "b", {{"ce-id", "one%20two"}});
  letters.add("other", kGood, "b");
  letters.add("default", kGood, "b", {{"Millrace-Namespace", "99"}});
  const auto found = [&](std::string_view text) {
    const Result<FoundLetters> letter = desk().find("default", text);
    EXPECT_TRUE(letter) << letter.error().message;
    EXPECT_TRUE(letter && letter->is_complete) << text;
    Ids all;
    for (const Json& item : letter ? letter->items : Json::array()) {
      EXPECT_EQ(item["kind"], "deadLetter");
      all.push_back(item["id"].get<std::string>() + " " + item["label"].get<std::string>());
    }
    return all;
  };
  const std::string time = ", " + format_rfc3339(letters.stamped);
  EXPECT_EQ(found("a"), Ids{"1 a" + time});
  EXPECT_EQ(found("b"), (Ids{"3 b" + time, "2 b" + time}));
  EXPECT_EQ(found("one two"), Ids{"3 b" + time});
  EXPECT_EQ(found("1"), (Ids{"1 a" + time, "2 b" + time})) << "its id, and those of its event";
  EXPECT_EQ(found("2"), Ids{"2 b" + time});
  EXPECT_EQ(found("4"), Ids()) << "of another namespace";
  EXPECT_EQ(found("5"), Ids()) << "of an earlier namespace";
  EXPECT_EQ(found("c"), Ids());
}

TEST_F(LocalLetterDeskTest, FindsABoundedNumberOfDeadLettersInABoundedNumber) {
  for (size_t i = 0; i < kMostFoundLetters + 1; ++i) letters.add("default", kBad, "a");
  const Result<FoundLetters> some = desk().find("default", "a");
  ASSERT_TRUE(some);
  EXPECT_EQ(some->items.size(), kMostFoundLetters);
  EXPECT_EQ(some->items[0]["id"], std::to_string(kMostFoundLetters + 1));
  EXPECT_FALSE(some->is_complete);
  for (size_t i = 0; i < kMostStoredEvents; ++i) letters.add("default", "{", "b");
  const Result<FoundLetters> none = desk().find("default", "a");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->items.empty()) << "it looks at the newest only";
  EXPECT_FALSE(none->is_complete);
  const Result<FoundLetters> by_id = desk().find("default", "2");
  ASSERT_TRUE(by_id);
  EXPECT_EQ(by_id->items.size(), 1U);
  EXPECT_EQ(desk().find("empty", "a").error().code, "namespace.not_found");
}

TEST_F(LocalLetterDeskTest, PassesOnTheErrorOfTheBroker) {
  letters.add("default", kGood);
  letters.failing = Error{"broker.unreachable", "no connection"};
  EXPECT_EQ(desk().list("default", {}).error().code, "broker.unreachable");
  EXPECT_EQ(desk().replay("default", 1, std::nullopt).error().code, "broker.unreachable");
  EXPECT_EQ(desk().replay_all("default", "a", 0).error().code, "broker.unreachable");
  EXPECT_EQ(desk().remove_all("default", "a").error().code, "broker.unreachable");
  EXPECT_EQ(desk().find("default", "a").error().code, "broker.unreachable");
}

}  // namespace
}  // namespace millrace
