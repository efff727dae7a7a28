// What continues when the active of a cluster is killed and the standby takes over: the reading of
// a source, the history of an instance, early events, and live messages. On one nats-server. Needs
// nats-server 2.10 or newer (tests/brokers/fetch.sh); without it, the tests are skipped.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/cluster_pair.h"
#include "tests/support/nats_fixture.h"
#include "tests/unit/gateway/raw_client.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::StartsWith;

class ClusterTakeover : public ClusterPairOnOneServer {
 protected:
  /// Starts both nodes. Node 0 is the active.
  void start_both() {
    start(0, true);
    ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
    ASSERT_NO_FATAL_FAILURE(start_ready(1));
  }
  /// Kills node 0, and waits until node 1 is the active.
  void take_over() {
    node(0).kill();
    ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  }
  /// Starts node 0 again, as a standby.
  void start_former_active() {
    ASSERT_NO_FATAL_FAILURE(start_ready(0));
    ASSERT_FALSE(is_active(0));
  }

  /// The stream with that name, for one subject, as another program makes it.
  Json make_stream(const std::string& name, const std::string& subject) {
    const auto made = broker().api("STREAM.CREATE." + name, {{"name", name},
                                                             {"subjects", Json::array({subject})},
                                                             {"retention", "limits"},
                                                             {"storage", "file"},
                                                             {"max_age", 0},
                                                             {"max_msgs", -1},
                                                             {"max_bytes", -1}});
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->at("config") : Json();
  }
  Connection& broker() {
    if (!connection_) connection_ = nats_->connect();
    return *connection_;
  }

  /// The history of the instance as that node shows it, in pages of two records, each of which is
  /// asked for by the number of the record before it.
  std::vector<Json> history_by_number(size_t at, const std::string& id) {
    std::vector<Json> records;
    std::vector<Json> page;
    do {
      const size_t last = records.empty() ? 0 : records.back().at("number").get<size_t>();
      page = node(at).items(fmt::format("instances/{}/history?limit=2&after={}", id, last));
      records.insert(records.end(), page.begin(), page.end());
    } while (page.size() == 2);
    return records;
  }

 private:
  std::unique_ptr<Connection> connection_;
};

constexpr const char* kTakenOrder = R"(
id: taken-order
start: {type: event, event: {type: order.placed}}
states:
- {id: say, type: generateEvent, event: {type: order.taken, source: /shop, data: 'jq({order: .["order.placed"].order})'}}
)";

