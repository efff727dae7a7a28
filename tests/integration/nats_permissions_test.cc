// The permissions in docs/nats.md, and the accounts in nats.conf, are sufficient for millrace, a
// worker, a publisher and subscribers, and give each of them nothing more than the documents say.
#include <initializer_list>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/check.h"
#include "tests/support/environment_variable.h"
#include "tests/support/millrace_server.h"
#include "tests/support/queue_worker.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

/// The setups of a NATS server that the documents describe.
enum class NatsSetup {
  kOneAccount,  ///< docs/nats.md: users with permissions in one account
  kAccounts,    ///< nats.conf: an account for millrace and one for each kind of client
};

/// The configuration of the NATS server in docs/nats.md.
std::string documented_permissions() {
  const std::string text = read_repository_file("docs/nats.md");
  const std::string begin = "```conf\n";
  const size_t at = text.find(begin);
  CHECK(at != std::string::npos, "docs/nats.md has no configuration");
  return text.substr(at + begin.size(), text.find("```", at + 1) - at - begin.size());
}

std::string configuration_of(NatsSetup setup) {
  return setup == NatsSetup::kAccounts ? read_repository_file("nats.conf")
                                       : documented_permissions();
}

/// The variables in which nats.conf finds the passwords: the name of the user and `-password`.
struct BrokerPasswords {
  EnvironmentVariable millrace{"NATS_MILLRACE_PASSWORD", "millrace-password"};
  EnvironmentVariable shop{"NATS_SHOP_PASSWORD", "shop-password"};
  EnvironmentVariable charge{"NATS_CHARGE_PASSWORD", "charge-password"};
  EnvironmentVariable receipts{"NATS_RECEIPTS_PASSWORD", "receipts-password"};
  EnvironmentVariable watch{"NATS_WATCH_PASSWORD", "watch-password"};
};

/// The environment of a millrace that has these permissions.
std::map<std::string, std::string> permitted_login() {
  return {{"NATS_USER", "millrace"},
          {"NATS_PASSWORD", "millrace-password"},
          {"MILLRACE_NATS_INBOX_PREFIX", "_INBOX_millrace"}};
}

constexpr const char* kPermittedOrder = R"(id: order
functions:
  - {id: charge, type: knative-namespace, service: charge}
start: {type: event, event: {type: ordered}}
states:
  - id: pay
    type: action
    action: {function: charge}
    transition: tell
  - id: tell
    type: generateEvent
    event: {type: paid, source: shop}
)";

std::string shop_event(std::string_view type, std::string_view id) {
  return fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/s","type":"{}"}})", id, type);
}

class NatsPermissions : public testing::TestWithParam<NatsSetup> {
 protected:
  void SetUp() override {
    millrace_.start_ready();
    const HttpReply made = millrace_.ask("PUT", "/v1/ns/shop", R"({"lifecycle": true})");
    ASSERT_LT(made.status, 300) << made.body;
    millrace_.apply(kPermittedOrder, "shop");
  }

  std::unique_ptr<RawNatsClient> client_as(const std::string& user) const {
    return nats_.client(
        {.user = user, .password = user + "-password", .inbox = fmt::format("_INBOX_{}", user)});
  }

  /// A client that may subscribe to the events of the namespace `shop`.
  std::unique_ptr<RawNatsClient> subscriber() const {
    return client_as(GetParam() == NatsSetup::kAccounts ? "receipts" : "shop");
  }

  /// Expects that the broker refuses what the user publishes to each of the subjects.
  void expect_unpublishable(const std::string& user,
                            std::initializer_list<const char*> subjects) const {
    const auto client = client_as(user);
    for (const char* const subject : subjects) {
      const size_t before = client->complaints().size();
      client->publish(subject, "x");
      client->flush();
      EXPECT_EQ(client->complaints().size(), before + 1) << user << " " << subject;
    }
  }

