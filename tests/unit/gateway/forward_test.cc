// The gateway of a node of a cluster that is not the active: it hands requests on to the active,
// and answers only what concerns the node itself. Two real servers, or a peer in place of one.
#include "gateway/forward.h"

#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateway/http_server.h"
#include "gateway/stream_answer.h"
#include "tests/support/held_port.h"
#include "tests/support/process.h"
#include "tests/unit/gateway/fake_node_front.h"
#include "tests/unit/gateway/fake_node_store.h"
#include "tests/unit/gateway/fake_service.h"
#include "tests/unit/gateway/patient_limits.h"
#include "tests/unit/gateway/raw_client.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kOrderPath = "/v1/ns/default/workflows/order";
constexpr const char* kOrderWait = "/v1/ns/default/workflows/order/start?wait=1h";
constexpr const char* kLiveCounts = "/v1/ns/default/stream?topics=counts";

std::string local_url(uint16_t port) { return fmt::format("http://127.0.0.1:{}", port); }

std::shared_ptr<const std::string> live_bytes(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

class Forward : public testing::Test {
 protected:
  void SetUp() override {
    auto started = HttpServer::start({.listen = "127.0.0.1:0", .transport = patient_limits()},
                                     active_service_);
    ASSERT_TRUE(started) << started.error().message;
    active_ = *std::move(started);
    start_standby({});
    follow(local_url(active_->port()));
  }

  void start_standby(TransportLimits limits) {
    standby_.reset();
    limits.active_answer = kPatience;
    Result<Descriptor> address = HttpServer::bind("127.0.0.1:0", false);
    ASSERT_TRUE(address);
    NodeFront& front = front_;
    auto started = HttpServer::start({.listen = "127.0.0.1:0", .transport = patient_limits(limits)},
                                     *std::move(address), front);
    ASSERT_TRUE(started) << started.error().message;
    standby_ = *std::move(started);
  }

  /// The node is a standby that knows this active.
  void follow(std::string url) { front_.set({.active_url = std::move(url)}); }

  HttpReply ask(std::string_view method, std::string_view target, const Headers& headers = {},
                std::string_view body = "") {
    return request(standby_->port(), method, target, headers, body);
  }
  HttpReply ask_active(std::string_view method, std::string_view target) {
    return request(active_->port(), method, target);
  }
  /// Whether the metrics of the server have this line.
  static bool has_metric(const HttpServer& server, const std::string& line) {
    return request(server.port(), "GET", "/metrics").body.find("\n" + line + "\n") !=
           std::string::npos;
  }
  void put_order() { ASSERT_EQ(ask("PUT", kOrderPath, {}, "id: order\nstates: []\n").status, 200); }
  void send(RawClient& client, std::string_view method, std::string_view target) {
    client.send(request_text(standby_->port(), method, target, {}, ""));
  }

  FakeService active_service_;
  std::unique_ptr<HttpServer> active_;
  FakeService service_;  ///< of the standby, when it has become the active
  FakeNodeFront front_{"n2"};
  std::unique_ptr<HttpServer> standby_;
};

TEST_F(Forward, PassesRequestsToTheActiveAndItsAnswersBack) {
  put_order();
  EXPECT_TRUE(active_service_.has_workflow("order"));
  EXPECT_FALSE(service_.has_workflow("order"));
  for (const char* const target : {kOrderPath, "/v1/ns/default/instances?limit=3",
                                   "/v1/ns/nowhere/workflows", "/v1/ns/default/variables/none"}) {
    const HttpReply through = ask("GET", target);
    const HttpReply direct = ask_active("GET", target);
    EXPECT_EQ(through.status, direct.status) << target;
    EXPECT_EQ(through.body, direct.body) << target;
    EXPECT_EQ(through.headers.size(), direct.headers.size()) << target;
    EXPECT_EQ(through.header("Content-Type"), direct.header("Content-Type")) << target;
    EXPECT_EQ(through.header("Cache-Control"), direct.header("Cache-Control")) << target;
  }
  const HttpReply head = ask("HEAD", kOrderPath);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("Content-Length"), ask("GET", kOrderPath).header("Content-Length"));
  const HttpReply started = ask("POST", std::string(kOrderPath) + "/start", {}, "{}");
  EXPECT_EQ(started.status, 201);
  EXPECT_THAT(started.header("Location"), testing::StartsWith("/v1/ns/default/instances/"));
  EXPECT_EQ(ask("GET", "/nowhere").code(), "request.not_found");
  EXPECT_TRUE(has_metric(*standby_, "millrace_http_handed_on 0"));
}

