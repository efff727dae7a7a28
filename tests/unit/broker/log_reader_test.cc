// Reads the log of a cluster on a real nats-server. log_judge_test.cc tests what each message is to
// a reader without one.
#include "broker/log_reader.h"

#include <condition_variable>
#include <functional>
#include <mutex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/node_roll.h"
#include "broker/snapshot_stream.h"
#include "broker/stored_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/process.h"
#include "tests/unit/broker/log_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Records all news.
class CollectingLogSink : public LogSink {
 public:
  struct All {
    std::vector<ReadLogCommit> commits;
    std::vector<LogBegin> begins;
    std::vector<std::pair<uint64_t, TimePoint>> begin_places;  ///< sequences and stamps
    size_t opened = 0;
    size_t messages = 0;
    size_t refused = 0;  ///< calls after close()
    TimePoint stamped{};
    uint64_t pending = 0;
    LogNews latest;
    std::optional<Error> failed;
  };

  bool deliver(LogNews news) override {
    const std::lock_guard lock(mutex_);
    for (ReadLogCommit& commit : news.commits) all_.commits.push_back(std::move(commit));
    news.commits.clear();
    if (news.begin) {
      all_.begins.push_back(*news.begin);
      all_.begin_places.emplace_back(news.begin_sequence, news.begin_stamped);
    }
    if (news.messages > 0) all_.stamped = news.stamped;
    if (news.messages > 0) all_.pending = news.pending;
    if (news.is_opened) ++all_.opened;
    all_.messages += news.messages;
    all_.latest = std::move(news);
    if (closed_) ++all_.refused;
    changed_.notify_all();
    return !closed_;
  }
  void fail(const Error& error) override {
    const std::lock_guard lock(mutex_);
    all_.failed = error;
    changed_.notify_all();
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }

  /// Waits until `condition` is true; false after kPatience.
  bool wait_until(const std::function<bool(const All&)>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return condition(all_); });
  }
  /// Waits until the reader has read the log up to that sequence, and the broker has nothing more.
  bool wait_for_end(uint64_t sequence) {
    return wait_until([&](const All& all) {
      return all.latest.is_at_end && all.latest.history.place.sequence == sequence;
    });
  }
  bool wait_for_failure() {
    return wait_until([](const All& all) { return all.failed.has_value(); });
  }
  All all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  All all_;
};

std::vector<std::string> write_sets_of(const CollectingLogSink::All& all) {
  std::vector<std::string> sets;
  for (const ReadLogCommit& commit : all.commits) sets.push_back(commit.write_set);
  return sets;
}

std::vector<LogPosition> positions_of(const CollectingLogSink::All& all) {
  std::vector<LogPosition> positions;
  for (const ReadLogCommit& commit : all.commits) positions.push_back(commit.position);
  return positions;
}