  /// Expects that the broker refuses each of the subscriptions to the user.
  void expect_unreadable(const std::string& user,
                         std::initializer_list<const char*> subjects) const {
    const auto client = client_as(user);
    for (const char* const subject : subjects) {
      const size_t before = client->complaints().size();
      client->subscribe(subject);
      client->flush();
      EXPECT_EQ(client->complaints().size(), before + 1) << user << " " << subject;
    }
  }

  bool has_orders(const MillraceServer& server, std::string_view status, size_t count) const {
    return eventually([&] {
      const Json found = server.get(fmt::format("/v1/ns/shop/instances?status={}", status));
      return found.at("items").size() == count;
    });
  }

  BrokerPasswords passwords_;
  NatsServer nats_{configuration_of(GetParam())};
  MillraceServer millrace_{nats_.url(), permitted_login()};
};

TEST_P(NatsPermissions, SufficeForMillraceAWorkerAndAPublisher) {
  const auto receipts = subscriber();
  receipts->subscribe("millrace.events.shop.paid");
  const auto shop = client_as("shop");
  shop->publish_acked("millrace.events.shop.ordered", "", shop_event("ordered", "1"));
  shop->publish_acked("millrace.events.shop.bad", "", "no event");
  QueueWorker worker(client_as("charge"), "millrace", "shop+charge", "_INBOX_charge.tasks");
  worker.client().subscribe("millrace.stops.*");
  ASSERT_TRUE(worker.do_one("1"));
  EXPECT_TRUE(receipts->next(kPatience)) << "the generated event";
  EXPECT_TRUE(has_orders(millrace_, "complete", 1));
  EXPECT_TRUE(eventually([&] { return millrace_.get("/v1/ns/shop/dlq")["items"].size() == 1; }));

  shop->publish_acked("millrace.events.shop.bad", "", "no event either");
  EXPECT_TRUE(eventually([&] { return millrace_.get("/v1/ns/shop/dlq")["items"].size() == 2; }));
  const HttpReply limited = millrace_.ask(
      "PUT", "/v1/ns/shop",
      R"({"lifecycle": true, "retention": {"deadLetters": {"age": "P1D", "count": 1}}})");
  ASSERT_LT(limited.status, 300) << limited.body;

  // The next process must delete old consumers, ask for the owner, and delete dead letters.
  millrace_.kill();
  millrace_.start_ready();
  EXPECT_TRUE(eventually([&] { return millrace_.get("/v1/ns/shop/dlq")["items"].size() == 1; }));
  shop->publish_acked("millrace.events.shop.ordered", "", shop_event("ordered", "2"));
  ASSERT_TRUE(worker.do_one("1"));
  EXPECT_TRUE(has_orders(millrace_, "complete", 2));

  worker.client().subscribe("_INBOX_charge.callback");
  worker.client().publish(
      "millrace.callbacks.0.shop.0190b5a4-7c1e-7f2a-8000-000000000000.heartbeat", "",
      "_INBOX_charge.callback");
  worker.client().flush();
  std::optional<RawNatsClient::Message> refused;
  do {  // ends of requests for tasks may come before
    refused = worker.client().next(kPatience);
    ASSERT_TRUE(refused);
  } while (refused->subject != "_INBOX_charge.callback");
  EXPECT_THAT(refused->data, HasSubstr("callback.refused"));
  MillraceServer newcomer(nats_.url(), permitted_login());
  newcomer.launch();
  EXPECT_THAT(newcomer.end().errors, HasSubstr("[broker.owner]"));

  EXPECT_THAT(worker.client().complaints(), IsEmpty());
  EXPECT_THAT(shop->complaints(), IsEmpty());
  EXPECT_THAT(receipts->complaints(), IsEmpty());
  EXPECT_THAT(millrace_.process().errors(), Not(HasSubstr("ermission")));
  millrace_.stop();
}

