// Appends to the log of a cluster on a real nats-server. log_book_test.cc tests each answer of the
// broker without one.
#include "broker/jetstream_log.h"

#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/log_mender.h"
#include "broker/stored_message.h"
#include "tests/support/process.h"
#include "tests/support/tcp_proxy.h"
#include "tests/unit/broker/log_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The code of a failed result; empty: it has not failed.
template <class T>
std::string code_of_failed(const Result<T>& result) {
  return result ? std::string() : result.error().code;
}

/// An append on a thread of its own.
class WaitingAppend {
 public:
  WaitingAppend(JetStreamLog& log, std::string write_set)
      : thread_([this, &log, set = std::move(write_set)] { result_ = log.append(set); }) {}
  ~WaitingAppend() {
    if (thread_.joinable()) thread_.join();
  }

  /// Waits until the append has ended.
  Result<LogPosition> result() {
    thread_.join();
    return result_;
  }

 private:
  Result<LogPosition> result_ = fail("test", "the append has not ended");
  std::thread thread_;
};

class JetStreamLogTest : public JetStreamLogFixture {};

TEST_F(JetStreamLogTest, AppendsCommitsInOrder) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  EXPECT_TRUE(log->confirmed());
  const Result<LogPosition> first = log->append("first");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->sequence, 2u);
  EXPECT_EQ(first->name, (CommitName{.epoch = 1, .commit = 1, .incarnation = random_name_of(1)}));
  EXPECT_EQ(first->node, random_name_of(1));
  ASSERT_TRUE(log->beat());

  // More than two messages of 1 MiB take.
  const std::string large = random_bytes(5 << 19, 1);
  const Result<LogPosition> second = log->append(large);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->sequence, 6u);
  EXPECT_EQ(second->name.commit, 2u);
  EXPECT_EQ(log->trouble(), "");

  const JudgedLog read = judged();
  EXPECT_THAT(read.messages,
              ElementsAre("begin 1", "commit 1.1", "beat", "part", "part", "commit 1.2"));
  EXPECT_EQ(read.contents, contents_of({"first", large}));
  EXPECT_EQ(read.history.place, (LogPlace{second->sequence, second->chain}));
  EXPECT_EQ(read.history.node, random_name_of(1));
}

TEST_F(JetStreamLogTest, NamesInABeginWhatItIsBehind) {
  ASSERT_TRUE(active(1)->append("a"));
  const std::unique_ptr<JetStreamLog> log = active(2);
  const Result<StoredMessage> stored = fetch_stored(*connection_, log_.name, {{"seq", 3}});
  ASSERT_TRUE(stored) << stored.error().message;
  const Result<LogBegin> begin = decode_log_begin(stored->message.data);
  ASSERT_TRUE(begin) << begin.error().message;
  LogBegin expected = kBegin;
  expected.node = random_name_of(2);
  expected.behind_epoch = 1;
  expected.behind_incarnation = random_name_of(1);
  EXPECT_EQ(*begin, expected);
}

TEST_F(JetStreamLogTest, DeposesANodeWhenAnotherOneHasReadTheLogAndBegins) {
  const std::unique_ptr<JetStreamLog> before = active(1);
  ASSERT_TRUE(before->append("a"));
  const std::unique_ptr<JetStreamLog> after = active(2);

  const Result<LogPosition> refused = before->append("b");
  EXPECT_EQ(code_of_failed(refused), "log.deposed");
  EXPECT_EQ(code_of_failed(before->append("c")), "log.deposed");
  EXPECT_EQ(code_of_failed(before->beat()), "log.deposed");
  const Result<LogPosition> next = after->append("d");
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->name, (CommitName{.epoch = 2, .commit = 1, .incarnation = random_name_of(2)}));
  const JudgedLog read = judged();
  EXPECT_THAT(read.messages, ElementsAre("begin 1", "commit 1.1", "begin 2", "commit 2.1"));
  EXPECT_EQ(read.contents, contents_of({"a", "d"}));
}