TEST_F(Forward, HandsOnNoRequestForTheFilesOfACall) {
  const std::string files = "/v1/tasks/0190b5a4-7c1e-7f2a-8000-0123456789ab/files";
  for (const char* const target : {"", "/note"}) {
    const HttpReply refused = ask("GET", files + target);
    EXPECT_EQ(refused.status, 503) << target;
    EXPECT_EQ(refused.code(), "cluster.standby") << target;
  }
  RawClient client(standby_->port());
  client.send(
      fmt::format("PUT {}/out/instance/a HTTP/1.1\r\nHost: localhost\r\n"
                  "Content-Length: 1000\r\n\r\n",
                  files));
  const auto refused = client.read_reply();
  ASSERT_TRUE(refused) << "it does not wait for the body";
  EXPECT_EQ(refused->code(), "cluster.standby");
  EXPECT_TRUE(has_metric(*standby_, "millrace_http_handed_on_total 0"));
}

TEST_F(Forward, HandsOnTheHeadersOfTheCallerButThoseOfItsConnection) {
  HttpPeer peer([](const HttpPeer::Request&, HttpPeer::Connection& connection) {
    return connection.answer(202, "taken",
                             {{"X-Kind", "tea"},
                              {"Connection", "keep-alive, X-Hop"},
                              {"X-Hop", "1"},
                              {"Retry-After", "7"}});
  });
  follow(peer.url(""));
  const std::string host = fmt::format("localhost:{}", standby_->port());
  const HttpReply reply = ask("POST", "/v1/ns/default/events",
                              {{"Authorization", "Bearer secret"},
                               {"Content-Type", "application/json"},
                               {"ce-id", "1"},
                               {"Idempotency-Key", "k"},
                               {"Accept", "application/json"},
                               {"Origin", "http://" + host},
                               {"TE", "trailers"}},
                              "{}");
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.body, "taken");
  EXPECT_EQ(reply.header("X-Kind"), "tea");
  EXPECT_EQ(reply.header("X-Hop"), "");
  EXPECT_EQ(reply.header("Retry-After"), "7");

  const HttpPeer::Request got = peer.requests(1).front();
  EXPECT_EQ(got.method, "POST");
  EXPECT_EQ(got.target, "/v1/ns/default/events");
  EXPECT_EQ(got.body, "{}");
  const std::pair<const char*, std::string> rows[] = {
      {"Authorization", "Bearer secret"},
      {"Content-Type", "application/json"},
      {"ce-id", "1"},
      {"Idempotency-Key", "k"},
      {"Accept", "application/json"},
      {"Millrace-Forwarded", "n2"},
      {"Host", peer.url("").substr(std::string_view("http://").size())},
      {"Content-Length", "2"},
      {"Origin", ""},
      {"TE", ""},
      {"Connection", ""},
  };
  for (const auto& [name, value] : rows) EXPECT_EQ(got.header(name), value) << name;
}

TEST_F(Forward, AnswersAtOnceIfThereIsNoActiveThatAnswers) {
  const HeldPort closed;
  struct Case {
    const char* what;
    FakeNodeFront::State state;
    Headers headers;
    const char* code;
  };
  const Case cases[] = {
      {"no active is known", {}, {}, "cluster.no_active"},
      {"the active does not listen",
       {.active_url = local_url(closed.port())},
       {},
       "cluster.no_active"},
      {"another node has handed the request on",
       {.active_url = local_url(active_->port())},
       {{"Millrace-Forwarded", "n1"}},
       "cluster.no_active"},
      {"the lead of this node is not fresh", {.is_active = true}, {}, "log.unreachable"},
      {"this node loads its engine",
       {.is_active = true, .ready = fail("cluster.loading", "loads")},
       {},
       "cluster.loading"},
  };
  for (const Case& one : cases) {
    front_.set(one.state);
    const HttpReply reply = ask("GET", "/v1/ns", one.headers);
    EXPECT_EQ(reply.status, 503) << one.what;
    EXPECT_EQ(reply.code(), one.code) << one.what;
    EXPECT_EQ(reply.header("Retry-After"), "1") << one.what;
  }
}

TEST_F(Forward, SendsACommandOnceAndSaysThatItMayHaveHadItsEffect) {
  HttpPeer peer([](const HttpPeer::Request&, HttpPeer::Connection&) { return false; });
  follow(peer.url(""));
  for (size_t count = 1; count <= 2; ++count) {
    const HttpReply reply = ask("POST", std::string(kOrderPath) + "/start", {}, "{}");
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.code(), "cluster.no_answer");
    EXPECT_EQ(peer.requests(count).size(), count);
  }
}