TEST_P(NatsPermissions, SufficeToSendATaskOfARestoredStoreAgain) {
  const auto shop = client_as("shop");
  shop->publish_acked("millrace.events.shop.ordered", "", shop_event("ordered", "1"));
  ASSERT_TRUE(has_orders(millrace_, "waiting", 1));
  const Folder folder;
  const std::string backup = (folder.path() / "backup").string();
  const ProcessEnd made = millrace_.cli({"backup", backup});
  ASSERT_EQ(made.code, 0) << made.errors;
  QueueWorker worker(client_as("charge"), "millrace", "shop+charge", "_INBOX_charge.tasks");
  ASSERT_TRUE(worker.do_one("1"));
  ASSERT_TRUE(has_orders(millrace_, "complete", 1));
  millrace_.stop();

  MillraceServer restored(nats_.url(), permitted_login());
  const ProcessEnd end = run_process(
      {.command = {millrace_program(), "restore", backup, "--data", restored.data().string(),
                   "--secret-key-file", (millrace_.data() / "secret-key").string(), "--copy-key"}});
  ASSERT_EQ(end.code, 0) << end.errors;
  restored.start_ready();
  EXPECT_TRUE(worker.do_one("1"));
  EXPECT_TRUE(has_orders(restored, "complete", 1));
  EXPECT_THAT(restored.process().errors(), Not(HasSubstr("ermission")));
  restored.stop();
}

TEST(RestoredServerWithoutPermissions, WaitsAndReportsTheStreamThatItCannotRead) {
  std::string permissions = documented_permissions();
  const std::string needed = "$JS.API.CONSUMER.CREATE.MILLRACE_LIFECYCLE";
  const size_t at = permissions.find(needed);
  ASSERT_NE(at, std::string::npos);
  permissions.replace(at, needed.size(), "another.subject");
  const NatsServer nats(permissions);
  MillraceServer original(nats.url(), permitted_login());
  original.start_ready();
  ASSERT_LT(original.ask("PUT", "/v1/ns/default", R"({"lifecycle": true})").status, 300);
  original.apply("id: ends\nstates: [{id: a, type: noop}]\n");
  original.instance_once(original.start_instance("ends", {{"n", 1}}), "complete");
  const Folder folder;
  const std::string backup = (folder.path() / "backup").string();
  ASSERT_EQ(original.cli({"backup", backup}).code, 0);
  original.stop();

  MillraceServer restored(nats.url(), permitted_login());
  const ProcessEnd end = run_process(
      {.command = {millrace_program(), "restore", backup, "--data", restored.data().string(),
                   "--secret-key-file", (original.data() / "secret-key").string(), "--copy-key"}});
  ASSERT_EQ(end.code, 0) << end.errors;
  restored.start();
  EXPECT_TRUE(eventually([&] {
    const HttpReply ready = restored.ask("GET", "/readyz");
    return ready.status == 503 && ready.body.find("stream MILLRACE_LIFECYCLE") != std::string::npos;
  }));
  restored.stop();
}

TEST_P(NatsPermissions, LetNoOtherUserReceiveWhatIsDeliveredToMillrace) {
  for (const char* const user : {"charge", "shop"}) {
    expect_unreadable(user, {"_INBOX_millrace.>", "_INBOX.>", "millrace.owner.*"});
  }
  EXPECT_EQ(millrace_.get("/v1/info")["natsInboxPrefix"], "_INBOX_millrace");
}

TEST_P(NatsPermissions, DenyAWorkerTheSubjectsOfOthers) {
  expect_unpublishable(
      "charge", {"millrace.results.0.other.x", "millrace.callbacks.0.other.x.complete",
                 "millrace.owner", "millrace.events.shop.ordered", "millrace.tasks.shop.charge",
                 "$JS.API.STREAM.DELETE.MILLRACE_TASKS",
                 "$JS.API.CONSUMER.MSG.NEXT.MILLRACE_TASKS.other+charge",
                 "$JS.ACK.MILLRACE_TASKS.other+charge.1.1.1.1.0"});
}

