// The consumers of sources at streams with the retention `interest`: which of both a reader
// replaces, and that the stream holds each message for them until it is acknowledged, whatever
// ended in between.
#include "broker/kept_consumers.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/origin_streams.h"
#include "tests/support/nats_fixture.h"
#include "tests/support/process.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(KeptConsumers, AreReadFromTheAnswerOfTheBroker) {
  EXPECT_EQ(read_found_consumer(Json::object()), FoundConsumer());
  EXPECT_EQ(read_found_consumer({{"config", {{"opt_start_seq", 8U}, {"filter_subject", "a.*"}}},
                                 {"ack_floor", {{"stream_seq", 0U}}}}),
            (FoundConsumer{.subjects = {"a.*"}, .floor = 7}))
      << "nothing is acknowledged yet";
  EXPECT_EQ(read_found_consumer(
                {{"config", {{"opt_start_seq", 8U}, {"filter_subjects", Json::array({"a", "b"})}}},
                 {"ack_floor", {{"stream_seq", 12U}}}}),
            (FoundConsumer{.subjects = {"a", "b"}, .floor = 12}));
}

TEST(KeptConsumers, GiveANewOneTheFreeNameOrThatOfTheOneThatHoldsLess) {
  const std::vector<std::string> wanted = {"a.*"};
  const std::optional<FoundConsumer> none;
  const auto with = [](std::vector<std::string> subjects, uint64_t floor) {
    return std::optional(FoundConsumer{.subjects = std::move(subjects), .floor = floor});
  };
  const struct {
    FoundConsumers found;
    size_t spare;
  } rows[] = {{{none, none}, 0},
              {{with({"a.*"}, 5), none}, 1},
              {{none, with({"a.*"}, 5)}, 0},
              {{with({"a.*"}, 5), with({"a.*"}, 9)}, 1},
              {{with({"a.*"}, 9), with({"a.*"}, 5)}, 0},
              {{with({"a.*"}, 5), with({"a.*"}, 5)}, 1},
              {{with({"b"}, 5), with({"a.*"}, 9)}, 0},
              {{with({"a.*"}, 9), with({"b"}, 5)}, 1},
              {{with({}, 9), with({"b"}, 5)}, 0}};
  for (const auto& row : rows) {
    EXPECT_EQ(spare_consumer(row.found, wanted), row.spare) << &row - rows;
  }
}

class StreamOfInterest : public NatsFixture {
 protected:
  void SetUp() override {
    client_->api("STREAM.CREATE.JOBS", {{"name", "JOBS"},
                                        {"subjects", Json::array({"jobs.*"})},
                                        {"retention", "interest"},
                                        {"storage", "file"}});
  }