TEST_F(JetStreamLogTest, LetsOneOfTwoNodesBeginBehindTheSameMessage) {
  ASSERT_TRUE(active(1)->append("a"));
  const LogHistory history = judged().history;
  const std::unique_ptr<JetStreamLog> one = node(2, history);
  const std::unique_ptr<JetStreamLog> other = node(3, history);
  ASSERT_TRUE(one->begin(kBegin));
  const Status refused = other->begin(kBegin);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "log.begin");
  EXPECT_THAT(refused.error().message, HasSubstr("the log has message 3"));
  EXPECT_FALSE(other->confirmed());
  EXPECT_TRUE(one->append("b"));
  EXPECT_THAT(judged().messages, ElementsAre("begin 1", "commit 1.1", "begin 2", "commit 2.1"));
}

TEST_F(JetStreamLogTest, ContinuesAnEpochOfItsIncarnationThatTheReaderFound) {
  active(1);
  const std::unique_ptr<JetStreamLog> again = node(1, judged().history);
  const Result<LogPosition> first = again->append("a");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->name, (CommitName{.epoch = 1, .commit = 1, .incarnation = random_name_of(1)}));
}

TEST_F(JetStreamLogTest, PassesOverForeignMessages) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  client_->publish_acked(log_.subjects, "", "x");
  client_->publish_acked(log_.subjects, "Millrace-Kind: commit\r\n", "y");
  const Result<LogPosition> first = log->append("a");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->sequence, 4u);
  EXPECT_EQ(log->sequence(), 4u);
  client_->publish_acked(log_.subjects, "", "z");
  const Result<LogPosition> parts = log->append(random_bytes(3 << 19, 1));
  ASSERT_TRUE(parts) << parts.error().message;
  // The second part was sent without waiting, and the broker has put it behind the foreign message.
  EXPECT_THAT(judged().messages, ElementsAre("begin 1", "foreign", "foreign", "commit 1.1",
                                             "foreign", "foreign", "part", "commit 1.2"));
}

TEST_F(JetStreamLogTest, SaysThatTheLogIsLostIfItHasAnotherHistory) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  client_->api("STREAM.DELETE." + log_.name);
  ASSERT_TRUE(found_log(*connection_, log_));
  const std::unique_ptr<JetStreamLog> other = active(2);
  ASSERT_TRUE(other->append("a"));
  EXPECT_EQ(code_of_failed(log->append("b")), "log.lost");
}

/// A log whose brokers can lose its newest messages.
class LostTailTest : public JetStreamLogFixture {
 protected:
  /// An active whose appends are kept. `takeover_after`: how long it may restore them without
  /// `may_restore`.
  std::unique_ptr<JetStreamLog> keeping(uint8_t number, Duration takeover_after = kPatience,
                                        std::function<bool(uint64_t)> may_restore = {}) {
    const LogHistory history = judged().history;
    kept_ = std::make_shared<KeptLog>(history.place);
    auto log =
        std::make_unique<JetStreamLog>(*connection_,
                                       JetStreamLogSettings{.stream = log_,
                                                            .key = kTestLogKey,
                                                            .node = random_name_of(number),
                                                            .incarnation = random_name_of(number),
                                                            .format = kTestLogFormat,
                                                            .kept = kept_,
                                                            .takeover_after = takeover_after,
                                                            .may_restore = std::move(may_restore)},
                                       history);
    const Status began = log->begin(kBegin);
    EXPECT_TRUE(began) << began.error().message;
    return log;
  }
  /// What a standby that has read what `kept_` has appends again.
  LogRestored mended() {
    LogMender mender(*connection_, log_, kTestLogKey);
    const auto done = mender.restore(kept_->tail(), std::chrono::steady_clock::now() + kPatience);
    EXPECT_TRUE(done) << done.error().message;
    return done.value_or(LogRestored{.what = LogRestored::What::kExpired});
  }
  /// Makes the stream one that has its first `count` messages only.
  void lose_behind(uint64_t count) {
    std::vector<NatsMessage> messages;
    for (uint64_t i = 1; i <= count; ++i) {
      Result<StoredMessage> stored = fetch_stored(*connection_, log_.name, {{"seq", i}});
      ASSERT_TRUE(stored) << stored.error().message;
      messages.push_back(std::move(stored->message));
    }
    client_->api("STREAM.DELETE." + log_.name);
    ASSERT_TRUE(found_log(*connection_, log_));
    for (const NatsMessage& message : messages) {
      std::string headers;
      for (const auto& [name, value] : message.headers) headers += name + ": " + value + "\r\n";
      client_->publish_acked(log_.subjects, headers, message.data);
    }
  }

