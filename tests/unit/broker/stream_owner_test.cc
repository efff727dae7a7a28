#include "broker/stream_owner.h"

#include <atomic>
#include <csignal>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

using testing::HasSubstr;

/// The owner record of a process that uses that store and folder. Its field `process` repeats one
/// digit.
OwnerRecord record(char process, const std::string& store = "0a", const std::string& folder = "1") {
  return {.store = store,
          .process = std::string(32, process),
          .folder = folder,
          .host = "here",
          .pid = 7,
          .started = "2026-01-01T00:00:00.000Z",
          .address = "127.0.0.1:1"};
}

/// The owner record of a node of that cluster. The nodes of a cluster share store and folder.
OwnerRecord node(char process, uint64_t epoch, const std::string& cluster = "shop") {
  OwnerRecord node = record(process, "0c", "cluster " + cluster);
  node.cluster = cluster;
  node.epoch = epoch;
  return node;
}

TEST(StreamOwner, ReadsTheRecordThatItWrote) {
  OwnerRecord one = record('a');
  EXPECT_EQ(decode_owner(dump_json(encode(one))), one);
  EXPECT_EQ(decode_owner(dump_json(encode(node('a', 7)))), node('a', 7));
  one.ended = true;
  EXPECT_EQ(decode_owner(dump_json(encode(one))), one);
  for (const char* const bad :
       {"", "x", "[]", "{}", R"({"process": "a.b"})", R"({"process": 1})"}) {
    EXPECT_EQ(decode_owner(bad), std::nullopt) << bad;
  }
}

TEST(StreamOwner, DerivesItsNextStepFromTheNewestRecordAndItsOwnRecord) {
  const OwnerRecord self = record('a');
  const OwnerRecord other = record('b');
  OwnerRecord ended = other;
  ended.ended = true;
  EXPECT_EQ(next_step(std::nullopt, self, 0), OwnerStep::kClaim);
  EXPECT_EQ(next_step(StoredOwner{other, 4}, self, 0), OwnerStep::kAsk);
  EXPECT_EQ(next_step(StoredOwner{ended, 4}, self, 0), OwnerStep::kClaim);
  EXPECT_EQ(next_step(StoredOwner{self, 4}, self, 0), OwnerStep::kOwned)
      << "the record is stored, but its acknowledgement was lost";
  EXPECT_EQ(next_step(StoredOwner{self, 4}, self, 4), OwnerStep::kOwned);
  EXPECT_EQ(next_step(StoredOwner{other, 5}, self, 4), OwnerStep::kLost);
  EXPECT_EQ(next_step(StoredOwner{ended, 5}, self, 4), OwnerStep::kLost);
  EXPECT_EQ(next_step(StoredOwner{other, 4}, self, 4), OwnerStep::kLost)
      << "another record has the sequence of the process's own record";
  EXPECT_EQ(next_step(StoredOwner{other, 3}, self, 4), OwnerStep::kAsk)
      << "the broker lost the process's own record";
  EXPECT_EQ(next_step(std::nullopt, self, 4), OwnerStep::kClaim) << "the stream was deleted";
}