TEST_F(Forward, CountsTheBytesOfAnAnswerInTheBudgetOfTheGateway) {
  constexpr size_t kMebibyte = size_t{1} << 20;
  HttpPeer peer([](const HttpPeer::Request& asked, HttpPeer::Connection& connection) {
    const bool is_large = asked.target.find("limit=2") != std::string::npos;
    return connection.answer(200, std::string((is_large ? 3 : 1) * kMebibyte, 'x'));
  });
  start_standby({.memory_bytes = 2 * kMebibyte});
  follow(peer.url(""));
  EXPECT_EQ(ask("GET", "/v1/ns?limit=1").body.size(), kMebibyte);
  const HttpReply refused = ask("GET", "/v1/ns?limit=2");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.code(), "busy");
  EXPECT_EQ(ask("GET", "/v1/ns?limit=1").body.size(), kMebibyte) << "the bytes are free again";
}

TEST_F(Forward, EndsAWaitAtTheActiveWhenTheCallerHangsUp) {
  put_order();
  {
    RawClient waiting(standby_->port());
    send(waiting, "POST", kOrderWait);
    active_service_.await_waiters(1);
    EXPECT_TRUE(has_metric(*active_, "millrace_http_waits 1"));
    EXPECT_TRUE(has_metric(*standby_, "millrace_http_handed_on 1"));
  }
  EXPECT_TRUE(eventually([&] { return has_metric(*active_, "millrace_http_waits 0"); }));
  EXPECT_TRUE(eventually([&] { return has_metric(*standby_, "millrace_http_handed_on 0"); }));
}

TEST_F(Forward, PassesTheEndOfAWaitBack) {
  put_order();
  RawClient waiting(standby_->port());
  send(waiting, "POST", kOrderWait);
  active_service_.await_waiters(1);
  active_service_.end_instances("completed");
  const auto reply = waiting.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->json().value("status", ""), "completed");
}

TEST_F(Forward, RefusesARequestForWhichThereIsNoPlace) {
  start_standby({.handed_on = 1});
  put_order();
  RawClient waiting(standby_->port());
  send(waiting, "POST", kOrderWait);
  active_service_.await_waiters(1);
  const HttpReply refused = ask("GET", "/v1/ns");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.code(), "busy");
  EXPECT_TRUE(has_metric(*standby_, "millrace_http_handed_on_refused_total 1"));
  EXPECT_TRUE(has_metric(*standby_, "millrace_http_handed_on_total 2"));
  active_service_.end_instances("completed");
  EXPECT_TRUE(waiting.read_reply());
  EXPECT_EQ(ask("GET", "/v1/ns").status, 200);
}

TEST_F(Forward, PassesAStreamOnMessageByMessage) {
  RawClient client(standby_->port());
  send(client, "GET", kLiveCounts);
  const auto sink = active_service_.await_watcher();
  const auto head = client.read_reply(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->header("Content-Type"), "text/event-stream");
  EXPECT_TRUE(sink->send(live_bytes("data: 1\n\ndata: ")));
  EXPECT_EQ(client.read_bytes(9), "data: 1\n\n");
  EXPECT_TRUE(sink->send(live_bytes("2\n\n")));
  EXPECT_EQ(client.read_bytes(9), "data: 2\n\n");
  sink->end(reset_message("deleted"));
  EXPECT_EQ(client.read_bytes(reset_message("deleted")->size()), *reset_message("deleted"));
  EXPECT_TRUE(client.is_closed());
}

TEST_F(Forward, EndsAStreamWithAResetIfTheProcessOfTheActiveIsKilled) {
  const std::string reset = *reset_message("stopping");
  const std::string restart = *reset_message("restart");
  for (const std::string& sent : {std::string(), restart, restart + live_message("a", "", "1")}) {
    RawClient client(standby_->port());
    send(client, "GET", kLiveCounts);
    const auto sink = active_service_.await_watcher();
    ASSERT_TRUE(client.read_reply(true));
    // The system closes the connections of a process that is killed.
    sink->end(live_bytes(sent));
    const std::string expected = sent + reset;
    EXPECT_EQ(client.read_bytes(expected.size()), expected);
    EXPECT_TRUE(client.is_closed());
  }
}

TEST_F(Forward, EndsAStreamAtTheActiveWhenTheCallerLeaves) {
  std::shared_ptr<LiveSink> sink;
  {
    RawClient client(standby_->port());
    send(client, "GET", kLiveCounts);
    sink = active_service_.await_watcher();
    EXPECT_TRUE(client.read_reply(true));
  }
  EXPECT_TRUE(eventually([&] { return !sink->is_open(); }));
}