TEST_F(ClusterTakeover, ContinuesToReadASourceWithEachMessageOnce) {
  constexpr size_t kBefore = 400;  // messages that the stream has when the active is killed
  constexpr size_t kAll = 600;
  ASSERT_NO_FATAL_FAILURE(start_both());
  const std::string stream_before = dump_json(make_stream("ORDERS", "shop.orders.*"));
  const auto publisher = nats_->client();
  const auto place = [&](size_t first, size_t last) {
    for (size_t number = first; number < last; ++number) {
      publisher->publish("shop.orders.eu", fmt::format(R"({{"order":"o-{}"}})", number));
    }
    publisher->flush();
  };
  const auto taken = nats_->client();
  taken->subscribe("millrace.events.default.order.taken");
  taken->flush();
  const auto apply = [&](size_t at, int rate) {
    const HttpReply reply =
        node(at).ask("PUT", "sources/orders",
                     fmt::format(R"({{"stream": "ORDERS", "begin": "all", "rate": {}, )"
                                 R"("mapping": {{"type": "order.placed"}}}})",
                                 rate));
    ASSERT_TRUE(reply.status == 200 || reply.status == 201) << reply.body;
  };
  const auto source = [&](size_t at) { return node(at).get("sources/orders"); };

  node(0).apply(kTakenOrder);
  place(0, kBefore);
  // So slow that the reading is under way when the active is killed.
  ASSERT_NO_FATAL_FAILURE(apply(0, 50));
  ASSERT_TRUE(eventually([&] { return source(0)["position"] >= 20; })) << source(0);
  ASSERT_NO_FATAL_FAILURE(take_over());
  place(kBefore, kAll);  // at the kill, the position was lower than the number of all messages
  ASSERT_NO_FATAL_FAILURE(apply(1, 100'000));

  ASSERT_TRUE(eventually([&] { return source(1)["position"] == kAll; })) << source(1);
  EXPECT_EQ(source(1)["events"], kAll);
  EXPECT_EQ(source(1)["refused"], 0);
  EXPECT_EQ(source(1)["gone"], 0);
  EXPECT_TRUE(node(1).has_usage(0, kAll));
  std::set<std::string> orders;
  while (orders.size() < kAll) {
    const auto message = taken->next(kPatience);
    ASSERT_TRUE(message);
    orders.insert(Json::parse(message->data).at("data").at("order").get<std::string>());
  }
  // So many instances for so many orders: each order has started one.
  EXPECT_THAT(node(1).instances("workflow=taken-order"), SizeIs(kAll));

  const auto info = broker().api("STREAM.INFO.ORDERS", Json::object());
  ASSERT_TRUE(info);
  EXPECT_EQ(dump_json(info->at("config")), stream_before);
  EXPECT_EQ(info->at("state").at("messages"), kAll);
  std::vector<std::string> consumers;
  ASSERT_TRUE(eventually([&] {
    const auto names = broker().api("CONSUMER.NAMES.ORDERS", Json::object());
    if (names) consumers = names->at("consumers").get<std::vector<std::string>>();
    return consumers.size() == 1;
  })) << "that of the former active is replaced";
  EXPECT_THAT(consumers, ElementsAre(StartsWith("millrace-default-orders-")));

  ASSERT_NO_FATAL_FAILURE(start_former_active());
  EXPECT_EQ(source(0)["events"], kAll) << "a standby hands on to the active";
}

constexpr const char* kLongOrder = R"(
id: long-order
states:
- {id: pay, type: consumeEvent, event: {type: paid}, transition: pack}
- {id: pack, type: noop, transition: send}
- {id: send, type: consumeEvent, event: {type: sent}, transition: arrive}
- {id: arrive, type: consumeEvent, event: {type: arrived}}
)";

TEST_F(ClusterTakeover, ContinuesTheHistoryOfAnInstanceByTheNumbersOfItsRecords) {
  ASSERT_NO_FATAL_FAILURE(start_both());
  node(0).apply(kLongOrder);
  const std::string id = node(0).start_instance("long-order", Json::object());
  send(0, "paid", "order", 0, 1);
  ASSERT_TRUE(eventually([&] { return node(0).instance(id)["state"] == "send"; }));
  node(0).instance_once(id, "waiting");
  const std::vector<Json> before = history_by_number(0, id);
  EXPECT_EQ(history_by_number(1, id), before) << "a standby hands on to the active";

  ASSERT_NO_FATAL_FAILURE(take_over());
  EXPECT_EQ(history_by_number(1, id), before);
  send(1, "sent", "order", 0, 1);
  ASSERT_TRUE(eventually([&] { return node(1).instance(id)["state"] == "arrive"; }));
  ASSERT_NO_FATAL_FAILURE(start_former_active());
  send(0, "arrived", "order", 0, 1);
  node(1).instance_once(id, "complete");

  const std::vector<Json> after = history_by_number(1, id);
  ASSERT_GT(after.size(), before.size());
  EXPECT_EQ(std::vector<Json>(after.begin(), after.begin() + static_cast<long>(before.size())),
            before);
  for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i]["number"], i + 1) << after[i];
  EXPECT_EQ(history_by_number(0, id), after);
  EXPECT_EQ(node(1).history(id), after) << "in one page";
  // What is new, as a reader of the former active asks for it.
  const std::string rest = fmt::format("instances/{}/history?after={}", id, before.size());
  EXPECT_EQ(node(1).items(rest),
            std::vector<Json>(after.begin() + static_cast<long>(before.size()), after.end()));
}

/// Takes a payment that came before, and then waits for another one, for a moment.
constexpr const char* kSettledOrder = R"(
id: settled-order
start: {type: event, event: {type: ordered}}
states:
- id: wait
  type: consumeEvent
  event: {type: paid, context: {order: jq(.ordered.id)}, lookback: PT1H}
  transition: wait-again
- id: wait-again
  type: consumeEvent
  event: {type: paid, context: {order: jq(.ordered.id)}, lookback: PT1H}
  timeout: PT0.3S
  transition: twice
  catch: [{error: direktiv.stateTimeout, transition: once}]