TEST(StreamOwner, ReadsARecordWithoutAClusterAsThatOfAProcessInNoCluster) {
  const Json written = encode(record('a'));
  EXPECT_FALSE(written.contains("cluster"));
  EXPECT_FALSE(written.contains("epoch"));
  const std::optional<OwnerRecord> read = decode_owner(R"({"process": "aa", "cluster": 7})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cluster, "");
  EXPECT_EQ(read->epoch, 0U);
}

struct StepInCluster {
  const char* what;
  OwnerRecord found;
  uint64_t sequence;
  uint64_t claimed;
  OwnerStep step;
};

TEST(StreamOwner, LetsTheLogOfItsClusterDecideBetweenItsNodes) {
  const OwnerRecord self = node('a', 5);
  OwnerRecord ended = node('b', 4);
  ended.ended = true;
  const std::vector<StepInCluster> rows = {
      {"a former active", node('b', 4), 3, 0, OwnerStep::kReplace},
      {"a former active that has stopped", ended, 3, 0, OwnerStep::kReplace},
      {"a node of a log that was founded again", node('b', 9), 3, 0, OwnerStep::kReplace},
      {"its own record", self, 4, 4, OwnerStep::kOwned},
      {"a later active", node('b', 6), 5, 4, OwnerStep::kDeposed},
      {"another incarnation with the same epoch", node('b', 5), 5, 4, OwnerStep::kDeposed},
      {"a former active that is late", node('b', 4), 5, 4, OwnerStep::kReplace},
      {"the broker lost its own record", node('b', 4), 3, 4, OwnerStep::kReplace},
      {"another cluster", node('b', 9, "stock"), 3, 0, OwnerStep::kAsk},
      {"another cluster that took over", node('b', 9, "stock"), 5, 4, OwnerStep::kLost},
      {"no cluster", record('b'), 3, 0, OwnerStep::kAsk},
      {"no cluster, which took over", record('b'), 5, 4, OwnerStep::kLost},
  };
  for (const StepInCluster& row : rows) {
    EXPECT_EQ(next_step(StoredOwner{row.found, row.sequence}, self, row.claimed), row.step)
        << row.what;
  }
  EXPECT_EQ(next_step(std::nullopt, self, 0), OwnerStep::kClaim);
  EXPECT_EQ(next_step(StoredOwner{self, 3}, record('b'), 0), OwnerStep::kAsk)
      << "a process in no cluster finds the record of a node";
}

class StreamOwnerTest : public NatsFixture {
 protected:
  /// One process with its two connections and its StreamOwner.
  struct OwnerProcess {
    OwnerProcess(const NatsServer& server, OwnerSettings settings)
        : connection(server.connect()), guarded(connect_guarded(server)) {
      settings.guarded = {guarded.get()};
      settings.on_owned = [this] { ++owned; };
      settings.on_lost = [this](const Error& error) {
        EXPECT_EQ(owner->health().error().code, error.code);
        ++lost;
      };
      owner.emplace(*connection, std::move(settings));
      owner->start();
    }

    static std::unique_ptr<Connection> connect_guarded(const NatsServer& server) {
      auto made = Connection::open({.servers = {server.url()}, .guarded = true});
      EXPECT_TRUE(made);
      EXPECT_TRUE((*made)->wait_until_connected(kPatience));
      return *std::move(made);
    }

    std::unique_ptr<Connection> connection;
    std::unique_ptr<Connection> guarded;
    std::atomic<int> owned = 0;
    std::atomic<int> lost = 0;
    std::optional<StreamOwner> owner;
  };

  /// Starts a process that waits without limit for the answer of another owner.
  std::unique_ptr<OwnerProcess> start(const OwnerRecord& self) {
    return std::make_unique<OwnerProcess>(
        server_, OwnerSettings{.self = self, .patience = std::chrono::hours(1)});
  }
  /// Starts a process that waits 300 ms for the answer of another owner.
  std::unique_ptr<OwnerProcess> start_impatient(const OwnerRecord& self, bool take_over = false) {
    return std::make_unique<OwnerProcess>(
        server_, OwnerSettings{.self = self, .take_over = take_over, .patience = Duration(300)});
  }
  static bool owns(OwnerProcess& one) {
    return becomes_true([&] { return one.owned == 1; }) && one.owner->wait_until_decided({});
  }
  static bool is_refused(const OwnerProcess& one, const char* code = "broker.owner") {
    return becomes_true([&] { return one.lost == 1; }) && one.owner->is_lost() &&
           one.owner->health().error().code == code;
  }

  /// Publishes the owner record of a process that does not run, and so cannot answer.
  void publish_record(const OwnerRecord& gone) {
    client_->publish_acked("millrace.owner", "", dump_json(encode(gone)));
  }

  /// Waits until the stream of the owner has that many records.
  bool has_records(size_t count) {
    return becomes_true([&] {
      const Json info = client_->api("STREAM.INFO.MILLRACE_OWNER");
      return info.contains("state") && info["state"]["messages"] == count;
    });
  }

  static bool becomes_true(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }

  std::unique_ptr<RawNatsClient> client_ = server_.client();
};

TEST_F(StreamOwnerTest, OwnsTheStreamsAndAllowsItsConnectionsIfThereIsNoOtherOwner) {
  const auto one = start(record('a'));
  ASSERT_TRUE(owns(*one));
  EXPECT_TRUE(one->owner->health());
  EXPECT_TRUE(one->guarded->connected());
}

TEST_F(StreamOwnerTest, IsRefusedWhileAnotherOwnerAnswersAndTheErrorNamesThatOwner) {
  const auto one = start(record('a'));
  ASSERT_TRUE(owns(*one));
  for (const OwnerRecord& self : {record('b', "0b", "2"), record('c')}) {
    const auto two = start(self);
    ASSERT_TRUE(is_refused(*two)) << "a copy of the same folder is refused too";
    const Status refused = two->owner->wait_until_decided({});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("process 7 on host here"));
    EXPECT_EQ(two->owned, 0);
    EXPECT_FALSE(two->guarded->connected());
  }
  EXPECT_TRUE(one->owner->health());
  EXPECT_EQ(one->lost, 0);
}

