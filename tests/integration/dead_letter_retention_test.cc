// The retention of dead letters on a real nats-server: a pass deletes what the settings of a
// namespace do not keep, and no dead letter of another namespace.
#include "orchestrator/service/dead_letter_retention.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "broker/dead_letter_queue.h"
#include "broker/stored_letters.h"
#include "broker/streams.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "scenarios/virtual_clock.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DeadLetterRetentionOnNats : public NatsFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(ensure_stream(*connection_, dead_letters_stream())); }

  void store(const std::string& name, NamespaceNumber number, const std::string& settings) {
    Transaction tx(*environment_);
    write_namespace(tx, name, {.number = number, .settings = settings});
    const Status done = tx.commit();
    ASSERT_TRUE(done) << done.error().message;
  }

  /// Publishes dead letters of both namespaces in turns; their data is their number.
  void publish(int first, int last) {
    for (int i = first; i <= last; ++i) {
      const std::string data = std::to_string(i);
      client_->publish_acked(i % 2 == 0 ? "millrace.dlq.shop.x" : "millrace.dlq.shop.y", "", data);
      client_->publish_acked("millrace.dlq.other.x", "", data);
    }
  }

  /// The data of the dead letters of the namespace, the oldest first.
  std::vector<std::string> letters_of(std::string_view ns) {
    const Result<StoredEvents::Page> page = stored_.read({.ns = std::string(ns)});
    CHECK(page.has_value(), "{}", page.error().message);
    std::vector<std::string> all;
    for (const StoredEvent& letter : page->events) all.push_back(letter.message.data);
    return all;
  }

  /// Sets the clock of millrace to that long after the broker stored the dead letter.
  void set_clock(uint64_t sequence, Duration after) {
    const auto letter = queue_.next("shop", sequence);
    CHECK(letter && *letter);
    clock_.jump((*letter)->stored_at + after - clock_.now());
  }

  Folder folder_;
  std::unique_ptr<Environment> environment_ = Environment::open(folder_.path()).value();
  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  VirtualClock clock_;
  Metrics metrics_;
  JetStreamDeadLetterQueue queue_{*connection_, {}};
  JetStreamStoredLetters stored_{*connection_, *connection_, {}};
  DeadLetterRetention retention_{
      *environment_, clock_, queue_, metrics_, {.portion = 7, .portions = 100}};
};

TEST_F(DeadLetterRetentionOnNats, KeepsTheNewestDeadLettersOfANamespaceAndAllOfAnother) {
  store("shop", NamespaceNumber(2), R"({"retention": {"deadLetters": {"count": 3}}})");
  store("other", NamespaceNumber(3), "");
  publish(1, 40);
  EXPECT_TRUE(retention_.pass());
  EXPECT_THAT(letters_of("shop"), ElementsAre("38", "39", "40"));
  EXPECT_THAT(letters_of("other"), SizeIs(40));
  EXPECT_THAT(metrics_.text(),
              HasSubstr("millrace_dead_letters_deleted_total{namespace=\"shop\"} 37\n"));
  publish(41, 42);
  EXPECT_TRUE(retention_.pass());
  EXPECT_THAT(letters_of("shop"), ElementsAre("40", "41", "42"));
  EXPECT_THAT(letters_of("other"), SizeIs(42));
  EXPECT_THAT(metrics_.text(), HasSubstr("millrace_dead_letter_retention_failures_total 0\n"));
}

TEST_F(DeadLetterRetentionOnNats, DeletesTheDeadLettersOfANamespaceThatAreOldEnough) {
  constexpr Duration kHour = std::chrono::hours(1);
  store("shop", NamespaceNumber(2), R"({"retention": {"deadLetters": {"age": "1h"}}})");
  publish(1, 40);
  set_clock(1, kHour - Duration(1));
  EXPECT_TRUE(retention_.pass());
  EXPECT_THAT(letters_of("shop"), SizeIs(40)) << "the first one is a millisecond too young";
  set_clock(79, kHour);  // the last one
  EXPECT_TRUE(retention_.pass());
  EXPECT_THAT(letters_of("shop"), IsEmpty());
  EXPECT_THAT(letters_of("other"), SizeIs(40));
}

}  // namespace
}  // namespace millrace