  std::shared_ptr<KeptLog> kept_;
};

TEST_F(LostTailTest, IsAppendedAgainByTheActive) {
  const std::unique_ptr<JetStreamLog> log = keeping(1);
  ASSERT_TRUE(log->append("a"));
  client_->publish_acked(log_.subjects, "", "x");
  ASSERT_TRUE(log->append("b"));
  const std::string large = random_bytes(5 << 19, 1);
  const Result<LogPosition> before = log->append(large);
  ASSERT_TRUE(before) << before.error().message;
  const JudgedLog whole = judged();

  lose_behind(2);
  const Result<LogPosition> next = log->append("c");
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->sequence, before->sequence + 1);
  EXPECT_EQ(kept_->restored(), before->sequence - 2);
  const JudgedLog read = judged();
  std::vector<std::string> expected = whole.messages;
  expected.emplace_back("commit 1.4");
  EXPECT_EQ(read.messages, expected);
  EXPECT_EQ(read.contents, contents_of({"a", "b", large, "c"}));
  EXPECT_EQ(read.history.place, (LogPlace{next->sequence, next->chain}));
}

TEST_F(LostTailTest, IsNotAppendedAgainBehindAnotherHistory) {
  const std::unique_ptr<JetStreamLog> log = keeping(1);
  ASSERT_TRUE(log->append("a"));
  ASSERT_TRUE(log->append("b"));
  ASSERT_TRUE(log->append("c"));
  lose_behind(2);
  active(2);  // which does not know what is lost
  EXPECT_EQ(code_of_failed(log->append("d")), "log.lost");
  EXPECT_EQ(kept_->restored(), 0u);
  EXPECT_THAT(judged().messages, ElementsAre("begin 1", "commit 1.1", "begin 2"));
}

TEST_F(LostTailTest, IsNotAppendedAgainByAnActiveThatHasWaitedTooLong) {
  const std::unique_ptr<JetStreamLog> log = keeping(1, Duration(0));
  ASSERT_TRUE(log->append("a"));
  lose_behind(1);
  WaitingAppend waiting(*log, "b");
  EXPECT_TRUE(eventually([&] { return !log->trouble().empty(); }));
  EXPECT_THAT(log->trouble(), HasSubstr("ends at 1; expected 2 or more"));
  log->stop();
  EXPECT_EQ(code_of_failed(waiting.result()), "log.closed");
  EXPECT_THAT(judged().messages, ElementsAre("begin 1"));
}

TEST_F(LostTailTest, IsAppendedAgainByAnActiveThatHasWaitedTooLongIfItHasMost) {
  std::vector<uint64_t> asked;
  const std::unique_ptr<JetStreamLog> log = keeping(1, Duration(0), [&](uint64_t stream_end) {
    asked.push_back(stream_end);
    return asked.size() > 1;
  });
  ASSERT_TRUE(log->append("a"));
  lose_behind(1);
  const Result<LogPosition> next = log->append("b");
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_THAT(asked, ElementsAre(1, 1));
  EXPECT_EQ(kept_->restored(), 1u);
  EXPECT_THAT(judged().messages, ElementsAre("begin 1", "commit 1.1", "commit 1.2"));
}

TEST_F(LostTailTest, IsAppendedAgainByAStandby) {
  const std::unique_ptr<JetStreamLog> log = keeping(1);
  ASSERT_TRUE(log->append("a"));
  ASSERT_TRUE(log->append("b"));
  const JudgedLog whole = judged();
  EXPECT_EQ(mended().count, 0u) << "nothing is lost";
  lose_behind(1);
  const LogRestored done = mended();
  EXPECT_EQ(done.what, LogRestored::What::kWhole) << done.why;
  EXPECT_EQ(done.count, 2u);
  EXPECT_EQ(judged().messages, whole.messages);
  EXPECT_EQ(judged().history, whole.history);
}

