#include "broker/connection.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "broker/dev_server.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

TEST(Connection, RefusesInvalidSettings) {
  const struct {
    ConnectionSettings settings;
    const char* code;
  } rows[] = {
      {{.servers = {"nats://127.0.0.1:notaport"}}, "broker.settings"},
      {{.servers = {}}, "broker.settings"},
      {{.creds_file = "/nowhere/user.creds"}, "broker.settings"},
      {{.nkey_seed_file = "/nowhere/seed"}, "broker.settings"},
      {{.nkey_seed_file = "/dev/null"}, "broker.nkey"},
      {{.tls_ca_file = "/nowhere/ca.pem"}, "broker.settings"},
      {{.inbox_prefix = ""}, "broker.settings"},
      {{.inbox_prefix = "_INBOX."}, "broker.settings"},
      {{.inbox_prefix = "_INBOX.*"}, "broker.settings"},
      {{.inbox_prefix = "$JS.API"}, "broker.settings"},
      {{.inbox_prefix = std::string(65, 'a')}, "broker.settings"},
  };
  for (const auto& row : rows) {
    const Result<std::unique_ptr<Connection>> connection = Connection::open(row.settings);
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().code, row.code) << connection.error().message;
  }
}

TEST(Connection, KeepsPasswordsOutOfErrorMessages) {
  for (const char* server : {"nats://ann:secret@127.0.0.1:1", "ann:secret@127.0.0.1:1",
                             "nats://ann:se@cret@127.0.0.1:1"}) {
    const Result<std::unique_ptr<Connection>> connection = Connection::open({.servers = {server}});
    const std::string message =
        connection ? (*connection)->request("x", "").error().message : connection.error().message;
    EXPECT_EQ(message.find("cret"), std::string::npos) << message;
    EXPECT_NE(message.find("127.0.0.1:1"), std::string::npos) << message;
  }
}

TEST(Connection, OpensBeforeTheBrokerRuns) {
  const Folder folder;
  Result<std::unique_ptr<DevServer>> server =
      DevServer::start({.folder = folder.path(), .start_timeout = kPatience});
  ASSERT_TRUE(server);
  (*server)->stop();
  const Result<std::unique_ptr<Connection>> connection =
      Connection::open({.servers = {(*server)->url()}, .request_timeout = kPatience});
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_FALSE((*connection)->connected());
  const Result<NatsMessage> answer = (*connection)->request("x", "");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, "broker.unreachable");
  ASSERT_TRUE((*server)->start_again());
  EXPECT_TRUE((*connection)->wait_until_connected(kPatience));
  EXPECT_TRUE((*connection)->api("INFO", Json::object()));
}

TEST(Connection, ReportsToAWatcherThatItIsLostAndOpenAgain) {
  NatsServer server;
  const std::unique_ptr<Connection> connection = server.connect();
  std::promise<void> lost;
  std::promise<void> back;
  const uint64_t watch = connection->watch(
      [&](LinkChange change) { (change == LinkChange::kDisconnected ? lost : back).set_value(); });
  server.process().kill();
  ASSERT_EQ(lost.get_future().wait_for(kPatience), std::future_status::ready);
  ASSERT_TRUE(server.process().start_again());
  ASSERT_EQ(back.get_future().wait_for(kPatience), std::future_status::ready);
  connection->unwatch(watch);
  server.process().kill();  // A call of the watcher would set `lost` twice, which throws.
}

TEST(Connection, ReceivesAnswersOnSubjectsThatBeginWithItsInboxPrefix) {
  NatsServer server;
  const Result<std::unique_ptr<Connection>> connection =
      Connection::open({.servers = {server.url()}, .inbox_prefix = "_INBOX_millrace.a"});
  ASSERT_TRUE(connection) << connection.error().message;
  ASSERT_TRUE((*connection)->wait_until_connected(kPatience));
  const std::unique_ptr<RawNatsClient> client = server.client();
  client->subscribe("asked");
  auto asked = std::async(std::launch::async,
                          [&] { return (*connection)->request("asked", "", kPatience); });
  const std::optional<RawNatsClient::Message> request = client->next(kPatience);
  ASSERT_TRUE(request);
  EXPECT_THAT(request->reply, testing::StartsWith("_INBOX_millrace.a."));
  client->publish(request->reply, "answer");
  client->flush();
  EXPECT_TRUE(asked.get());
}