class LogReaderTest : public JetStreamLogFixture {
 protected:
  /// A busy nats-server may send heartbeats late.
  LogReaderSettings settings() const {
    return {.stream = log_,
            .key = kTestLogKey,
            .newest_format = kTestLogFormat,
            .pull = {.heartbeat = Duration(1'000)}};
  }
  /// When the broker stored the message with that sequence.
  TimePoint stamp_of(uint64_t sequence) {
    const Result<StoredMessage> stored = fetch_stored(*connection_, log_.name, {{"seq", sequence}});
    EXPECT_TRUE(stored) << stored.error().message;
    return stored ? broker_time(stored->stamped) : TimePoint();
  }
  std::unique_ptr<LogReader> reader(const LogPosition& position = {}) {
    return std::make_unique<LogReader>(*connection_, settings(), position, sink_);
  }
  static LogPosition appended(JetStreamLog& log, const std::string& write_set) {
    const Result<LogPosition> position = log.append(write_set);
    EXPECT_TRUE(position) << position.error().message;
    return position.value_or(LogPosition());
  }

  CollectingLogSink sink_;
};

/// The messages of a tail: their kinds and payloads.
std::vector<std::string> kept_messages(const LogTail& tail) {
  std::vector<std::string> messages;
  for (uint64_t i = tail.base().sequence + 1; i <= tail.last(); ++i) {
    const LogMessage* const message = tail.at(i);
    messages.push_back(message == nullptr
                           ? "foreign"
                           : fmt::format("{} {}", name_of(message->kind),
                                         message->kind == LogKind::kBegin ? "" : message->payload));
  }
  return messages;
}

TEST_F(LogReaderTest, KeepsWhatItHasReadTogetherWithWhatItsNodeAppends) {
  const std::unique_ptr<JetStreamLog> one = active(1);
  appended(*one, "a");
  client_->publish_acked(log_.subjects, "", "x");
  ASSERT_TRUE(one->beat());
  const auto kept = std::make_shared<KeptLog>(LogPlace());
  LogReaderSettings reads = settings();
  reads.kept = kept;
  const LogReader reading(*connection_, reads, {}, sink_);
  ASSERT_TRUE(sink_.wait_for_end(4));
  EXPECT_THAT(kept_messages(kept->tail()), ElementsAre("begin ", "commit a", "foreign", "beat "));

  JetStreamLogSettings appends{.stream = log_,
                               .key = kTestLogKey,
                               .node = random_name_of(2),
                               .incarnation = random_name_of(2),
                               .format = kTestLogFormat,
                               .kept = kept};
  JetStreamLog two(*connection_, appends, judged().history);
  ASSERT_TRUE(two.begin(kBegin));
  client_->publish_acked(log_.subjects, "", "y");
  appended(two, "b");
  ASSERT_TRUE(sink_.wait_for_end(7));
  const LogTail tail = kept->tail();
  EXPECT_THAT(kept_messages(tail), ElementsAre("begin ", "commit a", "foreign", "beat ", "begin ",
                                               "foreign", "commit b"));
  EXPECT_EQ(tail.at(7)->chain, judged().history.place.chain);
}

TEST_F(LogReaderTest, ReadsTheCommitsWithThePositionsOfTheirWriter) {
  const std::string large = random_bytes(5 << 19, 1);
  const std::string packed(100'000, 'a');
  const std::unique_ptr<JetStreamLog> one = active(1);
  std::vector<LogPosition> positions = {appended(*one, "first"), appended(*one, large)};
  const std::unique_ptr<LogReader> reading = reader();
  ASSERT_TRUE(sink_.wait_for_end(5));
  EXPECT_TRUE(reading->health());

  const std::unique_ptr<JetStreamLog> two = active(2);
  positions.push_back(appended(*two, packed));
  ASSERT_TRUE(two->beat());
  ASSERT_TRUE(sink_.wait_for_end(8));
  const CollectingLogSink::All all = sink_.all();
  EXPECT_EQ(write_sets_of(all), (std::vector<std::string>{"first", large, packed}));
  EXPECT_EQ(positions_of(all), positions);
  EXPECT_EQ(all.commits[0].behind, CommitName());
  EXPECT_EQ(all.commits[1].behind, positions[0].name);
  EXPECT_EQ(all.commits[2].behind, positions[1].name);
  ASSERT_EQ(all.begins.size(), 2u);
  EXPECT_EQ(all.begins[1].node, random_name_of(2));
  EXPECT_THAT(all.begin_places,
              ElementsAre(std::pair(1u, stamp_of(1)), std::pair(6u, stamp_of(6))));
  EXPECT_EQ(all.stamped, stamp_of(8));
  EXPECT_EQ(all.pending, 0u);
  EXPECT_EQ(all.messages, 8u);
  EXPECT_EQ(all.latest.history, judged().history);
  EXPECT_FALSE(all.latest.has_ended);
  EXPECT_EQ(reading->foreign(), 0u);
}

TEST_F(LogReaderTest, ContinuesBehindThePositionOfAStore) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  appended(*log, "a");
  const LogPosition stored = appended(*log, "b");
  ASSERT_TRUE(log->beat());
  const LogPosition last = appended(*log, "c");
  const std::unique_ptr<LogReader> reading = reader(stored);
  ASSERT_TRUE(sink_.wait_for_end(5));
  const CollectingLogSink::All all = sink_.all();
  EXPECT_EQ(positions_of(all), std::vector<LogPosition>{last});
  EXPECT_EQ(all.commits[0].behind, stored.name);
  EXPECT_EQ(all.latest.history, judged().history);
}

/// The chain of the log begins with the id of its base.
TEST_F(LogReaderTest, FollowsALogFromItsBaseOnlyForAStoreThatHasTheBase) {
  const LogPosition base{.node = random_name_of(1), .chain = random_name_of(2)};
  const std::unique_ptr<JetStreamLog> log = node(1, history_at(base));
  ASSERT_TRUE(log->begin(kBegin));
  const LogPosition last = appended(*log, "a");
  const std::unique_ptr<LogReader> reading = reader(base);
  ASSERT_TRUE(sink_.wait_for_end(2));
  EXPECT_EQ(positions_of(sink_.all()), std::vector<LogPosition>{last});
  EXPECT_EQ(sink_.all().commits[0].behind, CommitName());

  CollectingLogSink without_base;
  const LogReader other(*connection_, settings(), {}, without_base);
  ASSERT_TRUE(without_base.wait_for_failure());
  EXPECT_EQ(without_base.all().failed->code, "log.diverged");
}

TEST_F(LogReaderTest, SaysThatTheActiveHasEnded) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  const std::unique_ptr<LogReader> reading = reader();
  ASSERT_TRUE(sink_.wait_for_end(1));
  EXPECT_FALSE(sink_.all().latest.has_ended);
  ASSERT_TRUE(log->end(kPatience));
  ASSERT_TRUE(sink_.wait_for_end(2));
  EXPECT_TRUE(sink_.all().latest.has_ended);
  client_->publish_acked(log_.subjects, "", "foreign");
  ASSERT_TRUE(sink_.wait_for_end(3));
  EXPECT_TRUE(sink_.all().latest.has_ended) << "a foreign message says nothing about the active";
}

TEST_F(LogReaderTest, PassesOverForeignMessages) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  client_->publish_acked(log_.subjects, "", "x");
  const Result<StoredMessage> begin = fetch_stored(*connection_, log_.name, {{"seq", 1}});
  ASSERT_TRUE(begin) << begin.error().message;
  std::string headers;
  for (const auto& [name, value] : begin->message.headers) {
    if (name.starts_with("Millrace")) headers += fmt::format("{}: {}\r\n", name, value);
  }
  client_->publish_acked(log_.subjects, headers + "Nats-Expected-Last-Sequence: 2\r\n",
                         begin->message.data);
  // nats.c destroys a message with this status.
  client_->publish_with_status(log_.subjects, "503", "", "");
  client_->flush();
  appended(*log, "a");
  const std::unique_ptr<LogReader> reading = reader();
  ASSERT_TRUE(sink_.wait_for_end(5));
  EXPECT_THAT(write_sets_of(sink_.all()), ElementsAre("a"));
  EXPECT_EQ(reading->foreign(), 3u);
  EXPECT_EQ(sink_.all().messages, 2u);
}

TEST_F(LogReaderTest, ReadsOnWhenTheBrokerIsBack) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  appended(*log, "a");
  const std::unique_ptr<LogReader> reading = reader();
  ASSERT_TRUE(sink_.wait_for_end(2));
  server_.process().kill();
  EXPECT_TRUE(eventually([&] { return !reading->health(); }));
  ASSERT_TRUE(server_.process().start_again());
  appended(*log, "b");
  ASSERT_TRUE(sink_.wait_for_end(3));
  EXPECT_TRUE(reading->health());
  EXPECT_THAT(write_sets_of(sink_.all()), ElementsAre("a", "b"));
  EXPECT_GE(sink_.all().opened, 2u);
}