TEST_F(LostTailTest, IsNotAppendedAgainByAStandbyBehindAnotherHistory) {
  const std::unique_ptr<JetStreamLog> log = keeping(1);
  ASSERT_TRUE(log->append("a"));
  ASSERT_TRUE(log->append("b"));
  lose_behind(1);
  active(2);  // which does not know what is lost
  const LogRestored done = mended();
  EXPECT_EQ(done.what, LogRestored::What::kForked);
  EXPECT_NE(done.why, "");
  EXPECT_THAT(judged().messages, ElementsAre("begin 1", "begin 2"));
}

TEST_F(JetStreamLogTest, AsksTheOtherNodesIfTheLogHasTakenNothingForSomeTime) {
  std::optional<std::string> answer;
  size_t asked = 0;
  const auto node_with = [&](uint8_t number, Duration takeover_after) {
    JetStreamLogSettings settings{.stream = log_,
                                  .key = kTestLogKey,
                                  .node = random_name_of(number),
                                  .incarnation = random_name_of(number),
                                  .format = kTestLogFormat,
                                  .takeover_after = takeover_after,
                                  .deposed_by = [&]() -> Result<std::optional<std::string>> {
                                    ++asked;
                                    if (asked == 1) return fail("broker.unreachable", "no answer");
                                    return answer;
                                  }};
    return std::make_unique<JetStreamLog>(*connection_, settings, judged().history);
  };
  const std::unique_ptr<JetStreamLog> lately = node_with(1, kPatience);
  ASSERT_TRUE(lately->begin(kBegin));
  EXPECT_TRUE(lately->append("a"));
  EXPECT_EQ(asked, 0u);

  const std::unique_ptr<JetStreamLog> log = node_with(2, Duration(0));
  ASSERT_TRUE(log->begin(kBegin));
  EXPECT_EQ(asked, 0u) << "a standby asks before its `begin`, by itself";
  EXPECT_TRUE(log->append("b"));
  EXPECT_GT(asked, 0u);
  answer = "node 3 has started epoch 4";
  const Result<LogPosition> deposed = log->append("c");
  EXPECT_EQ(code_of_failed(deposed), "log.deposed");
  EXPECT_EQ(deposed.error().message, "node 3 has started epoch 4");
  EXPECT_EQ(code_of_failed(log->beat()), "log.deposed");
  EXPECT_THAT(judged().messages, ElementsAre("begin 1", "commit 1.1", "begin 2", "commit 2.1"));
}

TEST_F(JetStreamLogTest, AppendsWhenTheBrokerIsBack) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  server_.process().kill();
  WaitingAppend waiting(*log, "a");
  EXPECT_TRUE(eventually([&] { return !log->trouble().empty(); }));
  ASSERT_TRUE(server_.process().start_again());
  const Result<LogPosition> first = waiting.result();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->sequence, 2u);
  EXPECT_EQ(log->trouble(), "");
  ASSERT_TRUE(connection_->wait_until_connected(kPatience));
  EXPECT_THAT(judged().messages, ElementsAre("begin 1", "commit 1.1"));
}

TEST_F(JetStreamLogTest, AppendsOnceIfAnswersAreLost) {
  TcpProxy proxy(server_.port());
  const std::unique_ptr<Connection> connection = connect_to(proxy.nats_url());
  JetStreamLog log(*connection,
                   {.stream = log_,
                    .key = kTestLogKey,
                    .node = random_name_of(1),
                    .incarnation = random_name_of(1),
                    .format = kTestLogFormat},
                   {});
  ASSERT_TRUE(log.begin(kBegin));
  std::vector<std::string> expected = {"begin 1"};
  for (size_t i = 1; i <= 8; ++i) {
    // The acknowledgement is cut off in the middle: the stream has the message.
    proxy.cut_after(i);
    const Result<LogPosition> position = log.append(fmt::format("commit {}", i));
    ASSERT_TRUE(position) << i << " " << position.error().message;
    EXPECT_EQ(position->sequence, i + 1);
    expected.push_back(fmt::format("commit 1.{}", i));
  }
  EXPECT_EQ(judged().messages, expected);
}

