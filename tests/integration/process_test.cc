// The process of a server: start, kill, restart and stop, with and without a broker.
#include <csignal>
#include <filesystem>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "tests/support/file_bytes.h"
#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

using testing::HasSubstr;

using ServerProcess = MillraceTest;

TEST_F(ServerProcess, KeepsWorkflowsAndInstancesAcrossAKill) {
  const std::string text = read_repository_file("examples/purchase/purchase.yaml");
  millrace_.apply(text);
  const std::string id = millrace_.start_instance("purchase", {{"customerId", "c-1"}});
  millrace_.kill();

  millrace_.start_ready();
  EXPECT_EQ(millrace_.get("workflows/purchase")["definition"], text);
  millrace_.instance_once(id, "waiting");
  millrace_.stop();
}

TEST_F(ServerProcess, StopsOnSigint) {
  millrace_.process().signal(SIGINT);
  EXPECT_EQ(millrace_.process().wait(), 0);
  EXPECT_TRUE(millrace_.process().group_ends());
}

TEST_F(ServerProcess, StopsOnSigtermWithoutAWarning) {
  // The warning of a new data folder shows that the log has warnings. On a busy machine there may
  // be others, because the broker answered late.
  const std::vector<std::string> before = complaints_in(millrace_.process().errors());
  EXPECT_THAT(before, testing::Contains(HasSubstr("warning generated the secret key")));
  millrace_.process().signal(SIGTERM);
  EXPECT_EQ(millrace_.process().wait(), 0);
  EXPECT_TRUE(millrace_.process().group_ends());
  millrace_.process().wait_for_streams();
  EXPECT_EQ(complaints_in(millrace_.process().errors()), before);
}

TEST_F(ServerProcess, HasNoCoreDumpsUnlessTheyAreTurnedOn) {
  constexpr std::string_view kName = "Max core file size";
  // The soft and the hard limit for the size of core dumps.
  const auto limits = [&] {
    const std::string all = file_bytes(fmt::format("/proc/{}/limits", millrace_.process().pid()));
    std::istringstream line(all.substr(all.find(kName) + kName.size()));
    std::pair<std::string, std::string> both;
    line >> both.first >> both.second;
    return both;
  };
  EXPECT_EQ(limits(), (std::pair<std::string, std::string>("0", "0")));
  millrace_.kill();
  millrace_.set_arguments({"--core-dumps", "on"});
  millrace_.start();
  rlimit own{};
  ASSERT_EQ(::getrlimit(RLIMIT_CORE, &own), 0);
  EXPECT_EQ(limits().second == "0", own.rlim_max == 0) << "the limit of the test stays";
}

TEST_F(ServerProcess, WarnsOfASecretKeyThatEveryUserCanRead) {
  const std::filesystem::path key = millrace_.data() / "secret-key";
  millrace_.kill();
  std::filesystem::permissions(key, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  millrace_.set_arguments({"--secret-key-file", key.string()});
  millrace_.start();
  const std::string warning = fmt::format("secret key: {} can be read by every user", key.string());
  EXPECT_TRUE(millrace_.process().error_line(warning).has_value());
}

TEST_F(ServerProcess, StopsOnSighupWithoutATokenFile) {
  millrace_.process().signal(SIGHUP);
  EXPECT_EQ(millrace_.process().wait(), 0);
  EXPECT_TRUE(millrace_.process().group_ends());
}

TEST_F(ServerProcess, StopsAndAnswersARequestThatWaitsForTheEndOfAnInstance) {
  millrace_.apply(read_repository_file("examples/purchase/purchase.yaml"));
  RawClient waiting(millrace_.port());
  waiting.send(
      "POST /v1/ns/default/workflows/purchase/start?wait=PT10M HTTP/1.1\r\nHost: localhost\r\n"
      "Content-Length: 20\r\n\r\n{\"customerId\": \"c1\"}");
  ASSERT_TRUE(millrace_.has_instances("status=waiting", 1));
  millrace_.stop();
  const std::optional<HttpReply> reply = waiting.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_EQ(reply->code(), "stopping");
}

TEST_F(ServerProcess, RefusesADataFolderThatAnotherProcessHasOpen) {
  const ProcessEnd second = run_process({.command = millrace_.command()});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.errors, HasSubstr("store."));
  EXPECT_TRUE(millrace_.is_running());
}

TEST(MillraceProgram, DoesNotStartWithTooFewFileDescriptors) {
  for (const std::string verb : {"serve --data /nowhere", "dev"}) {
    const ProcessEnd end = run_process(
        {.command = {"/bin/sh", "-c", "ulimit -n 64; exec " + millrace_program() + " " + verb}});
    EXPECT_EQ(end.code, 1) << verb;
    EXPECT_THAT(end.errors, HasSubstr("this process may open 64 files, and a server needs 256"));
    EXPECT_THAT(end.errors, HasSubstr("[system.descriptors]"));
  }
}

