// Settings of the streams: prefix, limits, JetStream domain.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"
#include "tests/support/queue_worker.h"

namespace millrace {
namespace {

using testing::HasSubstr;

/// An event starts the workflow, which calls a service of a worker and generates an event.
constexpr const char* kSettingsOrder = R"(id: order
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
    event: {type: paid, source: shop, data: jq(.return)}
)";

std::string ordered(std::string_view id) {
  return fmt::format(R"({{"specversion":"1.0","id":"{}","source":"/s","type":"ordered"}})", id);
}

TEST(StreamSettings, KeepTwoServersApartThatHaveDifferentPrefixesOnOneBroker) {
  const NatsServer nats;
  MillraceServer first(nats.url());
  MillraceServer second(nats.url(), {{"MILLRACE_STREAM_PREFIX", "orders"}});
  first.start_ready();
  second.start_ready();
  const auto client = nats.client();
  client->subscribe("*.events.default.paid");
  for (const auto& [server, prefix] :
       {std::pair(&first, "millrace"), std::pair(&second, "orders")}) {
    server->apply(kSettingsOrder);
    client->publish_acked(fmt::format("{}.events.default.ordered", prefix), "", ordered(prefix));
    QueueWorker worker(nats.client(), prefix, "default+charge");
    const auto task = worker.do_one(fmt::format(R"({{"by":"{}"}})", prefix));
    ASSERT_TRUE(task) << prefix;
    EXPECT_EQ(task->subject, fmt::format("{}.tasks.default.charge", prefix));
    EXPECT_THAT(QueueWorker::reply_of(*task),
                HasSubstr(fmt::format("{}.results.0.default.", prefix)));
    server->only_instance_once("order", "complete");
    const auto paid = client->next(kPatience);
    ASSERT_TRUE(paid);
    EXPECT_EQ(paid->subject, fmt::format("{}.events.default.paid", prefix));
    EXPECT_THAT(paid->data, HasSubstr(fmt::format(R"("by":"{}")", prefix)));
  }
  // A message of one prefix is neither an event nor a dead letter of the other.
  client->publish_acked("orders.events.default.bad", "", "no event");
  EXPECT_TRUE(eventually([&] { return second.items("dlq").size() == 1; }));
  EXPECT_EQ(second.items("dlq")[0]["subject"], "orders.events.default.bad");
  EXPECT_EQ(first.items("dlq").size(), 0u);
  const Json info = second.get("/v1/info");
  EXPECT_EQ(info["streams"]["prefix"], "orders");
  EXPECT_EQ(info["streams"]["events"]["name"], "ORDERS_EVENTS");
}

TEST(StreamSettings, ApplyToANewStreamAndCauseAWarningForAnExistingOne) {
  const NatsServer nats;
  MillraceServer millrace(nats.url());
  const std::map<std::string, std::string> hours = {{"MILLRACE_EVENTS_MAX_AGE", "2h"},
                                                    {"MILLRACE_EVENTS_MAX_BYTES", "1GiB"},
                                                    {"MILLRACE_TASKS_MAX_BYTES", "1MiB"}};
  millrace.launch(hours);
  millrace.wait_until_it_listens();
  ASSERT_TRUE(eventually([&] { return millrace.ask("GET", "/readyz").status == 200; }));
  const auto client = nats.client();
  const auto config = [&](const std::string& stream) {
    return client->api("STREAM.INFO." + stream)["config"];
  };
  EXPECT_EQ(config("MILLRACE_EVENTS")["max_age"], 7'200'000'000'000);
  EXPECT_EQ(config("MILLRACE_EVENTS")["max_bytes"], 1 << 30);
  EXPECT_EQ(config("MILLRACE_EVENTS")["discard"], "old");
  EXPECT_EQ(config("MILLRACE_DLQ")["max_bytes"], -1);
  EXPECT_TRUE(eventually([&] { return config("MILLRACE_TASKS").contains("discard"); }));
  EXPECT_EQ(config("MILLRACE_TASKS")["discard"], "new") << "a full stream keeps pending tasks";
  const Json info = millrace.get("/v1/info")["streams"];
  EXPECT_EQ(info["events"]["maxAgeSeconds"], 7200);
  EXPECT_EQ(info["events"]["maxBytes"], 1 << 30);
  EXPECT_FALSE(info["deadLetters"].contains("maxBytes"));
  millrace.stop();

  millrace.start_ready();
  EXPECT_EQ(config("MILLRACE_EVENTS")["max_age"], 7'200'000'000'000)
      << "an existing stream is not changed";
  EXPECT_TRUE(
      millrace.process().error_line("stream MILLRACE_EVENTS has max_bytes 1073741824 "
                                    "instead of -1"));
}

TEST(StreamSettings, PreventTheStartWhenTheyAreInvalid) {
  const NatsServer nats;
  const std::vector<std::pair<std::vector<std::string>, std::string>> rows = {
      {{"--stream-prefix", "Orders"}, "the stream prefix \"Orders\" is not 1 to 32"},
      {{"--stream-replicas", "9"}, "9 stream replicas"},
      {{"--js-domain", "a.b"}, "the JetStream domain \"a.b\""},
      {{"--events-max-age", "long"}, "--events-max-age"},
  };
  for (const auto& [arguments, message] : rows) {
    MillraceServer millrace(nats.url());
    millrace.set_arguments(arguments);
    millrace.launch();
    const ProcessEnd end = millrace.end();
    EXPECT_NE(end.code, 0);
    EXPECT_THAT(end.errors, HasSubstr(message));
  }
}

TEST(StreamSettings, WithMoreReplicasThanServersPreventTheUseOfTheStreams) {
  const NatsServer nats;
  MillraceServer millrace(nats.url(), {{"MILLRACE_STREAM_REPLICAS", "3"}});
  millrace.start();
  EXPECT_TRUE(millrace.process().error_line(
      "this process does not use the streams: stream MILLRACE_OWNER with --stream-replicas 3 needs "
      "3 NATS servers"));
  EXPECT_TRUE(eventually([&] {
    const HttpReply ready = millrace.ask("GET", "/readyz");
    return ready.status == 503 && ready.json().value("code", "") == "broker.replicas";
  }));
}

TEST(StreamSettings, SelectTheJetStreamDomain) {
  const Folder store;
  const NatsServer nats(
      fmt::format("jetstream {{ store_dir: \"{}\", domain: hub }}\n", store.path().string()));
  MillraceServer millrace(nats.url(), {{"MILLRACE_JS_DOMAIN", "hub"}});
  millrace.start_ready();
  millrace.apply(kSettingsOrder);
  nats.client()->publish_acked("millrace.events.default.ordered", "", ordered("1"));
  QueueWorker worker(nats.client(), "millrace", "default+charge");
  ASSERT_TRUE(worker.do_one("{}"));
  millrace.only_instance_once("order", "complete");
  EXPECT_EQ(millrace.get("/v1/info")["streams"]["domain"], "hub");

  MillraceServer other_domain(nats.url(), {{"MILLRACE_JS_DOMAIN", "spoke"}});
  other_domain.start();
  EXPECT_TRUE(other_domain.process().error_line("$JS.spoke.API."));
  EXPECT_EQ(other_domain.ask("GET", "/readyz").status, 503);
}

}  // namespace
}  // namespace millrace