TEST(Connection, MakesInboxesThatRevealNothingAboutEachOther) {
  NatsServer server;
  const std::unique_ptr<Connection> connection = server.connect();
  const std::string first = connection->make_inbox();
  const std::string second = connection->make_inbox();
  EXPECT_THAT(first, testing::MatchesRegex("_INBOX\\.[0-9a-f]{32}"));
  const auto differ = std::mismatch(first.begin(), first.end(), second.begin()).first;
  const auto common = static_cast<size_t>(differ - first.begin());
  EXPECT_LT(common, first.size() - 8) << first << " " << second;
}

TEST(Connection, ReportsWhyARequestFails) {
  NatsServer server;
  const std::unique_ptr<Connection> connection = server.connect();
  EXPECT_EQ(connection->request("unused", "").error().code, "broker.unreachable");
  EXPECT_EQ(connection->api("STREAM.INFO.X", Json::object()).error().code, "broker.not_found");
  EXPECT_EQ(connection->api("STREAM.CREATE.X", {{"name", "Y"}}).error().code, "broker.refused");
  const std::unique_ptr<RawNatsClient> client = server.client();
  client->subscribe("silent");
  EXPECT_EQ(connection->request("silent", "", Duration(20)).error().code, "broker.timeout");
}

TEST(Connection, LogsInWithAPasswordOrATokenOrAnNkey) {
  constexpr const char* kSeed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
  const Folder folder;
  const fs::path seed_file = folder.path() / "seed";
  std::ofstream(seed_file) << kSeed << "\n";
  const struct {
    const char* configuration;
    ConnectionSettings settings;
  } rows[] = {
      {"authorization { user: ann, password: secret }", {.user = "ann", .password = "secret"}},
      {"authorization { token: abc }", {.token = "abc"}},
      {"authorization { users: [ { nkey: "
       "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 } ] }",
       {.nkey_seed_file = seed_file.string()}},
  };
  for (const auto& row : rows) {
    NatsServer server(row.configuration);
    ConnectionSettings settings = row.settings;
    settings.servers = {server.url()};
    const Result<std::unique_ptr<Connection>> connection = Connection::open(settings);
    ASSERT_TRUE(connection) << connection.error().message;
    EXPECT_TRUE((*connection)->wait_until_connected(kPatience)) << row.configuration;
  }
}

TEST(Connection, RetriesARefusedLogin) {
  NatsServer server("authorization { user: ann, password: other }");
  const Result<std::unique_ptr<Connection>> connection =
      Connection::open({.servers = {server.url()},
                        .user = "ann",
                        .password = "secret",
                        .request_timeout = kPatience});
  ASSERT_TRUE(connection) << connection.error().message;
  while ((*connection)->last_complaint().empty()) {  // until nats.c reports the refused login
  }
  EXPECT_FALSE((*connection)->connected());
  server.process().stop();
  ASSERT_TRUE(server.process().start_again("authorization { user: ann, password: secret }"));
  ASSERT_TRUE((*connection)->wait_until_connected(kPatience));
  EXPECT_TRUE((*connection)->api("INFO", Json::object()));
}

/// Opens a connection and waits until `wanted` is part of the reason why it is not connected, which
/// requests report too.
void expect_reason(ConnectionSettings settings, const std::string& wanted) {
  const Result<std::unique_ptr<Connection>> connection = Connection::open(std::move(settings));
  ASSERT_TRUE(connection) << connection.error().message;
  const auto begin = std::chrono::steady_clock::now();
  std::string why;
  Error error;
  // Each attempt to connect gives a reason, so the reason may change between two looks.
  while (why.find(wanted) == std::string::npos || error.message.find(wanted) == std::string::npos) {
    why = (*connection)->why_disconnected();
    error = (*connection)->request("x", "").error();
    ASSERT_EQ(error.code, "broker.unreachable");
    ASSERT_LT(std::chrono::steady_clock::now() - begin, kPatience) << why;
  }
}