TEST_F(LogReaderTest, OpensAnotherConsumerIfItIsAskedTo) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  const std::unique_ptr<LogReader> reading = reader();
  ASSERT_TRUE(sink_.wait_for_end(1));
  reading->reopen();
  ASSERT_TRUE(sink_.wait_until([](const CollectingLogSink::All& all) { return all.opened >= 2; }));
  appended(*log, "a");
  ASSERT_TRUE(sink_.wait_for_end(2));
  EXPECT_THAT(write_sets_of(sink_.all()), ElementsAre("a"));
}

TEST_F(LogReaderTest, EndsWhenTheSinkIsClosed) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  std::unique_ptr<LogReader> reading = reader();
  ASSERT_TRUE(sink_.wait_for_end(1));
  sink_.close();
  ASSERT_TRUE(sink_.wait_until([](const CollectingLogSink::All& all) { return all.refused == 1; }));
  appended(*log, "a");
  reading.reset();
  EXPECT_EQ(sink_.all().refused, 1u);
  EXPECT_THAT(sink_.all().commits, IsEmpty());
  EXPECT_EQ(sink_.all().failed, std::nullopt);
}

TEST_F(LogReaderTest, StopsAtAHistoryThatIsNotThatOfTheStore) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  LogPosition stored = appended(*log, "a");
  stored.chain[0] ^= 1;
  const std::unique_ptr<LogReader> reading = reader(stored);
  ASSERT_TRUE(sink_.wait_for_failure());
  const CollectingLogSink::All all = sink_.all();
  EXPECT_EQ(all.failed->code, "log.diverged");
  EXPECT_THAT(all.failed->message, HasSubstr("message 2 of stream MILLRACE_LOG_shop_0"));
  EXPECT_THAT(all.commits, IsEmpty());
  EXPECT_EQ(reading->health().error().code, "log.diverged");
}