TEST_P(NatsPermissions, DenyAWorkerEventsAndWhatItsServiceDoesNotGet) {
  expect_unreadable("charge", {"millrace.events.>", "millrace.events.shop.ordered", "millrace.>",
                               "millrace.tasks.>", "millrace.results.>", "millrace.callbacks.>",
                               "millrace.lifecycle.>", "millrace.dlq.>", "$JS.ACK.>", ">"});
  expect_unpublishable(
      "charge", {"$JS.API.CONSUMER.CREATE.MILLRACE_EVENTS",
                 "$JS.API.CONSUMER.DURABLE.CREATE.MILLRACE_EVENTS.x",
                 "$JS.API.STREAM.MSG.GET.MILLRACE_EVENTS", "$JS.API.STREAM.MSG.GET.MILLRACE_TASKS",
                 "$JS.API.DIRECT.GET.MILLRACE_EVENTS"});
}

TEST_P(NatsPermissions, DenyAPublisherAllButTheEventsOfItsNamespace) {
  expect_unpublishable(
      "shop",
      {"millrace.events.other.ordered", "millrace.tasks.shop.charge", "millrace.results.0.shop.x",
       "millrace.lifecycle.shop.order.failed", "millrace.dlq.shop.x", "millrace.owner",
       "millrace.stops.x", "$JS.API.STREAM.INFO.MILLRACE_EVENTS",
       "$JS.API.STREAM.PURGE.MILLRACE_EVENTS", "$JS.API.CONSUMER.CREATE.MILLRACE_EVENTS"});
  expect_unreadable("shop", {"millrace.events.other.>", "millrace.events.>", "millrace.tasks.>",
                             "millrace.callbacks.>", "millrace.dlq.>", "$JS.API.>", ">"});
}

TEST_P(NatsPermissions, LetNoClientConnectWithoutItsPassword) {
  const std::vector<ConnectionSettings> logins = {
      {.servers = {nats_.url()}},
      {.servers = {nats_.url()}, .user = "millrace", .password = "shop-password"}};
  for (const ConnectionSettings& login : logins) {
    const auto stranger = Connection::open(login);
    ASSERT_TRUE(stranger) << stranger.error().message;
    EXPECT_TRUE(eventually([&] {
      return (*stranger)->why_disconnected().find("refused the login") != std::string::npos;
    })) << (*stranger)->why_disconnected();
    EXPECT_FALSE((*stranger)->connected());
  }
}

std::string setup_name(const testing::TestParamInfo<NatsSetup>& setup) {
  return setup.param == NatsSetup::kAccounts ? "Accounts" : "OneAccount";
}

INSTANTIATE_TEST_SUITE_P(With, NatsPermissions,
                         testing::Values(NatsSetup::kOneAccount, NatsSetup::kAccounts), setup_name);

/// What only the accounts of nats.conf have.
class NatsAccounts : public NatsPermissions {
 protected:
  /// The sequence of the newest message of the stream.
  static uint64_t newest_of(RawNatsClient& millrace, const std::string& stream) {
    const Json info = millrace.api("STREAM.INFO." + stream);
    return info.at("state").at("last_seq").get<uint64_t>();
  }
};