TEST(Connection, ReportsWhyItIsNotConnected) {
  NatsServer server("authorization { user: ann, password: secret }");
  const std::string url = server.url();
  expect_reason({.servers = {url}, .user = "ann", .password = "other"},
                "NATS at " + url + " refused the login (Authorization Violation)");
  expect_reason({.servers = {url}}, "refused the login (Authorization Violation)");
  expect_reason({.servers = {url}, .tls_ca_file = "/etc/ssl/certs/ca-certificates.crt"},
                "offers no TLS");
  expect_reason(
      {.servers = {"nats://no-such-host.invalid:4222"}},
      "the host \"no-such-host.invalid\" of nats://no-such-host.invalid:4222 is unknown (");
  server.process().stop();
  expect_reason({.servers = {url}},
                "no NATS server can be reached at " + url + " (Connection refused): check --nats");
}

TEST(Connection, ForgetsTheReasonOfARefusedLoginWhenALoginSucceeds) {
  NatsServer server("authorization { user: ann, password: other }");
  const Result<std::unique_ptr<Connection>> connection =
      Connection::open({.servers = {server.url()}, .user = "ann", .password = "secret"});
  ASSERT_TRUE(connection) << connection.error().message;
  while ((*connection)->why_disconnected().find("refused") == std::string::npos) {
  }
  server.process().stop();
  ASSERT_TRUE(server.process().start_again("authorization { user: ann, password: secret }"));
  ASSERT_TRUE((*connection)->wait_until_connected(kPatience));
  EXPECT_THAT((*connection)->why_disconnected(), testing::Not(testing::HasSubstr("refused")));
}

TEST(Connection, NamesTheMissingPermission) {
  const NatsServer server(
      "authorization { users: [{user: ann, password: secret, permissions: {publish: [\"a.>\"], "
      "subscribe: [\"_INBOX.>\"]}}] }");
  const auto connection =
      Connection::open({.servers = {server.url()}, .user = "ann", .password = "secret"});
  ASSERT_TRUE(connection);
  ASSERT_TRUE((*connection)->wait_until_connected(kPatience));
  Error error;
  // The request that NATS refuses may end before NATS has reported why.
  while (error.message.find("NATS reported") == std::string::npos) {
    error = (*connection)->request("b.c", "", Duration(500)).error();
    ASSERT_EQ(error.code, "broker.timeout") << "temporary: the permission may be granted later";
  }
  EXPECT_EQ(
      error.message,
      "request to b.c: Timeout; NATS reported: Permissions Violation for Publish to \"b.c\"; give "
      "the user that permission (docs/nats.md, \"Permissions\")");
}

TEST(Connection, IsConnectedOnlyUntilTheAllowedTimeIfItIsGuarded) {
  using std::chrono::steady_clock;
  const NatsServer server;
  const auto opened =
      Connection::open({.servers = {server.url()}, .guarded = true, .request_timeout = kPatience});
  ASSERT_TRUE(opened);
  Connection& connection = **opened;
  ASSERT_TRUE(connection.wait_until_connected(kPatience));
  std::vector<LinkChange> changes;
  const uint64_t watch = connection.watch([&](LinkChange change) { changes.push_back(change); });
  EXPECT_FALSE(connection.connected());
  EXPECT_EQ(connection.request("x", "").error().message,
            "request to x: this process does not own the streams");
  connection.allow_until(steady_clock::now() + std::chrono::hours(1));
  EXPECT_TRUE(connection.connected());
  EXPECT_TRUE(connection.api("INFO", Json::object()));
  connection.allow_until(steady_clock::now() + std::chrono::hours(2));
  connection.forbid();
  EXPECT_FALSE(connection.connected());
  connection.allow_until(steady_clock::now() - Duration(1));
  EXPECT_FALSE(connection.connected()) << "the time limit has passed";
  connection.unwatch(watch);  // before the destructor, which reports a change
  EXPECT_EQ(changes, (std::vector{LinkChange::kConnected, LinkChange::kDisconnected}))
      << "each change is reported once, however often allow_until() is called";
}

}  // namespace
}  // namespace millrace
