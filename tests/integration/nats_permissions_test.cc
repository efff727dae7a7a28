// The permissions in docs/nats.md are sufficient for millrace, a worker and a publisher, and give a
// worker nothing more than the document says.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/check.h"
#include "tests/support/millrace_server.h"
#include "tests/support/queue_worker.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// The configuration of the NATS server in the document.
std::string documented_permissions() {
  const std::string text = read_repository_file("docs/nats.md");
  const std::string begin = "```conf\n";
  const size_t at = text.find(begin);
  CHECK(at != std::string::npos, "docs/nats.md has no configuration");
  return text.substr(at + begin.size(), text.find("```", at + 1) - at - begin.size());
}

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

class NatsPermissions : public testing::Test {
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

  bool has_orders(const MillraceServer& server, std::string_view status, size_t count) const {
    return eventually([&] {
      const Json found = server.get(fmt::format("/v1/ns/shop/instances?status={}", status));
      return found.at("items").size() == count;
    });
  }

  NatsServer nats_{documented_permissions()};
  MillraceServer millrace_{nats_.url(), permitted_login()};
};

TEST_F(NatsPermissions, SufficeForMillraceAWorkerAndAPublisher) {
  const auto shop = client_as("shop");
  shop->subscribe("millrace.events.shop.paid");
  shop->publish_acked("millrace.events.shop.ordered", "", shop_event("ordered", "1"));
  shop->publish_acked("millrace.events.shop.bad", "", "no event");
  QueueWorker worker(client_as("charge"), "millrace", "shop+charge", "_INBOX_charge.tasks");
  worker.client().subscribe("millrace.stops.*");
  ASSERT_TRUE(worker.do_one("1"));
  EXPECT_TRUE(shop->next(kLongEnough)) << "the generated event";
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
  MillraceServer newcomer(nats_.url(), permitted_login());
  newcomer.launch();
  EXPECT_THAT(newcomer.end().errors, HasSubstr("[broker.owner]"));

  EXPECT_THAT(worker.client().complaints(), IsEmpty());
  EXPECT_THAT(shop->complaints(), IsEmpty());
  EXPECT_THAT(millrace_.process().errors(), Not(HasSubstr("ermission")));
  millrace_.stop();
}

TEST_F(NatsPermissions, SufficeToSendATaskOfARestoredStoreAgain) {
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

TEST_F(NatsPermissions, LetNoOtherUserReceiveWhatIsDeliveredToMillrace) {
  for (const char* const user : {"charge", "shop"}) {
    const auto client = client_as(user);
    for (const char* const subject : {"_INBOX_millrace.>", "_INBOX.>"}) {
      const size_t before = client->complaints().size();
      client->subscribe(subject);
      client->flush();
      EXPECT_EQ(client->complaints().size(), before + 1) << user << " " << subject;
    }
  }
  EXPECT_EQ(millrace_.get("/v1/info")["natsInboxPrefix"], "_INBOX_millrace");
}

TEST_F(NatsPermissions, DenyAWorkerTheSubjectsOfOthers) {
  const auto worker = client_as("charge");
  for (const char* const subject :
       {"millrace.results.0.other.x", "millrace.owner", "millrace.events.shop.ordered",
        "$JS.API.STREAM.DELETE.MILLRACE_TASKS", "$JS.ACK.MILLRACE_TASKS.other+charge.1.1.1.1.0"}) {
    const size_t before = worker->complaints().size();
    worker->publish(subject, "x");
    worker->flush();
    EXPECT_EQ(worker->complaints().size(), before + 1) << subject;
  }
}

}  // namespace
}  // namespace millrace