- {id: twice, type: noop}
- {id: once, type: noop}
)";

/// Where the active dies: at a crash point (os/crash_point.h) in an instance that looks back, or
/// before it, if the parameter is "".
class ClusterLookback : public ClusterTakeover, public testing::WithParamInterface<const char*> {
 protected:
  /// Orders the order 0 at a node, which may die before it answers.
  void order(size_t at, const std::string& id) {
    const Json event = {{"specversion", "1.0"},
                        {"id", id},
                        {"source", "/test"},
                        {"type", "ordered"},
                        {"data", {{"id", "0"}}}};
    node(at).ask("POST", "events", event.dump(),
                 {{"Content-Type", "application/cloudevents+json"}});
  }
  /// The states that the instance entered, in their order.
  std::vector<std::string> entered_states(const std::string& id) {
    std::vector<std::string> states;
    for (const Json& record : history_by_number(1, id)) {
      if (record.at("kind") == "entered") states.push_back(record.at("state"));
    }
    return states;
  }
};

TEST_P(ClusterLookback, FindsAnEarlyEventOnceIfTheActiveDies) {
  const std::string crash = GetParam();
  if (!crash.empty()) set_environment({{"MILLRACE_CRASH", crash}});
  start(0, true);
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  set_environment({});
  ASSERT_NO_FATAL_FAILURE(start_ready(1));
  node(0).apply(kSettledOrder);
  send(0, "paid", "order", 0, 1);
  if (crash.empty()) {
    ASSERT_NO_FATAL_FAILURE(take_over());
    order(1, "first");
  } else {
    order(0, "first");
    EXPECT_EQ(node(0).end().code, 128 + SIGKILL) << "while the instance looks back";
    ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  }
  ASSERT_TRUE(node(1).has_instances("workflow=settled-order&status=complete", 1));
  // To another instance, the event is offered all the same.
  order(1, "second");
  ASSERT_TRUE(node(1).has_instances("workflow=settled-order&status=complete", 2));
  const std::vector<Json> all = node(1).instances("workflow=settled-order");
  ASSERT_THAT(all, SizeIs(2));
  for (const Json& one : all) {
    EXPECT_THAT(entered_states(one.at("id")), ElementsAre("wait", "wait-again", "once"));
  }
  EXPECT_TRUE(node(1).items("dlq").empty());
}

#ifdef MILLRACE_CRASH_POINTS
// The search is asked for and may have read something; its result is applied and not committed.
INSTANTIATE_TEST_SUITE_P(Where, ClusterLookback,
                         testing::Values("", "evaluation-asked:1", "result-applied:1"));
#else
INSTANTIATE_TEST_SUITE_P(Where, ClusterLookback, testing::Values(""));
#endif

struct LiveMessage {
  std::string id;
  std::string event;
  Json data;
};

/// Reads the live messages of a request.
class LiveReader {
 public:
  LiveReader(uint16_t port, const std::string& query, const Headers& headers = {}) : client_(port) {
    client_.send(request_text(port, "GET", "/v1/ns/default/stream?topics=" + query, headers, ""));
    EXPECT_TRUE(client_.read_reply(true));
  }

  /// The next message; nullopt: the stream has ended.
  std::optional<LiveMessage> next() {
    LiveMessage message;
    while (true) {
      const std::optional<std::string> line = next_line();
      if (!line) return std::nullopt;
      if (line->empty() && !message.event.empty()) return message;
      if (line->starts_with("id: ")) message.id = line->substr(4);
      if (line->starts_with("event: ")) message.event = line->substr(7);
      if (line->starts_with("data: ")) message.data = Json::parse(line->substr(6));
    }
  }
  /// The next message with that name; an empty one if the stream ends before.
  LiveMessage next_of(const std::string& event) {
    while (std::optional<LiveMessage> message = next()) {
      if (message->event == event) return *std::move(message);
    }
    return {};
  }

 private:
  std::optional<std::string> next_line() {
    std::string line;
    while (true) {
      const std::string byte = client_.read_bytes(1);
      if (byte.empty()) return std::nullopt;
      if (byte == "\n") return line;
      line += byte;
    }
  }