TEST_F(LogReaderTest, StopsAtAMessageThatDoesNotContinueTheHistory) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  LogPosition stored = appended(*log, "a");
  client_->publish_acked(log_.subjects, "", "foreign");
  // A store that had another message 2 and message 3, and a foreign one in its place.
  stored.sequence = 3;
  stored.chain[0] ^= 1;
  const std::unique_ptr<LogReader> reading = reader(stored);
  ASSERT_TRUE(sink_.wait_for_end(3));
  appended(*log, "b");
  ASSERT_TRUE(sink_.wait_for_failure());
  EXPECT_EQ(sink_.all().failed->code, "log.diverged");
  EXPECT_THAT(sink_.all().commits, IsEmpty());
}

TEST_F(LogReaderTest, StopsAtAnotherLogOfTheSameLength) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  appended(*log, "a");
  const std::unique_ptr<LogReader> reading = reader();
  ASSERT_TRUE(sink_.wait_for_end(2));
  client_->api("STREAM.DELETE." + log_.name);
  ASSERT_TRUE(found_log(*connection_, log_));
  const std::unique_ptr<JetStreamLog> other = active(2);
  appended(*other, "b");
  ASSERT_TRUE(sink_.wait_for_failure());
  EXPECT_EQ(sink_.all().failed->code, "log.diverged");
  EXPECT_THAT(write_sets_of(sink_.all()), ElementsAre("a"));
}

TEST_F(LogReaderTest, StopsIfTheLogWasTrimmedBehindThePosition) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  const LogPosition early = appended(*log, "a");
  const LogPosition late = appended(*log, "b");
  appended(*log, "c");
  client_->api("STREAM.PURGE." + log_.name, {{"seq", 4}});  // messages 1 to 3
  {
    const std::unique_ptr<LogReader> reading = reader(late);
    ASSERT_TRUE(sink_.wait_for_end(4));
    EXPECT_THAT(write_sets_of(sink_.all()), ElementsAre("c"));
  }
  const std::unique_ptr<LogReader> reading = reader(early);
  ASSERT_TRUE(sink_.wait_for_failure());
  EXPECT_EQ(sink_.all().failed->code, "log.trimmed");
  EXPECT_EQ(reading->health().error().code, "log.trimmed");
}

TEST_F(LogReaderTest, StopsAtANewerFormat) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  appended(*log, "a");
  LogReaderSettings older = settings();
  older.newest_format = kTestLogFormat - 1;
  const LogReader reading(*connection_, older, {}, sink_);
  ASSERT_TRUE(sink_.wait_for_failure());
  EXPECT_EQ(sink_.all().failed->code, "store.version");
  EXPECT_THAT(sink_.all().commits, IsEmpty());
}