  void publish(int count) {
    for (int i = 0; i < count; ++i) client_->publish("jobs.a", "{}");
    client_->flush();
  }
  static OriginWish wish(uint64_t after) {
    return {.stream = "JOBS",
            .subjects = {"jobs.a"},
            .consumer = "millrace-s",
            .after = after,
            .consumes = true,
            .stays = true};
  }
  void open(uint64_t after) {
    reader_.reset();
    auto opened = origins_.open(wish(after));
    ASSERT_TRUE(opened) << opened.error().message;
    reader_ = *std::move(opened);
  }
  /// The first messages of a new reader. A reader that ends, because heartbeats of a busy
  /// nats-server are late, is replaced.
  std::vector<OriginMessage> read(uint64_t after, size_t count) {
    std::vector<OriginMessage> all;
    const auto is_read = [&] {
      all.clear();
      reader_.reset();
      auto opened = origins_.open(wish(after));
      if (!opened) return false;
      reader_ = *std::move(opened);
      for (int reads = 0; all.size() < count && reads < 60; ++reads) {
        auto messages = reader_->read(count - all.size(), Duration(1'000));
        if (!messages) return false;
        for (OriginMessage& message : *messages) all.push_back(std::move(message));
      }
      return all.size() == count;
    };
    EXPECT_TRUE(eventually(is_read));
    return all;
  }
  static std::vector<uint64_t> sequences(const std::vector<OriginMessage>& messages) {
    std::vector<uint64_t> all;
    for (const OriginMessage& message : messages) all.push_back(message.sequence);
    return all;
  }
  void acknowledge(const std::vector<OriginMessage>& messages) {
    std::vector<std::string> replies;
    for (const OriginMessage& message : messages) replies.push_back(message.reply);
    reader_->acknowledge(replies);
  }
  bool holds(uint64_t count) {
    return eventually(
        [&] { return client_->api("STREAM.INFO.JOBS")["state"]["messages"] == count; });
  }
  std::vector<std::string> consumers() {
    const Json answer = client_->api("CONSUMER.NAMES.JOBS");
    std::vector<std::string> names;
    for (const Json& name : answer["consumers"]) names.push_back(name.get<std::string>());
    return names;
  }
  /// Creates the consumer as a process that was killed behind its creation leaves it.
  void leave(const std::string& name, uint64_t first) {
    const Json answer =
        client_->api("CONSUMER.CREATE.JOBS." + name, {{"stream_name", "JOBS"},
                                                      {"config",
                                                       {{"name", name},
                                                        {"durable_name", name},
                                                        {"ack_policy", "explicit"},
                                                        {"deliver_policy", "by_start_sequence"},
                                                        {"opt_start_seq", first},
                                                        {"filter_subject", "jobs.a"}}}});
    ASSERT_FALSE(answer.contains("error")) << answer;
  }

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  JetStreamOrigins origins_{*connection_, {}, "_INBOX"};
  std::unique_ptr<OriginReader> reader_;
};

TEST_F(StreamOfInterest, HoldsTheMessagesWhileNoReaderExists) {
  open(0);
  publish(3);
  EXPECT_THAT(sequences(read(0, 3)), ElementsAre(1, 2, 3));
  reader_.reset();
  publish(2);
  EXPECT_TRUE(holds(5));
  // Message 1 is applied, and its acknowledgement was lost.
  const std::vector<OriginMessage> messages = read(1, 4);
  EXPECT_THAT(sequences(messages), ElementsAre(2, 3, 4, 5));
  EXPECT_TRUE(holds(4));
  acknowledge(messages);
  EXPECT_TRUE(holds(0));
}

TEST_F(StreamOfInterest, HasMessagesOfBeforeTheFirstReadingOnlyIfAnotherConsumerWantsThem) {
  publish(2);
  EXPECT_TRUE(holds(0));
  leave("other", 1);
  publish(2);
  EXPECT_THAT(sequences(read(0, 2)), ElementsAre(3, 4));
}

TEST_F(StreamOfInterest, HasOneOfBothConsumers) {
  open(0);
  EXPECT_THAT(consumers(), ElementsAre("millrace-s-a"));
  open(0);
  EXPECT_THAT(consumers(), ElementsAre("millrace-s-b"));
  open(0);
  EXPECT_THAT(consumers(), ElementsAre("millrace-s-a"));
}

TEST_F(StreamOfInterest, LosesNothingAfterAKillBetweenBothConsumers) {
  for (const uint64_t first : {1U, 3U}) {
    SCOPED_TRACE(first);
    open(0);
    publish(3);
    const std::vector<OriginMessage> before = read(0, 3);
    ASSERT_EQ(before.size(), 3U);
    const uint64_t floor = before.front().sequence - 1;
    reader_.reset();
    const bool has_first = consumers() == std::vector<std::string>{"millrace-s-a"};
    leave(has_first ? "millrace-s-b" : "millrace-s-a", floor + first);
    EXPECT_EQ(consumers().size(), 2U);
    publish(1);
    const std::vector<OriginMessage> messages = read(floor, 4);
    EXPECT_THAT(sequences(messages), ElementsAre(floor + 1, floor + 2, floor + 3, floor + 4));
    EXPECT_EQ(consumers().size(), 1U);
    acknowledge(messages);
    EXPECT_TRUE(holds(0));
  }
}

TEST_F(StreamOfInterest, HoldsTheMessagesAcrossAKillOfTheBroker) {
  open(0);
  publish(2);
  EXPECT_THAT(sequences(read(0, 2)), ElementsAre(1, 2));
  server_.process().kill();
  ASSERT_TRUE(server_.process().start_again());
  client_ = server_.client();
  publish(1);
  EXPECT_THAT(sequences(read(0, 3)), ElementsAre(1, 2, 3));
}

TEST_F(StreamOfInterest, HoldsNothingAfterItsConsumerWasReleased) {
  EXPECT_TRUE(origins_.release_consumer("JOBS", "millrace-s")) << "there is none";
  open(0);
  publish(2);
  EXPECT_TRUE(holds(2));
  reader_.reset();
  ASSERT_TRUE(origins_.release_consumer("JOBS", "millrace-s"));
  EXPECT_THAT(consumers(), IsEmpty());
  EXPECT_TRUE(holds(0));
  EXPECT_TRUE(origins_.release_consumer("NONE", "millrace-s")) << "the stream does not exist";
}

}  // namespace
}  // namespace millrace