// The NATS server publishes its answers without the permissions of the client, to the subject that
// the client names.
TEST_P(NatsAccounts, KeepAnswersOfTheBrokerFromTheSubjectsOfOthers) {
  const auto millrace = client_as("millrace");
  const uint64_t owners = newest_of(*millrace, "MILLRACE_OWNER");
  const uint64_t results = newest_of(*millrace, "MILLRACE_RESULTS");
  const uint64_t events = newest_of(*millrace, "MILLRACE_EVENTS");
  const uint64_t dead_letters = newest_of(*millrace, "MILLRACE_DLQ");
  const auto shop = client_as("shop");
  int number = 0;
  for (const char* const reply :
       {"millrace.owner", "millrace.results.0.shop.x", "millrace.events.other.ordered",
        "$JS.API.STREAM.PURGE.MILLRACE_EVENTS"}) {
    shop->publish("millrace.events.shop.ordered", shop_event("ordered", std::to_string(++number)),
                  reply);
  }
  shop->publish_acked("millrace.events.shop.ordered", "", shop_event("ordered", "last"));
  const auto worker = client_as("charge");
  for (const char* const reply : {"millrace.owner", "millrace.events.other.ordered"}) {
    worker->publish("$JS.API.CONSUMER.MSG.NEXT.MILLRACE_TASKS.shop+charge",
                    R"({"batch":1,"expires":1000000})", reply);
  }
  worker->flush();

  // All five events have started an instance, so the broker has answered the publisher.
  EXPECT_TRUE(has_orders(millrace_, "waiting", 5));
  EXPECT_EQ(newest_of(*millrace, "MILLRACE_EVENTS"), events + 5);
  EXPECT_EQ(newest_of(*millrace, "MILLRACE_OWNER"), owners);
  EXPECT_EQ(newest_of(*millrace, "MILLRACE_RESULTS"), results);
  EXPECT_EQ(millrace->api("STREAM.INFO.MILLRACE_EVENTS").at("state").at("messages"), events + 5);
  EXPECT_EQ(newest_of(*millrace, "MILLRACE_DLQ"), dead_letters);
  EXPECT_THAT(shop->complaints(), IsEmpty());
  millrace_.stop();
}

TEST_P(NatsAccounts, LetAnObserverReceiveLifecycleEventsAndDeadLettersOnly) {
  const auto lifecycle = client_as("watch");
  lifecycle->subscribe("millrace.lifecycle.>");
  const auto dead_letters = client_as("watch");
  dead_letters->subscribe("millrace.dlq.>");
  const auto shop = client_as("shop");
  shop->publish_acked("millrace.events.shop.ordered", "", shop_event("ordered", "1"));
  shop->publish_acked("millrace.events.shop.bad", "", "no event");
  const auto started = lifecycle->next(kPatience);
  ASSERT_TRUE(started);
  EXPECT_EQ(started->subject, "millrace.lifecycle.shop.order.started");
  const auto dead_letter = dead_letters->next(kPatience);
  ASSERT_TRUE(dead_letter);
  EXPECT_THAT(dead_letter->subject, StartsWith("millrace.dlq.shop."));

  for (const char* const user : {"watch", "receipts"}) {
    expect_unpublishable(user, {"millrace.events.shop.ordered", "millrace.owner",
                                "$JS.API.STREAM.INFO.MILLRACE_EVENTS"});
    expect_unreadable(user, {"millrace.events.>", "millrace.tasks.>", "_INBOX_millrace.>"});
  }
}

INSTANTIATE_TEST_SUITE_P(With, NatsAccounts, testing::Values(NatsSetup::kAccounts), setup_name);

TEST(ComposeFile, GivesTheBrokerItsPasswordsAndMillraceItsUserAndInboxPrefix) {
  const std::string configuration = read_repository_file("nats.conf");
  const std::string compose = read_repository_file("compose.yaml");
  const std::regex variable(R"(password: \$(\w+))");
  std::set<std::string> passwords;
  for (std::sregex_iterator at(configuration.begin(), configuration.end(), variable), end;
       at != end; ++at) {
    passwords.insert((*at)[1].str());
  }
  EXPECT_THAT(passwords, SizeIs(5));
  for (const std::string& name : passwords) {
    EXPECT_THAT(compose, HasSubstr(fmt::format("{0}: \"${{{0}:?", name)));
  }
  EXPECT_FALSE(std::regex_search(configuration, std::regex(R"(password: [^$])")));
  EXPECT_THAT(compose, HasSubstr("./nats.conf:/etc/nats/nats.conf:ro"));
  for (const auto& [name, value] : permitted_login()) {
    if (name == "NATS_PASSWORD") continue;
    EXPECT_THAT(compose, HasSubstr(fmt::format("{}: {}\n", name, value)));
  }
  EXPECT_THAT(compose, HasSubstr("NATS_PASSWORD: \"${NATS_MILLRACE_PASSWORD:?"));
}

