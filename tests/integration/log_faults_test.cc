// Kills and stops the NATS server that leads the log of a cluster, of three, while a node appends
// to the log and another one follows it, and compares what was appended, what the log has and what
// was read. Environment variables: MILLRACE_LOG_FAULTS=20 sets the number of faults,
// MILLRACE_NATS_SERVER names the nats-server.
#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "broker/jetstream_log.h"
#include "broker/log_reader.h"
#include "broker/log_stream.h"
#include "tests/integration/environment_number.h"
#include "tests/integration/leader_fault.h"
#include "tests/support/campaign.h"
#include "tests/support/judged_log.h"
#include "tests/support/nats_cluster.h"
#include "tests/support/process.h"

namespace millrace {
namespace {

/// Where a commit is, and what it has.
struct PlacedCommit {
  LogPosition position;
  Fingerprint content{};

  bool operator==(const PlacedCommit&) const = default;
};

/// Appends commits of many sizes and beats on a thread of its own, until the first error.
class LogLoad {
 public:
  explicit LogLoad(JetStreamLog& log) : log_(log), thread_([this] { run(); }) {}
  ~LogLoad() { stop(); }
  LogLoad(const LogLoad&) = delete;
  LogLoad& operator=(const LogLoad&) = delete;

  /// Lets the load append up to kMost more commits, and waits until kSome of them are in the log.
  /// False if that took longer than kPatience.
  bool proceeds() {
    const size_t before = count_;
    allowed_ = before + kMost;
    return eventually([&] { return count_ >= before + kSome || has_failed_; }) && !has_failed_;
  }

  /// Returns when no append is under way.
  void stop() {
    is_stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

  /// After stop(): the commits that the log has confirmed, in order.
  const std::vector<PlacedCommit>& commits() const { return commits_; }

 private:
  void run() {
    for (uint32_t i = 0; !is_stopping_ && !has_failed_; ++i) {
      if (!eventually([&] { return is_stopping_ || count_ < allowed_; }) || is_stopping_) return;
      // Some commits have several parts.
      const size_t size = i % 64 == 63 ? kLargeBytes : 50 + i * 37 % 3'000;
      const std::string write_set = random_bytes(size, i);
      const Result<LogPosition> position = log_.append(write_set);
      const Status beat = position && i % 8 == 7 ? log_.beat() : Status();
      if (position) {
        commits_.push_back({*position, fingerprint({write_set})});
        ++count_;
      }
      if (position && beat) continue;
      has_failed_ = true;
      const Error& error = position ? beat.error() : position.error();
      ADD_FAILURE() << error.code << ": " << error.message;
    }
  }

  static constexpr size_t kMost = 200;
  static constexpr size_t kSome = 50;
  static constexpr size_t kLargeBytes = 2'500'000;

  JetStreamLog& log_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> has_failed_ = false;
  std::atomic<size_t> allowed_ = 0;
  std::atomic<size_t> count_ = 0;
  std::vector<PlacedCommit> commits_;
  std::thread thread_;
};

/// The commits that a node has read.
class PlacedCommits : public LogSink {
 public:
  bool deliver(LogNews news) override {
    const std::lock_guard lock(mutex_);
    for (const ReadLogCommit& commit : news.commits) {
      EXPECT_EQ(commit.behind, commits_.empty() ? CommitName() : commits_.back().position.name);
      commits_.push_back({commit.position, fingerprint({commit.write_set})});
    }
    has_ended_ = news.has_ended;
    changed_.notify_all();
    return true;
  }
  void fail(const Error& error) override {
    ADD_FAILURE() << error.code << ": " << error.message;
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  }

  /// All commits, when the active has ended. Waits for kPatience at most.
  std::vector<PlacedCommit> all() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience, [this] { return has_ended_; }));
    return commits_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_ended_ = false;
  std::vector<PlacedCommit> commits_;
};

TEST(LogFaults, LoseAndRepeatNoCommit) {
  const std::optional<std::string> program = NatsCluster::newest_program();
  if (!program) GTEST_SKIP() << kNeedsNewerServer;
  const size_t faults = number_from("MILLRACE_LOG_FAULTS", 3);
  fmt::print("MILLRACE_LOG_FAULTS={} {}\n", faults, *program);
  Campaign campaign("faults of the log's leader",
                    "each commit once, in order, valid chain, read as it was appended");

  NatsCluster cluster(*program);
  const std::unique_ptr<Connection> connection = cluster.connect();
  ASSERT_TRUE(NatsCluster::has_leader(*connection));
  const StreamSettings stream = log_stream("shop", {.replicas = 3});
  ASSERT_TRUE(eventually([&] { return found_log(*connection, stream).has_value(); }));
  ASSERT_TRUE(eventually([&] { return NatsCluster::is_whole(*connection, stream.name); }));

  const std::unique_ptr<Connection> of_active = cluster.connect();
  const std::unique_ptr<Connection> of_standby = cluster.connect();
  JetStreamLog log(*of_active,
                   {.stream = stream,
                    .key = kTestLogKey,
                    .node = random_name_of(1),
                    .incarnation = random_name_of(1),
                    .format = kTestLogFormat},
                   {});
  const Status began = log.begin({.address = "http://a:1", .version = "1"});
  ASSERT_TRUE(began) << began.error().message;
  PlacedCommits read;
  const LogReader reader(*of_standby,
                         {.stream = stream, .key = kTestLogKey, .newest_format = kTestLogFormat},
                         {}, read);

  LogLoad load(log);
  const auto is_whole = [&](const Connection& others) {
    return NatsCluster::is_whole(others, stream.name);
  };
  for (size_t i = 0; i < faults; ++i) {
    const auto& [fault, name] = kLeaderFaults[i % kLeaderFaults.size()];
    campaign.run(fmt::format("fault {}: {}", i, name),
                 [&, of = fault] { strike_leader(cluster, stream.name, load, of, is_whole); });
    if (HasFatalFailure()) {
      log.stop();
      return;
    }
  }
  load.stop();
  ASSERT_TRUE(log.end(kPatience));

  const std::vector<PlacedCommit>& appended = load.commits();
  EXPECT_EQ(read.all(), appended);
  Result<JudgedLog> judged = fail("test", "the log was not read");
  ASSERT_TRUE(eventually([&] {
    judged = judged_log(*connection, stream);
    return judged.has_value() || judged.error().code.starts_with("log.");
  }));
  ASSERT_TRUE(judged) << judged.error().message;
  std::vector<Fingerprint> expected;
  for (const PlacedCommit& commit : appended) expected.push_back(commit.content);
  EXPECT_EQ(judged->contents, expected);
  fmt::print("{} commits, {} messages\n", appended.size(), judged->messages.size());
}

}  // namespace
}  // namespace millrace