TEST(MillraceProgram, RejectsStandardInputThatItCannotRead) {
  for (const std::string verb : {"lint -", "variable set key -", "secret set key"}) {
    const ProcessEnd end = run_process(
        {.command = {"/bin/sh", "-c", "exec " + millrace_program() + " " + verb + " < /"}});
    EXPECT_EQ(end.code, 2) << verb << ": " << end.output << end.errors;
    EXPECT_THAT(end.errors, HasSubstr("standard input cannot be read")) << verb;
  }
}

TEST(MillraceProgram, BecomesReadyWhenTheBrokerStarts) {
  NatsServer nats;
  nats.process().stop();
  MillraceServer millrace(nats.url());
  millrace.start();
  const HttpReply early = millrace.ask("GET", "/readyz");
  EXPECT_EQ(early.status, 503);
  EXPECT_THAT(early.code(), testing::StartsWith("broker."));
  EXPECT_EQ(millrace.ask("GET", "/livez").status, 200);

  ASSERT_TRUE(nats.process().start_again());
  EXPECT_TRUE(eventually([&] { return millrace.ask("GET", "/readyz").status == 200; }));
  millrace.stop();
}

TEST(MillraceProgram, StopsWhileTheBrokerIsDown) {
  NatsServer nats;
  nats.process().stop();
  MillraceServer millrace(nats.url());
  millrace.start();
  millrace.stop();
}

TEST_F(ServerProcess, SurvivesACrashOfTheBroker) {
  millrace_.apply(read_repository_file("examples/guest-booking/guest-booking.yaml"));
  const std::string id = millrace_.start_instance("guest-booking", {{"customerId", "c-1"}});
  const auto ready = [&] { return millrace_.ask("GET", "/readyz").status; };
  nats_.process().kill();
  EXPECT_TRUE(eventually([&] { return ready() == 503; }));
  const std::string booking =
      R"({"specversion":"1.0","id":"b-1","type":"guestbooking","source":"bookings.web",)"
      R"("customerid":"c-1","venue":"Sydney","data":{"room":"7"}})";
  const HttpReply refused = millrace_.ask("POST", "events", booking);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.code(), testing::StartsWith("broker."));
  EXPECT_EQ(refused.header("Retry-After"), "1");

  ASSERT_TRUE(nats_.process().start_again());
  EXPECT_TRUE(eventually([&] { return ready() == 200; }));
  EXPECT_TRUE(eventually([&] { return millrace_.ask("POST", "events", booking).status == 202; }));
  millrace_.instance_once(id, "complete");
}

TEST_F(ServerProcess, PublishesGeneratedEventsWhenTheBrokerIsBack) {
  millrace_.apply(read_repository_file("examples/reservation/reservation.yaml"));
  nats_.process().kill();
  const std::string id = millrace_.start_instance("reservation", {{"guestName", "Ada"}});
  millrace_.instance_once(id, "waiting");

  ASSERT_TRUE(nats_.process().start_again());
  const std::unique_ptr<RawNatsClient> client = nats_.client();
  EXPECT_TRUE(eventually([&] {
    const Json stored = client->api("STREAM.MSG.GET.MILLRACE_EVENTS",
                                    {{"last_by_subj", "millrace.events.*.reservation.requested"}});
    return stored.contains("message");
  }));
}

TEST(MillraceProgram, TurnsGeneratedEventsThatTheBrokerRefusesAsTooLargeIntoDeadLetters) {
  NatsServer nats("max_payload: 8KB");
  MillraceServer millrace(nats.url());
  millrace.start_ready();
  millrace.apply(R"(
id: tells
states:
- {id: much, type: generateEvent, event: {type: told, source: /t, data: jq(.)}, transition: little}
- {id: little, type: generateEvent, event: {type: told, source: /t, data: jq(.n)}}
)");
  millrace.apply(R"(
id: hears
start: {type: event, event: {type: told}}
states:
- {id: done, type: noop}
)");
  millrace.start_instance("tells", {{"n", 7}, {"much", std::string(20'000, 'x')}});
  EXPECT_EQ(millrace.only_instance_once("hears", "complete").at("input").at("told"), 7);
  ASSERT_TRUE(eventually([&] { return millrace.items("dlq").size() == 1; }));
  const Json letter = millrace.items("dlq").front();
  EXPECT_EQ(letter.at("reason"), "millrace.event.tooLarge");
  EXPECT_GT(letter.at("size"), 20'000);
  EXPECT_EQ(letter.at("subject"), "millrace.events.default.told");
  millrace.stop();
}

}  // namespace
}  // namespace millrace