TEST_F(LogReaderTest, WaitsWhileTheLogEndsBeforeThePosition) {
  const std::unique_ptr<JetStreamLog> log = active(1);
  LogPosition stored = appended(*log, "a");
  stored.sequence = 9;
  const std::unique_ptr<LogReader> reading = reader(stored);
  EXPECT_TRUE(eventually([&] {
    const Status health = reading->health();
    return !health && health.error().code == "log.lost";
  }));
  EXPECT_EQ(sink_.all().failed, std::nullopt);
  EXPECT_EQ(sink_.all().opened, 0u);
}

TEST_F(LogReaderTest, WaitsUntilTheClusterIsFounded) {
  client_->api("STREAM.DELETE." + log_.name);
  const std::unique_ptr<LogReader> reading = reader();
  EXPECT_TRUE(eventually([&] {
    const Status health = reading->health();
    return !health && health.error().code == "cluster.not_founded";
  }));
  ASSERT_TRUE(found_log(*connection_, log_));
  const std::unique_ptr<JetStreamLog> log = active(1);
  ASSERT_TRUE(sink_.wait_for_end(1));
}

TEST(LogPermissions, AreSufficientForANode) {
  const std::string page = file_bytes("docs/nats.md");
  const size_t heading = page.find("### The log of a cluster");
  ASSERT_NE(heading, std::string::npos);
  const std::string fence = "```conf\n";
  const size_t begin = page.find(fence, heading) + fence.size();
  const NatsServer server(page.substr(begin, page.find("```", begin) - begin));
  const Result<std::unique_ptr<Connection>> opened =
      Connection::open({.servers = {server.url()},
                        .user = "node",
                        .password = "node-password",
                        .inbox_prefix = "_INBOX_millrace"});
  ASSERT_TRUE(opened) << opened.error().message;
  Connection& connection = **opened;
  ASSERT_TRUE(connection.wait_until_connected(kPatience));

  const StreamSettings stream = log_stream("shop");
  const Result<StreamInfo> founded = found_log(connection, stream);
  ASSERT_TRUE(founded) << founded.error().message;
  JetStreamLog log(connection,
                   {.stream = stream,
                    .key = kTestLogKey,
                    .node = random_name_of(1),
                    .incarnation = random_name_of(1),
                    .format = kTestLogFormat},
                   {});
  ASSERT_TRUE(log.begin({.address = "http://a:1", .version = "1"}));
  CollectingLogSink sink;
  LogPosition stored;
  {
    // The log is read from its beginning, and then from a position.
    const LogReader reading(connection,
                            {.stream = stream, .key = kTestLogKey, .newest_format = kTestLogFormat},
                            {}, sink);
    const Result<LogPosition> position = log.append("a");
    ASSERT_TRUE(position) << position.error().message;
    stored = *position;
    ASSERT_TRUE(sink.wait_for_end(2));
  }
  const LogReader reading(connection,
                          {.stream = stream, .key = kTestLogKey, .newest_format = kTestLogFormat},
                          stored, sink);
  ASSERT_TRUE(log.append("b"));
  ASSERT_TRUE(sink.wait_for_end(3));
  EXPECT_THAT(write_sets_of(sink.all()), ElementsAre("a", "b"));

  const StreamSettings snapshots = snapshot_stream("shop");
  ASSERT_TRUE(ensure_stream(connection, snapshots));
  SnapshotWriter writer(connection, snapshots, kTestLogKey, std::string(32, '1'));
  ASSERT_TRUE(writer.add("rows"));
  ASSERT_TRUE(writer.finish({.from = stored, .to = stored, .node = std::string(32, '0')}));
  const auto found = find_snapshots(connection, snapshots, kTestLogKey);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->size(), 1u);
  ASSERT_TRUE(drop_snapshots_before(connection, snapshots, 2));
  ASSERT_TRUE(trim_log(connection, stream, founded->created, stored.sequence));

  NodeRoll roll(connection, node_roll_subject("shop"), kTestLogKey, [] {
    return Json{{"node", "a"}};
  });
  ASSERT_TRUE(roll.answer());
  EXPECT_TRUE(eventually([&] {
    const Result<std::vector<Json>> nodes = roll.ask(Duration(100));
    return nodes && nodes->size() == 1;
  })) << connection.last_complaint();
  EXPECT_EQ(connection.last_complaint(), "");
}

}  // namespace
}  // namespace millrace