TEST_F(Forward, EndsWhatAFormerActiveHasNotAnswered) {
  put_order();
  RawClient waiting(standby_->port());
  send(waiting, "POST", kOrderWait);
  active_service_.await_waiters(1);
  RawClient watching(standby_->port());
  send(watching, "GET", kLiveCounts);
  const auto sink = active_service_.await_watcher();
  EXPECT_TRUE(watching.read_reply(true));

  standby_->active_changed();
  EXPECT_TRUE(sink->send(live_bytes("data: 1\n\n"))) << "the active is the same";
  EXPECT_EQ(watching.read_bytes(9), "data: 1\n\n");

  follow("http://127.0.0.1:1");
  standby_->active_changed();
  const auto reply = waiting.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_EQ(reply->code(), "cluster.no_answer");
  EXPECT_EQ(watching.read_bytes(reset_message("stopping")->size()), *reset_message("stopping"));
  EXPECT_TRUE(watching.is_closed());
}

TEST_F(Forward, LetsTheServiceAnswerWhileTheFrontPermitsIt) {
  put_order();
  const FakeNodeFront::State serving{.may_serve = true, .is_active = true};
  front_.set(serving);
  EXPECT_EQ(ask("GET", kOrderPath).code(), "log.unreachable") << "there is no service yet";
  RawClient early(standby_->port());
  const std::string text = request_text(standby_->port(), "PUT", kOrderPath, {}, "id: order\n");
  early.send(std::string_view(text).substr(0, text.size() - 3));

  standby_->serve(service_);
  EXPECT_TRUE(eventually([&] { return ask("GET", "/v1/info").json()["version"] == "test"; }));
  EXPECT_EQ(ask("GET", kOrderPath).code(), "workflow.not_found");
  early.send(std::string_view(text).substr(text.size() - 3));
  const auto put = early.read_reply();
  ASSERT_TRUE(put);
  EXPECT_EQ(put->status, 200) << "its headers may have been read before the service came";
  EXPECT_TRUE(service_.has_workflow("order"));
  EXPECT_THAT(ask("GET", "/metrics").body, testing::StartsWith("millrace_events_total 3\n"));

  front_.set({.is_active = true});
  EXPECT_EQ(ask("GET", kOrderPath).code(), "log.unreachable");
  EXPECT_EQ(ask("GET", "/v1/info").json()["version"], "standby");
  follow(local_url(active_->port()));
  EXPECT_EQ(ask("GET", kOrderPath).body, ask_active("GET", kOrderPath).body);
}

TEST_F(Forward, AnswersWhatTheServiceHasNotAnsweredIfTheLogConfirmsNothing) {
  front_.set({.may_serve = true, .is_active = true});
  standby_->serve(service_);
  ASSERT_TRUE(eventually([&] { return ask("GET", "/v1/info").json()["version"] == "test"; }));
  ASSERT_EQ(ask("PUT", kOrderPath, {}, "id: order\n").status, 200);
  RawClient waiting(standby_->port());
  send(waiting, "POST", kOrderWait);
  service_.await_waiters(1);
  standby_->stop_waiting_for_log();
  const auto reply = waiting.read_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_EQ(reply->code(), "log.unreachable");
  EXPECT_EQ(ask("GET", kOrderPath).status, 200) << "requests that come later are served";
}

constexpr const char* kOneInstance =
    "/v1/ns/default/instances/0190b5a4-7c1e-7f2a-8000-0123456789ab";

TEST_F(Forward, AnswersAReadFromTheFolderOfTheNodeIfItMayBeStale) {
  FakeNodeStore store;
  const std::string stale = std::string(kOneInstance) + "?stale=1";
  for (const std::string& active : {local_url(active_->port()), std::string()}) {
    front_.set({.active_url = active, .store = &store});
    const HttpReply copy = ask("GET", stale);
    EXPECT_EQ(copy.status, 200) << copy.body;
    EXPECT_EQ(copy.json()["status"], "paused");
    EXPECT_EQ(copy.header("Millrace-Stale"), "2.345");
    EXPECT_EQ(copy.header("Millrace-Position"), "1204");
    const HttpReply missing = ask("GET", "/v1/ns/default/workflows/none?stale=true");
    EXPECT_EQ(missing.code(), "workflow.not_found");
    EXPECT_EQ(missing.header("Millrace-Stale"), "2.345") << "it may exist by now";
  }
  EXPECT_EQ(ask("GET", kOneInstance).code(), "cluster.no_active");
  EXPECT_EQ(ask("GET", std::string(kOneInstance) + "?stale=0").code(), "cluster.no_active");
  EXPECT_EQ(ask("GET", std::string(kOneInstance) + "?stale=maybe").code(), "request.parameter");
  store.failure = Error{"store.io", "a page cannot be read"};
  EXPECT_EQ(ask("GET", stale).code(), "store.io");
}

