// JetStreamDeadLetterQueue: finds and deletes the dead letters of one namespace in a real stream.
#include "broker/dead_letter_queue.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "broker/stored_message.h"
#include "broker/streams.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

class DeadLetterQueueTest : public NatsFixture {
 protected:
  void create_queue() { ASSERT_TRUE(ensure_stream(*connection_, dead_letters_stream())); }

  void publish(const std::string& subject) {
    client_->publish_acked("millrace.dlq." + subject, "", "x");
  }

  /// The sequences of all messages in the stream.
  std::vector<uint64_t> sequences() {
    std::vector<uint64_t> all;
    uint64_t from = 1;
    while (true) {
      const Result<StoredMessage> stored = fetch_stored(*connection_, dead_letters_stream().name,
                                                        {{"seq", from}, {"next_by_subj", ">"}});
      if (!stored) {
        EXPECT_EQ(stored.error().code, "broker.not_found") << stored.error().message;
        return all;
      }
      all.push_back(stored->sequence);
      from = stored->sequence + 1;
    }
  }

  /// The sequence that next() finds; 0: it finds none.
  uint64_t next(std::string_view ns, uint64_t from) {
    const auto found = queue_.next(ns, from);
    CHECK(found.has_value(), "{}", found.error().message);
    return found->value_or(LetterPlace()).sequence;
  }

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  JetStreamDeadLetterQueue queue_{*connection_, {}};
};

TEST_F(DeadLetterQueueTest, CountsTheDeadLettersOfANamespaceForAllReasons) {
  create_queue();
  for (const char* const subject : {"shop.x", "shop.y", "shopping.x", "shop.x"}) publish(subject);
  EXPECT_EQ(queue_.count("shop"), 3U);
  EXPECT_EQ(queue_.count("shopping"), 1U);
  EXPECT_EQ(queue_.count("other"), 0U);
}

TEST_F(DeadLetterQueueTest, FindsTheNextDeadLetterOfANamespaceWithItsTime) {
  create_queue();
  for (const char* const subject : {"a.x", "b.x", "a.y"}) publish(subject);
  EXPECT_EQ(next("b", 1), 2U);
  EXPECT_EQ(next("a", 1), 1U);
  EXPECT_EQ(next("a", 2), 3U);
  EXPECT_EQ(next("b", 3), 0U);
  EXPECT_EQ(next("a", 1'000'000), 0U);
  const auto found = queue_.next("a", 3);
  ASSERT_TRUE(found && *found);
  const Result<StoredMessage> stored =
      fetch_stored(*connection_, dead_letters_stream().name, {{"seq", 3}});
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ((*found)->stored_at, broker_time(stored->stamped));
}

TEST_F(DeadLetterQueueTest, DeletesTheDeadLettersOfOneNamespaceBeforeASequence) {
  create_queue();
  for (const char* const subject : {"b.x", "a.x", "a.y", "b.x", "a.x", "a.y"}) publish(subject);
  EXPECT_EQ(queue_.delete_before("a", 2), 0U) << "the first dead letter has the sequence 2";
  EXPECT_EQ(queue_.delete_before("a", 5), 2U);
  EXPECT_THAT(sequences(), ElementsAre(1, 4, 5, 6));
  EXPECT_EQ(queue_.count("a"), 2U);
  EXPECT_EQ(queue_.delete_before("a", 1'000'000), 2U);
  EXPECT_THAT(sequences(), ElementsAre(1, 4));
}

TEST_F(DeadLetterQueueTest, DeletesAllDeadLettersOfOneNamespaceButTheNewest) {
  create_queue();
  for (const char* const subject : {"b.x", "a.x", "a.y", "b.x", "a.x", "a.y"}) publish(subject);
  EXPECT_EQ(queue_.delete_all_but("a", 4), 0U);
  EXPECT_EQ(queue_.delete_all_but("a", 3), 1U);
  EXPECT_THAT(sequences(), ElementsAre(1, 3, 4, 5, 6));
  EXPECT_EQ(queue_.delete_all_but("a", 1), 2U);
  EXPECT_THAT(sequences(), ElementsAre(1, 4, 6));
}

TEST_F(DeadLetterQueueTest, DeletesAllMessagesOfTheStreamAndThenHasNewOnes) {
  create_queue();
  for (const char* const subject : {"a.x", "a.y", "a.x"}) publish(subject);
  EXPECT_EQ(queue_.delete_before("a", 4), 3U);
  EXPECT_EQ(queue_.count("a"), 0U);
  EXPECT_EQ(next("a", 1), 0U);
  publish("a.x");
  EXPECT_EQ(queue_.count("a"), 1U);
  EXPECT_EQ(next("a", 1), 4U);
}

TEST_F(DeadLetterQueueTest, HasNoDeadLettersWithoutItsStream) {
  EXPECT_EQ(queue_.count("a"), 0U);
  EXPECT_EQ(next("a", 1), 0U);
  EXPECT_EQ(queue_.delete_before("a", 5), 0U);
  EXPECT_EQ(queue_.delete_all_but("a", 1), 0U);
}

TEST_F(DeadLetterQueueTest, HasTheNamesAndSubjectsOfItsPrefix) {
  const StreamOptions options{.prefix = "orders"};
  ASSERT_TRUE(ensure_stream(*connection_, dead_letters_stream(options)));
  create_queue();
  client_->publish_acked("orders.dlq.a%2Eb.x", "", "x");
  client_->publish_acked("orders.dlq.a%2Eb.x", "", "x");
  publish("a%2Eb.x");
  JetStreamDeadLetterQueue orders(*connection_, options);
  EXPECT_EQ(orders.count("a.b"), 2U) << "the dot of a name is encoded in subjects";
  EXPECT_EQ(orders.delete_all_but("a.b", 1), 1U);
  EXPECT_EQ(queue_.count("a.b"), 1U);
}

TEST_F(DeadLetterQueueTest, IsUsableOnlyWhileThisProcessOwnsTheStreams) {
  const auto guarded = Connection::open({.servers = {server_.url()}, .guarded = true});
  ASSERT_TRUE(guarded && (*guarded)->wait_until_connected(kPatience));
  JetStreamDeadLetterQueue queue(**guarded, {});
  EXPECT_FALSE(queue.is_usable());
  (*guarded)->allow_until(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_TRUE(queue.is_usable());
  (*guarded)->forbid();
  EXPECT_FALSE(queue.is_usable());
  const Result<uint64_t> count = queue.count("a");
  ASSERT_FALSE(count);
  EXPECT_EQ(count.error().code, "broker.unreachable");
}

}  // namespace
}  // namespace millrace
