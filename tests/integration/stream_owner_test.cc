// Two servers on one NATS account: one of them owns the streams. The other one does not start, or
// takes over if the owner does not respond.
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/held_port.h"
#include "tests/support/millrace_server.h"
#include "tests/support/queue_worker.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kWork =
    "id: work\nfunctions: [{id: do, type: knative-namespace, service: do}]\n"
    "states: [{id: a, type: action, action: {function: do}}]\n";

class StreamOwnership : public testing::Test {
 protected:
  /// Runs an instance with a task for a worker.
  void expect_work(MillraceServer& millrace) {
    millrace.apply(kWork);
    const std::string id = millrace.start_instance("work", Json::object());
    QueueWorker worker(nats_.client(), "millrace", "default+do");
    ASSERT_TRUE(worker.do_one("1"));
    millrace.instance_once(id, "complete");
  }

  static void expect_refused(MillraceServer& newcomer, const MillraceServer& owner_of_streams,
                             int pid) {
    newcomer.launch();
    const ProcessEnd end = newcomer.end();
    EXPECT_EQ(end.code, 1);
    EXPECT_THAT(end.errors, HasSubstr("[broker.owner]"));
    EXPECT_THAT(end.errors, HasSubstr(fmt::format("process {} on host", pid)));
    EXPECT_TRUE(eventually([&] { return owner_of_streams.ask("GET", "/readyz").status == 200; }));
  }

  NatsServer nats_;
  MillraceServer first_{nats_.url()};
  MillraceServer second_{nats_.url()};
};

TEST_F(StreamOwnership, ExcludesAServerWithAnotherDataFolder) {
  first_.start_ready();
  expect_refused(second_, first_, first_.process().pid());
  expect_work(first_);
}

TEST_F(StreamOwnership, ExcludesAServerOnACopyOfTheDataFolder) {
  first_.start_ready();
  first_.apply(kWork);
  first_.stop();
  fs::create_directories(second_.data().parent_path());
  fs::copy(first_.data(), second_.data(), fs::copy_options::recursive);
  first_.start_ready();
  expect_refused(second_, first_, first_.process().pid());
  expect_work(first_);
}

TEST_F(StreamOwnership, PassesFromAnUnresponsiveOwnerWhichThenStops) {
  first_.start_ready();
  first_.process().signal(SIGSTOP);
  second_.start_ready();
  EXPECT_TRUE(second_.process().error_line("this process replaces it"));
  const int successor = second_.process().pid();
  first_.process().signal(SIGCONT);
  const ProcessEnd end = first_.end();
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.errors, HasSubstr("[broker.owner]"));
  EXPECT_THAT(end.errors, HasSubstr(fmt::format("taken over by process {} on", successor)));
  EXPECT_TRUE(eventually([&] { return second_.ask("GET", "/readyz").status == 200; }));
  expect_work(second_);
}

TEST_F(StreamOwnership, StaysWithTheDataFolderAfterACrash) {
  first_.start_ready();
  first_.kill();
  first_.start_ready();
  EXPECT_THAT(first_.process().errors(), Not(HasSubstr("this process replaces it")))
      << "the server waited";
  expect_work(first_);
}

TEST_F(StreamOwnership, StaysWithADeadOwnerIfTheNewServerIsStoppedDuringItsWait) {
  first_.start_ready();
  const int owner = first_.process().pid();
  first_.kill();
  const HeldPort port;
  second_.set_port(port.port());
  second_.launch();
  const auto wait = second_.process().error_line("does not answer");
  ASSERT_TRUE(wait);
  EXPECT_THAT(*wait, HasSubstr(fmt::format("process {} on host", owner)));
  EXPECT_THAT(*wait, HasSubstr("takes them over after"));
  const HttpReply callback =
      request(port.port(), "POST", "/v1/ns/default/callbacks/a.b/complete", {}, "1");
  EXPECT_EQ(callback.status, 503) << "the dead owner may know the key: " << callback.body;
  EXPECT_EQ(callback.code(), "broker.unreachable");
  EXPECT_NE(callback.header("Retry-After"), "");
  second_.process().signal(SIGTERM);
  const ProcessEnd end = second_.end();
  EXPECT_EQ(end.code, 0) << end.errors;
  EXPECT_THAT(end.errors, HasSubstr("stopping: millrace was stopped before"));
  EXPECT_THAT(end.errors, Not(HasSubstr("this process owns the streams")));
  first_.start_ready();
  EXPECT_THAT(first_.process().errors(), Not(HasSubstr("takes them over")))
      << "the streams still belong to this data folder, so nothing is waited for";
  expect_work(first_);
}

TEST_F(StreamOwnership, PassesToAnotherDataFolderAfterAStop) {
  first_.start_ready();
  first_.stop();
  second_.start_ready();
  EXPECT_THAT(second_.process().errors(), Not(HasSubstr("this process replaces it")));
  expect_work(second_);
}

TEST_F(StreamOwnership, PassesToAServerWithTheOptionTakeOver) {
  first_.start_ready();
  second_.set_arguments({"--take-over"});
  second_.start_ready();
  const ProcessEnd end = first_.end();
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.errors, HasSubstr("[broker.owner]"));
  expect_work(second_);
}

TEST_F(StreamOwnership, IsLoggedWithoutControlCharactersOfAForgedOwner) {
  first_.start_ready();
  const Json forged = {
      {"store", "s"}, {"process", std::string(32, 'a')}, {"host", "\x1b[2J\nforged line"},
      {"pid", 1},     {"started", "\x1b[31m"},           {"address", "\r\n"}};
  nats_.client()->publish_acked("millrace.owner", "", dump_json(forged));
  const ProcessEnd end = first_.end();
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.errors, HasSubstr("[broker.owner]"));
  EXPECT_THAT(end.errors, HasSubstr("\\x1b[2J\\nforged line"));
  EXPECT_THAT(end.errors, Not(HasSubstr("\x1b")));
  EXPECT_THAT(end.errors, Not(HasSubstr("\nforged")));
  EXPECT_THAT(end.errors, Not(HasSubstr("\r")));
}

TEST_F(StreamOwnership, IsRestoredAfterTheBrokerLostTheStreamOfOwners) {
  first_.start_ready();
  const auto client = nats_.client();
  client->api("STREAM.DELETE.MILLRACE_OWNER");
  EXPECT_TRUE(eventually([&] {
    const Json info = client->api("STREAM.INFO.MILLRACE_OWNER");
    return info.contains("state") && info["state"]["messages"] == 1;
  }));
  expect_refused(second_, first_, first_.process().pid());
  expect_work(first_);
}

}  // namespace
}  // namespace millrace