TEST_F(Forward, HandsAReadOnThatMayBeStaleIfTheNodeLacksRows) {
  const HttpReply reply = ask("GET", std::string(kOneInstance) + "?stale=1");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json()["status"], "waiting") << "the active answers";
  EXPECT_EQ(reply.header("Millrace-Stale"), "");
}

TEST_F(Forward, LetsTheServiceIgnoreThatAReadMayBeStale) {
  FakeNodeStore store;
  standby_->serve(service_);
  front_.set({.may_serve = true, .is_active = true, .store = &store});
  EXPECT_TRUE(eventually([&] { return ask("GET", "/v1/info").json()["version"] == "test"; }));
  for (const uint16_t port : {standby_->port(), active_->port()}) {
    const HttpReply reply = request(port, "GET", std::string(kOneInstance) + "?stale=1");
    EXPECT_EQ(reply.json()["status"], "waiting");
    EXPECT_EQ(reply.header("Millrace-Stale"), "");
    EXPECT_EQ(request(port, "GET", std::string(kOneInstance) + "?stale=x").code(),
              "request.parameter");
  }
}

TEST_F(Forward, RefusesThatWhatNeedsAnEngineIsStale) {
  FakeNodeStore store;
  front_.set({.active_url = local_url(active_->port()), .store = &store});
  for (const char* const path :
       {"/overview", "/find?q=a", "/events", "/dlq", "/functions", "/replays",
        "/stream?topics=counts", "/instances/0190b5a4-7c1e-7f2a-8000-0123456789ab/why"}) {
    const std::string target = std::string("/v1/ns/default") + path;
    const char mark = target.find('?') == std::string::npos ? '?' : '&';
    EXPECT_EQ(ask("GET", target + mark + "stale=1").code(), "request.unknown_parameter") << path;
  }
  EXPECT_EQ(ask("PUT", std::string(kOrderPath) + "?stale=1").code(), "request.unknown_parameter");
}

TEST_F(Forward, AnswersItselfWhatConcernsTheNode) {
  FakeNodeFront::State state{.active_url = local_url(active_->port()),
                             .cluster = {{"cluster", "shop"}, {"node", "n2"}}};
  front_.set(state);
  EXPECT_EQ(ask("GET", "/livez").status, 200);
  EXPECT_EQ(ask("GET", "/readyz").status, 200) << "a standby that knows an active";
  const HttpReply standby = ask("GET", "/activez");
  EXPECT_EQ(standby.status, 503);
  EXPECT_EQ(standby.code(), "cluster.standby");
  EXPECT_EQ(ask("GET", "/v1/info").json(), (Json{{"version", "standby"}}));
  EXPECT_EQ(ask("GET", "/v1/cluster").json(), state.cluster);
  EXPECT_EQ(ask("GET", "/v1/openapi.json").status, 200);
  const std::string metrics = ask("GET", "/metrics").body;
  EXPECT_THAT(metrics, testing::StartsWith("millrace_cluster_active 0\n"));
  EXPECT_THAT(metrics, HasSubstr("\nmillrace_http_handed_on_total 0\n"));
  EXPECT_THAT(metrics, Not(HasSubstr("millrace_events_total")));

  state.ready = fail("cluster.behind", "this node has not applied the whole log");
  front_.set(state);
  EXPECT_EQ(ask("GET", "/livez").status, 200);
  EXPECT_EQ(ask("GET", "/readyz").status, 503);
  EXPECT_EQ(ask("GET", "/readyz").code(), "cluster.behind");

  standby_->serve(service_);
  front_.set({.may_serve = true, .is_active = true});
  EXPECT_TRUE(eventually([&] { return ask("GET", "/activez").status == 200; }));
  EXPECT_EQ(ask("GET", "/activez").json(), (Json{{"status", "active"}}));
  service_.ready_status = fail("store.full", "the store is full");
  EXPECT_EQ(ask("GET", "/activez").code(), "store.full");
  EXPECT_EQ(ask("GET", "/readyz").code(), "store.full");
  service_.ready_status = {};
  front_.set({.is_active = true});
  EXPECT_EQ(ask("GET", "/activez").code(), "log.unreachable");
}

}  // namespace
}  // namespace millrace