  RawClient client_;
};

TEST_F(ClusterTakeover, EndsLiveMessagesWithAResetBehindWhichTheyContinue) {
  ASSERT_NO_FATAL_FAILURE(start_both());
  node(0).apply(kLongOrder);
  const std::string id = node(0).start_instance("long-order", Json::object());
  node(0).instance_once(id, "waiting");
  const std::string topics = "instances,events,instance:" + id;
  LiveReader of_standby(node(1).checked_port(), topics);
  LiveMessage last = of_standby.next_of("history");
  ASSERT_EQ(last.data.at("items").at(0).at("number"), 1);
  const size_t known = last.data.at("items").size();
  EXPECT_THAT(history_by_number(1, id), SizeIs(known));

  node(0).kill();
  LiveMessage reset;
  while (std::optional<LiveMessage> message = of_standby.next()) reset = *std::move(message);
  EXPECT_EQ(reset.event, "reset");
  EXPECT_EQ(reset.data.value("why", ""), "stopping");
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();

  LiveReader of_active(node(1).checked_port(), topics, {{"Last-Event-ID", last.id}});
  EXPECT_EQ(of_active.next_of("reset").data.value("why", ""), "restart");
  send(1, "paid", "order", 0, 1);
  const LiveMessage history = of_active.next_of("history");
  EXPECT_EQ(history.data.at("items").at(0).at("number"), known + 1) << history.data;
}

#ifdef MILLRACE_FAULTS
/// Each event `asked` makes one call.
constexpr const char* kCalls = R"(
id: calls
start: {type: event, event: {type: asked}}
functions:
- {id: pay, type: knative-namespace, service: pay}
states:
- {id: pay, type: action, action: {function: pay}}
)";

/// Whether the process is suspended.
bool is_stopped(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(") ");
  return name_end != text.npos && text[name_end + 2] == 'T';
}

TEST_F(ClusterTakeover, MakesNoCallOfAFormerActiveThatWasSuspendedBetweenACommitAndItsEffects) {
  // At first the service answers nothing, so each commit of node 0 hands out calls.
  std::atomic<bool> answers = false;
  HttpPeer service([&answers](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    if (answers) return connection.answer(200, "1", {{"Content-Type", "application/json"}});
    connection.hang();
    return false;
  });
  ASSERT_NO_FATAL_FAILURE(start_both());
  node(0).apply(kCalls);
  node(0).ask("PUT", "/v1/ns/default",
              Json{{"services", {{"pay", {{"url", service.url("/pay")}}}}}}.dump());
  // Node 0 becomes the active again, and stops at one of its commits.
  node(0).stop();
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  set_environment({{"MILLRACE_CRASH", "log-appended:6:stop"}});
  ASSERT_NO_FATAL_FAILURE(start_ready(0));
  set_environment({});
  node(1).stop();
  ASSERT_TRUE(becomes_active(0)) << node(0).process().errors();
  ASSERT_NO_FATAL_FAILURE(start_ready(1));
  int asked = 0;
  const auto ask = [&] {
    const std::string event = fmt::format(
        R"({{"specversion":"1.0","id":"asked-{}","source":"/test","type":"asked"}})", ++asked);
    EXPECT_TRUE(broker().request("millrace.events.default.asked", event));
  };
  ASSERT_TRUE(eventually([&] {
    ask();
    return is_stopped(node(0).process().pid());
  }));

  answers = true;
  ASSERT_TRUE(becomes_active(1)) << node(1).process().errors();
  for (int i = 0; i < 3; ++i) ask();
  ASSERT_TRUE(node(1).has_instances("workflow=calls&status=complete", asked));
  node(0).process().signal(SIGCONT);
  ASSERT_TRUE(eventually([&] { return is_ready(0); })) << node(0).process().errors();
  ask();
  ASSERT_TRUE(node(1).has_instances("workflow=calls&status=complete", asked));
  uint64_t latest = 0;
  for (const HttpPeer::Request& call : service.requests(asked)) {
    const uint64_t epoch = std::stoull(call.header("Millrace-Epoch"));
    EXPECT_GE(epoch, latest) << "a call of an epoch that is over";
    latest = epoch;
  }
}
#endif

}  // namespace
}  // namespace millrace
