// JetStreamStoredLetters: dead letters of a real broker, read, counted and deleted.
#include "broker/stored_letters.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

class StoredLettersTest : public NatsFixture {
 protected:
  void make_stream() { ASSERT_TRUE(ensure_stream(*connection_, dead_letters_stream())); }
  void fill() {
    make_stream();
    client_->publish_acked("millrace.dlq.a.event%2Etime", "Millrace-Reason: event.time\r\n", "1");
    client_->publish_acked("millrace.dlq.b.event%2Etime", "", "2");
    client_->publish_acked("millrace.dlq.a.poison", "", "3");
    client_->publish_acked("millrace.dlq.a.event%2Etime", "", "4");
  }
  std::vector<uint64_t> read(const StoredLetters::Range& range) {
    const Result<StoredEvents::Page> page = letters_.read(range);
    CHECK(page.has_value(), "{}", page.error().message);
    std::vector<uint64_t> found;
    for (const StoredEvent& letter : page->events) found.push_back(letter.sequence);
    return found;
  }
  using Sequences = std::vector<uint64_t>;
  using Counts = std::map<std::string, uint64_t>;

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  JetStreamStoredLetters letters_{*connection_, *connection_, StreamOptions()};
};

TEST_F(StoredLettersTest, ReadsTheDeadLettersOfANamespaceOrAReason) {
  fill();
  EXPECT_EQ(read({.ns = "a"}), (Sequences{1, 3, 4}));
  EXPECT_EQ(read({.ns = "a", .reason = "event.time"}), (Sequences{1, 4}));
  EXPECT_EQ(read({.ns = "a", .first = 2, .last = 3}), Sequences{3});
  EXPECT_EQ(read({.ns = "a", .limit = 2}), (Sequences{1, 3}));
  EXPECT_EQ(letters_.span().value().last, 4U);
  const Result<StoredEvent> letter = letters_.get("a", 1);
  ASSERT_TRUE(letter) << letter.error().message;
  EXPECT_EQ(letter->message.data, "1");
  EXPECT_EQ(letter->message.headers, (Headers{{"Millrace-Reason", "event.time"}}));
  for (const uint64_t other : {0U, 2U, 5U}) {
    EXPECT_EQ(letters_.get("a", other).error().code, "dlq.not_found") << other;
  }
}

TEST_F(StoredLettersTest, CountsTheDeadLettersOfEachReason) {
  fill();
  EXPECT_EQ(letters_.count("a").value(), (Counts{{"event.time", 2}, {"poison", 1}}));
  EXPECT_EQ(letters_.count("none").value(), Counts());
}

TEST_F(StoredLettersTest, CountsTheDeadLettersOfAReasonInEachNamespace) {
  EXPECT_EQ(letters_.count_by_namespace("event.time").value(), Counts()) << "there is no stream";
  fill();
  EXPECT_EQ(letters_.count_by_namespace("event.time").value(), (Counts{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(letters_.count_by_namespace("poison").value(), (Counts{{"a", 1}}));
  EXPECT_EQ(letters_.count_by_namespace("none").value(), Counts());
}

TEST_F(StoredLettersTest, DeletesOneOrAllOfAReason) {
  fill();
  EXPECT_TRUE(letters_.remove(3));
  EXPECT_TRUE(letters_.remove(3)) << "the message does not exist any more";
  EXPECT_EQ(read({.ns = "a"}), (Sequences{1, 4}));
  EXPECT_EQ(letters_.remove_all("a", "event.time", 3).value(), 1U);
  EXPECT_EQ(read({.ns = "a"}), Sequences{4}) << "a later dead letter stays";
  EXPECT_EQ(letters_.remove_all("a", "", 0).value(), 0U);
  EXPECT_EQ(letters_.remove_all("a", "", 4).value(), 1U);
  EXPECT_EQ(read({.ns = "b"}), Sequences{2});
}

TEST_F(StoredLettersTest, HaveNoDeadLettersWithoutTheStream) {
  EXPECT_EQ(letters_.span().value().last, 0U);
  EXPECT_EQ(read({.ns = "a"}), Sequences());
  EXPECT_EQ(letters_.count("a").value(), Counts());
  EXPECT_EQ(letters_.get("a", 1).error().code, "dlq.not_found");
  EXPECT_TRUE(letters_.remove(1));
  EXPECT_EQ(letters_.remove_all("a", "", 9).value(), 0U);
}

}  // namespace
}  // namespace millrace