TEST_F(JetStreamLogTest, EndsAnAppendThatWaitsWhenItIsStopped) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  server_.process().kill();
  WaitingAppend waiting(*log, "a");
  EXPECT_TRUE(eventually([&] { return !log->trouble().empty(); }));
  log->stop();
  EXPECT_EQ(code_of_failed(waiting.result()), "log.closed");
  EXPECT_EQ(code_of_failed(log->append("b")), "log.closed");
  EXPECT_EQ(code_of_failed(log->beat()), "log.closed");
}

TEST_F(JetStreamLogTest, SaysThatABeginWithoutAnAnswerIsUncertain) {
  const std::unique_ptr<JetStreamLog> log = node(1, {});
  server_.process().kill();
  EXPECT_EQ(code_of_failed(log->begin(kBegin)), "log.begin");
}

TEST_F(JetStreamLogTest, AppendsNothingBehindItsEnd) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  ASSERT_TRUE(log->end(kPatience));
  EXPECT_EQ(code_of_failed(log->append("a")), "log.closed");
  EXPECT_THAT(judged().messages, ElementsAre("begin 1", "end"));
}

TEST_F(JetStreamLogTest, WaitsForAnEndOnlyAsLongAsItShall) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  server_.process().kill();
  EXPECT_EQ(code_of_failed(log->end(Duration(20))), "log.closed");
  EXPECT_EQ(code_of_failed(log->append("a")), "log.closed");
}

TEST_F(JetStreamLogTest, PutsCommitsAndBeatsOfTwoThreadsIntoOneOrder) {
  constexpr size_t kEach = 200;
  const std::unique_ptr<JetStreamLog> log = active(1);
  std::vector<Status> beats;
  std::thread beating([&] {
    for (size_t i = 0; i < kEach; ++i) beats.push_back(log->beat());
  });
  std::vector<std::string> appended;
  for (size_t i = 0; i < kEach; ++i) {
    appended.push_back(fmt::format("commit {}", i));
    const Result<LogPosition> position = log->append(appended.back());
    EXPECT_TRUE(position) << i << " " << position.error().message;
  }
  beating.join();
  for (const Status& beat : beats) EXPECT_TRUE(beat) << beat.error().message;
  const JudgedLog read = judged();
  EXPECT_EQ(read.messages.size(), 1 + 2 * kEach);
  EXPECT_EQ(read.contents, contents_of(appended));
}

TEST_F(JetStreamLogTest, RefusesABeginThatNoNodeWouldRead) {
  const std::unique_ptr<JetStreamLog> log = node(1, {});
  LogBegin begin = kBegin;
  begin.address = std::string(kMostLogBeginBytes, 'a');
  EXPECT_EQ(code_of_failed(log->begin(begin)), "log.too_large");
  EXPECT_TRUE(log->begin(kBegin));
}

TEST(JetStreamLog, RefusesACommitWithTooManyPartsAndTakesTheNextOne) {
  // 3 616 bytes in a part.
  const NatsServer server("max_payload: 20000\n");
  const std::unique_ptr<Connection> connection = server.connect();
  const StreamSettings stream = log_stream("shop");
  ASSERT_TRUE(found_log(*connection, stream));
  JetStreamLog log(*connection,
                   {.stream = stream,
                    .key = kTestLogKey,
                    .node = random_name_of(1),
                    .incarnation = random_name_of(1),
                    .format = kTestLogFormat},
                   {});
  ASSERT_TRUE(log.begin({.address = "http://a:1", .version = "1"}));
  EXPECT_EQ(code_of_failed(log.append(random_bytes(15'000'000, 1))), "log.too_large");
  const Result<LogPosition> first = log.append(random_bytes(10'000, 2));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->sequence, 4u);
}

}  // namespace
}  // namespace millrace