TEST_F(StreamOwnerTest, ReleasesTheStreamsAtItsEnd) {
  auto one = start(record('a'));
  ASSERT_TRUE(owns(*one));
  one.reset();
  // The destructor does not wait longer than a second for the broker.
  ASSERT_TRUE(has_records(2));
  EXPECT_TRUE(owns(*start(record('b', "0b", "2"))))
      << "the former owner has released the streams, so no wait is needed";
}

TEST_F(StreamOwnerTest, ReplacesAnOwnerThatDoesNotAnswer) {
  {
    const auto first = start(record('a'));
    ASSERT_TRUE(owns(*first));
  }
  publish_record(record('e', "0e", "5"));
  EXPECT_TRUE(owns(*start_impatient(record('b'))));
}

TEST_F(StreamOwnerTest, TakesNothingOverIfItsProcessEndsDuringTheWait) {
  {
    const auto first = start(record('a'));
    ASSERT_TRUE(owns(*first));
  }
  publish_record(record('e', "0e", "5"));
  const auto one = start(record('b'));
  ASSERT_TRUE(becomes_true([&] {
    const Status health = one->owner->health();
    return !health && health.error().message.starts_with("the streams belong to process 7");
  }));
  const Status ended = one->owner->wait_until_decided({}, [] { return true; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, "stopping");
  one->owner.reset();
  EXPECT_EQ(one->owned, 0);
  EXPECT_TRUE(has_records(3)) << "the record of the first process, its release, and that of `e`";
}

TEST_F(StreamOwnerTest, ReleasesTheStreamsThatItTookOverButDidNotUseYet) {
  const auto one = start(record('a'));
  ASSERT_TRUE(owns(*one));
  const auto two =
      std::make_unique<OwnerProcess>(server_, OwnerSettings{.self = record('b', "0b", "2"),
                                                            .take_over = true,
                                                            .patience = std::chrono::hours(1)});
  ASSERT_TRUE(is_refused(*one));
  two->owner.reset();
  EXPECT_EQ(two->owned, 0);
  EXPECT_TRUE(has_records(3));
  EXPECT_TRUE(owns(*start(record('c', "0c", "3")))) << "no wait is needed, which would be hours";
}

TEST_F(StreamOwnerTest, ReplacesAnEarlierProcessOfTheSameDataFolderWithoutWaiting) {
  {
    const auto first = start(record('a'));
    ASSERT_TRUE(owns(*first));
  }
  publish_record(record('e'));
  EXPECT_TRUE(owns(*start(record('b'))));
}

TEST_F(StreamOwnerTest, ForbidsItsConnectionsWhenAnotherOwnerReplacesIt) {
  const auto one = start(record('a'));
  ASSERT_TRUE(owns(*one));
  publish_record(record('e', "0e", "5"));
  ASSERT_TRUE(is_refused(*one));
  EXPECT_THAT(one->owner->health().error().message, HasSubstr("store 0e"));
  EXPECT_FALSE(one->guarded->connected());
}

TEST_F(StreamOwnerTest, TakesTheStreamsEvenFromAnOwnerThatAnswersIfTakeOverIsSet) {
  const auto one = start(record('a'));
  ASSERT_TRUE(owns(*one));
  const auto two = start_impatient(record('b', "0b", "2"), true);
  EXPECT_TRUE(owns(*two));
  EXPECT_TRUE(is_refused(*one));
}

TEST_F(StreamOwnerTest, PublishesItsOwnerRecordAgainIfTheBrokerHasLostTheRecord) {
  const auto one = start(record('a'));
  ASSERT_TRUE(owns(*one));
  client_->api("STREAM.DELETE.MILLRACE_OWNER");
  ASSERT_TRUE(has_records(1));
  EXPECT_TRUE(is_refused(*start(record('b', "0b", "2"))));
  EXPECT_EQ(one->lost, 0);
}

TEST_F(StreamOwnerTest, DoesNotReplaceAnOwnerWhileTheBrokerDoesNotAnswer) {
  const OwnerRecord silent = record('e', "0e", "5");
  {
    const auto first = start(record('a'));
    ASSERT_TRUE(owns(*first));
  }
  publish_record(silent);
  client_->subscribe("millrace.owner." + silent.process);
  client_->flush();
  const auto one = start(record('b'));
  std::optional<RawNatsClient::Message> question = client_->next(kPatience);
  ::kill(server_.process().pid(), SIGSTOP);
  ASSERT_TRUE(question);
  EXPECT_TRUE(becomes_true([&] {
    const Status health = one->owner->health();
    return !health && health.error().message.starts_with("NATS did not answer");
  }));
  EXPECT_EQ(one->owned, 0);
  ::kill(server_.process().pid(), SIGCONT);
  ASSERT_TRUE(becomes_true([&] {
    if (question) {
      client_->publish(question->reply, dump_json(encode(silent)));
      client_->flush();
    }
    question = client_->next(Duration(100));
    return one->lost == 1;
  }));
  EXPECT_TRUE(is_refused(*one));
  EXPECT_EQ(one->owned, 0);
}

TEST_F(StreamOwnerTest, WaitsAfterPublishingItsRecordUntilTheFormerOwnerMustHaveStopped) {
  const auto one = start(record('a'));
  ASSERT_TRUE(owns(*one));
  client_->subscribe("millrace.owner");
  client_->flush();
  OwnerProcess two(
      server_,
      {.self = record('b', "0b", "2"), .take_over = true, .patience = std::chrono::hours(1)});
  ASSERT_TRUE(client_->next());
  ASSERT_TRUE(is_refused(*one));
  EXPECT_FALSE(one->guarded->connected());
  EXPECT_FALSE(two.guarded->connected());
  EXPECT_EQ(two.owned, 0);
}

TEST_F(StreamOwnerTest, ReplacesAnotherNodeOfItsClusterAtOnce) {
  const auto one = start(node('a', 1));
  ASSERT_TRUE(owns(*one));
  const auto two = start(node('b', 2));
  ASSERT_TRUE(owns(*two)) << "no answer and no pause is waited for, which would take an hour";
  ASSERT_TRUE(is_refused(*one, "log.deposed"));
  EXPECT_THAT(one->owner->wait_until_decided({}).error().message,
              testing::AllOf(HasSubstr("another node of the cluster \"shop\" is the active"),
                             HasSubstr("process 7 on host here")));
  EXPECT_FALSE(two->owner->is_lost());
}

TEST_F(StreamOwnerTest, IsNotReplacedByAFormerActiveThatIsLate) {
  const auto active = start(node('b', 2));
  ASSERT_TRUE(owns(*active));
  const auto late = start(node('a', 1));
  ASSERT_TRUE(is_refused(*late, "log.deposed"));
  EXPECT_TRUE(active->owner->health());
  EXPECT_EQ(active->lost, 0);
}

TEST_F(StreamOwnerTest, DoesNotReplaceAProcessThatIsNotOfItsCluster) {
  const auto one = start(node('a', 1));
  ASSERT_TRUE(owns(*one));
  for (const OwnerRecord& self : {node('b', 2, "stock"), record('c')}) {
    EXPECT_TRUE(is_refused(*start(self)));
  }
  EXPECT_EQ(one->lost, 0);
}

TEST_F(StreamOwnerTest, OwnsOnlyTheStreamsOfItsPrefix) {
  const auto one = start(record('a'));
  OwnerProcess two(server_, {.streams = {.prefix = "orders"}, .self = record('b', "0b", "2")});
  EXPECT_TRUE(owns(*one));
  EXPECT_TRUE(owns(two));
  EXPECT_TRUE(client_->api("STREAM.INFO.ORDERS_OWNER").contains("state"));
}

}  // namespace
}  // namespace millrace