/// The subjects in quotes from the text `begin` to the text `end` behind it.
std::set<std::string> subjects_between(const std::string& text, const std::string& begin,
                                       const std::string& end) {
  const size_t from = text.find(begin);
  const std::string part = text.substr(from, text.find(end, from) - from);
  const std::regex quoted(R"re("([^" ]+[.>*][^" ]*)")re");
  std::set<std::string> subjects;
  for (std::sregex_iterator at(part.begin(), part.end(), quoted), none; at != none; ++at) {
    subjects.insert((*at)[1].str());
  }
  return subjects;
}

TEST(ComposeFile, OfAClusterGivesTheNodesThePermissionsOfTheDocuments) {
  std::set<std::string> needed =
      subjects_between(read_repository_file("nats.conf"), "user: millrace", "exports:");
  const std::string list = read_repository_file("docs/nats.md");
  for (const std::string& subject : subjects_between(list, "user: node", "```")) {
    needed.insert(std::regex_replace(subject, std::regex("([._])shop(?=[._]|$)"), "$1main"));
  }
  // `millrace.>` has these.
  for (const char* const subject : {"millrace.log.main.0", "millrace.snapshots.main.0.>"}) {
    EXPECT_EQ(needed.erase(subject), 1u) << subject;
  }
  EXPECT_EQ(subjects_between(read_repository_file("nats.cluster.conf"), "user: millrace", "\n}\n"),
            needed);
  EXPECT_THAT(read_repository_file("compose.cluster.yaml"), HasSubstr("MILLRACE_CLUSTER: main\n"));
  EXPECT_THAT(read_repository_file("compose.cluster.yaml"),
              HasSubstr("MILLRACE_NATS_INBOX_PREFIX: _INBOX_millrace\n"));
}

TEST(ComposeFile, OfAClusterGivesAllNodesTheSameSettings) {
  const std::string configuration = read_repository_file("nats.cluster.conf");
  const std::string compose = read_repository_file("compose.cluster.yaml");
  const auto count = [&](std::string_view text) {
    size_t found = 0;
    for (size_t at = compose.find(text); at != std::string::npos; at = compose.find(text, at + 1)) {
      ++found;
    }
    return found;
  };
  for (const char* const name : {"NATS_MILLRACE_PASSWORD", "NATS_ROUTE_PASSWORD"}) {
    EXPECT_THAT(configuration, HasSubstr(fmt::format("password: ${}", name)));
    EXPECT_THAT(compose, HasSubstr(fmt::format("{0}: \"${{{0}:?", name)));
  }
  EXPECT_EQ(count("./nats.cluster.conf:/etc/nats/nats.conf:ro"), 3u);
  for (int server = 1; server <= 3; ++server) {
    EXPECT_EQ(count(fmt::format("--name=nats{}", server)), 1u);
    EXPECT_EQ(count(fmt::format("@nats{}:6222", server)), 3u) << "a route from each server";
  }
  EXPECT_EQ(count("<<: *settings"), 2u);
  EXPECT_EQ(count("MILLRACE_CLUSTER: "), 1u);
  EXPECT_EQ(count("MILLRACE_SECRET_KEY_FILE: /run/secrets/millrace-key"), 1u);
  EXPECT_EQ(count("command: [serve, --found]"), 1u) << "one node founds the cluster";
  for (int node = 1; node <= 2; ++node) {
    EXPECT_EQ(count(fmt::format("MILLRACE_ADVERTISE: http://millrace{}:8780", node)), 1u);
    EXPECT_EQ(count(fmt::format("[\"millrace{}:/data\"]", node)), 1u);
  }
  const ProcessEnd checked = run_process(
      {.command = {"sh", "-c", "PATH=$PATH:/usr/sbin exec nats-server -t -c nats.cluster.conf"},
       .environment = {{"NATS_MILLRACE_PASSWORD", "p1"}, {"NATS_ROUTE_PASSWORD", "p2"}}});
  EXPECT_EQ(checked.code, 0) << checked.errors;
}

}  // namespace
}  // namespace millrace
