// Functions on a real server and broker: workers in Node, services over HTTP and NATS.
#include <atomic>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"
#include "tests/support/raw_nats_client.h"
#include "tests/unit/http/http_peer.h"

namespace millrace {
namespace {

using std::chrono::seconds;

class Functions : public MillraceTest {
 protected:
  /// Starts a worker. The nth mode says what the worker does with the nth task (worker.mjs).
  void work(std::vector<std::string> modes, std::string_view service = "charge") {
    std::vector<std::string> command = {"node", "tests/integration/worker.mjs",
                                        fmt::format("127.0.0.1:{}", nats_.port()),
                                        fmt::format("millrace.tasks.default.{}", service)};
    command.insert(command.end(), modes.begin(), modes.end());
    workers_.push_back(std::make_unique<Process>(ProcessSettings{.command = command}));
  }

  /// Starts an instance of a workflow with one action. The arguments are more keys of the action
  /// and of the function.
  std::string start(std::string_view action = "", std::string_view function = "") {
    millrace_.apply(fmt::format(R"(
id: order
functions:
- {{id: charge, type: knative-namespace, service: charge{}}}
states:
- id: pay
  type: action
  action: {{function: charge{}}}
)",
                                function, action));
    return millrace_.start_instance("order", {{"amount", 7}});
  }

  std::vector<std::string> kinds(const std::string& id) {
    std::vector<std::string> found;
    for (const Json& record : millrace_.history(id)) found.push_back(record["kind"]);
    return found;
  }

  /// Expects that a worker has answered an attempt after the first. On a busy machine further
  /// attempts may take longer than their timeout, too.
  void expect_another_attempt(const std::string& id) {
    const Json result = millrace_.instance_once(id, "complete")["output"]["return"];
    ASSERT_TRUE(result.is_object()) << result;
    EXPECT_GE(result["attempt"], 2);
  }

  /// Waits for that line in the metrics.
  bool shows_metric(const std::string& line) {
    return eventually([&] {
      return millrace_.ask("GET", "/metrics").body.find("\n" + line + "\n") != std::string::npos;
    });
  }

  std::vector<std::unique_ptr<Process>> workers_;
};

TEST_F(Functions, ReturnTheResultOfAWorker) {
  work({"answer"});
  const Json ended = millrace_.instance_once(start(), "complete");
  EXPECT_EQ(ended["output"]["return"], (Json{{"attempt", 1}}));
}

TEST_F(Functions, RunAsLongAsHeartbeatsComeAndAreRetriedAfterAMissedHeartbeat) {
  const std::vector<std::string> wanted = {"started",  "entered", "called",   "timedout",
                                           "retrying", "called",  "returned", "ended"};
  Json ended;
  std::vector<std::string> seen;
  for (const char* const timeout : {"1s", "5s", "25s"}) {  // longer on a slow machine
    workers_.clear();
    work({"silent", "heartbeat"});
    const std::string id =
        start(fmt::format(", startToCloseTimeout: 10m, heartbeatTimeout: {}, "
                          "retries: {{initialInterval: 100ms, maximumAttempts: 3}}",
                          timeout));
    ASSERT_TRUE(eventually([&] {
      ended = millrace_.instance(id);
      return ended["status"] == "complete" || ended["status"] == "failed";
    }));
    seen = kinds(id);
    if (seen == wanted) break;
  }
  EXPECT_EQ(seen, wanted);
  EXPECT_EQ(ended["output"]["return"], "steady") << ended;
}

TEST_F(Functions, AreRetriedByAnotherWorkerAfterAWorkerDies) {
  work({"die"});
  const std::string id = start(", startToCloseTimeout: 1s, retries: {initialInterval: 100ms}");
  workers_[0]->wait();
  work({"answer"});
  expect_another_attempt(id);
}

TEST_F(Functions, CountAsStartedWhenAWorkerHasTheTaskEvenWithoutAHeartbeat) {
  work({"mute", "answer"});
  expect_another_attempt(start(", startToCloseTimeout: 1s, retries: {initialInterval: 100ms}"));
}

TEST_F(Functions, IgnoreResultsThatLookLikeAStatusMessageOfTheBroker) {
  const auto forge = [&, client = nats_.client()] {
    for (const char* const status : {"503", "404 No Messages", "409 Consumer Deleted"}) {
      client->publish_with_status("millrace.results.default.forged", status, "", "");
    }
    client->flush();
  };
  forge();
  work({"answer", "answer"});
  EXPECT_EQ(millrace_.instance_once(start(), "complete")["output"]["return"],
            (Json{{"attempt", 1}}));
  millrace_.stop();
  forge();
  millrace_.start_ready();
  const std::string id = millrace_.start_instance("order", Json::object());
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], (Json{{"attempt", 1}}));
  EXPECT_TRUE(eventually([&] { return millrace_.ask("GET", "/readyz").status == 200; }));
}

TEST_F(Functions, MakeReadyzReportThatTasksCannotBeSent) {
  millrace_.stop();
  const std::unique_ptr<RawNatsClient> client = nats_.client();
  client->api("STREAM.DELETE.MILLRACE_TASKS");
  client->api("STREAM.CREATE.MILLRACE_TASKS",
              {{"name", "MILLRACE_TASKS"}, {"subjects", {"millrace.tasks.>"}}});
  millrace_.start();
  EXPECT_TRUE(eventually([&] {
    const HttpReply ready = millrace_.ask("GET", "/readyz");
    return ready.status == 503 && ready.body.find("MILLRACE_TASKS") != std::string::npos;
  }));
  EXPECT_TRUE(shows_metric("millrace_runs_tasks 0"));
  client->api("STREAM.DELETE.MILLRACE_TASKS");
  EXPECT_TRUE(eventually([&] { return millrace_.ask("GET", "/readyz").status == 200; }));
  EXPECT_TRUE(shows_metric("millrace_runs_tasks 1"));
}

TEST_F(Functions, AreCalledAgainAfterTheirConsumerWasDeletedWhichIsLogged) {
  const std::string id = start();
  const std::unique_ptr<RawNatsClient> client = nats_.client();
  EXPECT_TRUE(eventually([&] {
    return client->api("CONSUMER.DELETE.MILLRACE_TASKS.default+charge").value("success", false);
  }));
  EXPECT_TRUE(millrace_.process().error_line(
      "the consumer of millrace.tasks.default.charge was deleted, so that workers got no tasks"));
  EXPECT_TRUE(shows_metric("millrace_task_consumers_created_again_total 1"));
  work({"answer"});
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], (Json{{"attempt", 1}}));
}

TEST_F(Functions, ReturnTheFirstOfTwoResults) {
  work({"twice"});
  EXPECT_EQ(millrace_.instance_once(start(), "complete")["output"]["return"], "first");
}

TEST_F(Functions, IgnoreALateResult) {
  constexpr int kMostRuns = 5;
  Json result = "late";
  // On a busy machine millrace may notice the start so late that the result is not late.
  for (int runs = 0; runs < kMostRuns && result == "late"; ++runs) {
    workers_.clear();
    work({"late", "answer"});
    const std::string id = start(", startToCloseTimeout: 1s, retries: {initialInterval: 3s}");
    result = millrace_.instance_once(id, "complete")["output"]["return"];
  }
  ASSERT_TRUE(result.is_object()) << result;
  EXPECT_GE(result["attempt"], 2);
}

TEST_F(Functions, StartAnotherAttemptWhenTheResultOfAWorkerExceedsMaxPayload) {
  work({"large", "oversized"});
  EXPECT_EQ(
      millrace_.instance_once(start(), "complete")["output"]["return"].get<std::string>().size(),
      900'000u);
  const std::string next = start(", startToCloseTimeout: 1s, retries: {initialInterval: 100ms}");
  EXPECT_TRUE(workers_[0]->wait()) << "the broker has closed the connection";
  work({"answer"});
  expect_another_attempt(next);
}

TEST_F(Functions, ReturnAResultAsBase64IfItIsNotJson) {
  work({"garbage"});
  EXPECT_EQ(millrace_.instance_once(start(), "complete")["output"]["return"], "w7/Dvns=");
}

TEST_F(Functions, FailWithTheErrorOfTheWorkerOrAMillraceErrorIfItsCodeIsInvalid) {
  work({"error", "nonsense"});
  const Json declined = millrace_.instance_once(start(), "failed");
  EXPECT_EQ(declined["error"], (Json{{"code", "card.declined"}, {"msg", "as requested"}}));
  const Json nonsense =
      millrace_.instance_once(millrace_.start_instance("order", Json::object()), "failed");
  EXPECT_EQ(nonsense["error"]["code"].get<std::string>().rfind("millrace.function.", 0), 0u);
}

TEST_F(Functions, TimeOutWithoutAWorker) {
  const std::string id = start(", scheduleToStartTimeout: 1s, startToCloseTimeout: 1m");
  EXPECT_EQ(millrace_.instance_once(id, "failed")["error"]["code"],
            "millrace.timeout.scheduleToStart");
}

TEST_F(Functions, AcceptAResultThatArrivesWhileMillraceIsDown) {
  RawNatsClient listener(nats_.port());
  listener.subscribe("$JS.ACK.MILLRACE_TASKS.>");
  listener.subscribe("millrace.results.>");
  work({"late"});
  const std::string id = start();
  ASSERT_TRUE(listener.next(kPatience)) << "the first heartbeat";
  millrace_.kill();
  const auto result = listener.next(kPatience);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->subject, testing::StartsWith("millrace.results."));
  millrace_.start_ready();
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], "late");
}

TEST_F(Functions, CallANatsServiceByARequest) {
  millrace_.ask("PUT", "/v1/ns/default", R"({"services": {"charge": {"request": "shop.charge"}}})");
  RawNatsClient service(nats_.port());
  service.subscribe("shop.charge");
  const std::string id = start();
  const auto request = service.next();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->data, R"({"amount":7})");
  service.publish(request->reply, R"({"paid":true})");
  service.flush();
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], (Json{{"paid", true}}));
}

// HTTP.

class HttpFunctions : public Functions {
 protected:
  /// Starts a service. The nth handler answers the nth request; the last handler answers all later
  /// requests.
  std::unique_ptr<HttpPeer> serve(std::vector<HttpPeer::Handler> handlers) {
    auto peer = std::make_unique<HttpPeer>(
        [this, handlers = std::move(handlers)](const HttpPeer::Request& request,
                                               HttpPeer::Connection& connection) {
          if (request.method != "POST") return connection.answer(200);
          return handlers[std::min(requests_++, handlers.size() - 1)](request, connection);
        });
    const Json settings = {{"services", {{"charge", {{"url", peer->url("/pay")}}}}}};
    EXPECT_EQ(millrace_.ask("PUT", "/v1/ns/default", settings.dump()).status, 200);
    return peer;
  }

  static HttpPeer::Handler answering(int status, std::string body, Headers headers = {}) {
    return [=](const HttpPeer::Request&, HttpPeer::Connection& connection) {
      return connection.answer(status, body, headers);
    };
  }
  static bool hang(const HttpPeer::Request&, HttpPeer::Connection& connection) {
    connection.hang();
    return false;
  }
  static bool close_early(const HttpPeer::Request&, HttpPeer::Connection& connection) {
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
    return false;
  }

  std::atomic<size_t> requests_ = 0;
};

TEST_F(HttpFunctions, SendTheInputAndReturnTheResponse) {
  const auto peer = serve({answering(200, R"({"paid":true})")});
  const std::string id = start();
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], (Json{{"paid", true}}));
  const HttpPeer::Request request = peer->requests(1)[0];
  EXPECT_EQ(request.target, "/pay");
  EXPECT_EQ(request.body, R"({"amount":7})");
  EXPECT_EQ(request.header("Direktiv-InstanceID"), id);
  EXPECT_EQ(request.header("Direktiv-Step"), "pay");
}

TEST_F(HttpFunctions, AreRetriedAfterAnErrorStatusAClosedConnectionAndATimeout) {
  const auto peer = serve({answering(500, "oops"), close_early, hang, answering(200, "1")});
  const std::vector<std::string> wanted = {
      "millrace.function.status", "millrace.function.unavailable", "millrace.timeout.startToClose"};
  std::vector<std::string> codes;
  for (const char* const timeout : {"1s", "5s", "25s"}) {  // longer on a slow machine
    requests_ = 0;
    const std::string id = start(fmt::format(
        ", startToCloseTimeout: {}, retries: {{initialInterval: 50ms, backoffCoefficient: 1.0}}",
        timeout));
    EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], 1);
    codes.clear();
    for (const Json& record : millrace_.history(id)) {
      if (record.contains("detail") && record["detail"].contains("code")) {
        codes.push_back(record["detail"]["code"]);
      }
    }
    if (codes == wanted) break;
  }
  EXPECT_EQ(codes, wanted);
  // After the timeout, millrace cancels the request that hung.
  EXPECT_TRUE(eventually([&] {
    const auto requests = peer->requests(0);
    return std::any_of(requests.begin(), requests.end(),
                       [](const auto& request) { return request.method == "DELETE"; });
  }));
}

TEST_F(HttpFunctions, FailWithTheErrorThatTheHeadersNameEvenOnStatus200) {
  const auto peer = serve({answering(
      200, "{}",
      {{"Direktiv-ErrorCode", "card.declined"}, {"Direktiv-ErrorMessage", "no money"}})});
  EXPECT_EQ(millrace_.instance_once(start(), "failed")["error"],
            (Json{{"code", "card.declined"}, {"msg", "no money"}}));
}

TEST_F(HttpFunctions, FailWhenTheResponseIsTooLarge) {
  const auto peer = serve({answering(200, std::string(size_t{5} << 20, 'x'))});
  EXPECT_EQ(millrace_.instance_once(start(), "failed")["error"]["code"],
            "millrace.function.tooLarge");
}

TEST_F(HttpFunctions, RepeatARequestUnderTheSameActionIdAfterACrashOfMillrace) {
  const auto peer = serve({hang, answering(200, "1")});
  const std::string id = start();
  const std::string first = peer->requests(1)[0].header("Direktiv-ActionID");
  millrace_.kill();
  millrace_.start_ready();
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], 1);
  EXPECT_EQ(peer->requests(2)[1].header("Direktiv-ActionID"), first);
}

/// The path of the callbacks of the task that the nth request has brought.
std::string callback_of(const std::unique_ptr<HttpPeer>& peer, size_t nth = 1) {
  const std::string url = peer->requests(nth)[nth - 1].header("Millrace-Callback");
  return url.substr(std::min(url.find("/v1/"), url.size()));
}

TEST_F(HttpFunctions, AreAnsweredOnceByACallback) {
  const auto peer = serve({answering(202, "", {{"Millrace-Answer", "accepted"}})});
  const std::string id = start();
  const std::string callback = callback_of(peer);
  EXPECT_EQ(millrace_.ask("GET", callback + "/complete").status, 405);
  EXPECT_EQ(millrace_.ask("POST", callback + "/heartbeat").status, 200);
  EXPECT_EQ(millrace_.ask("POST", callback + "0/complete", "1").code(), "callback.refused");
  EXPECT_EQ(millrace_.ask("POST", callback + "/complete", R"({"paid":true})").status, 200);
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], (Json{{"paid", true}}));
  millrace_.kill();
  millrace_.start_ready();
  EXPECT_EQ(millrace_.ask("POST", callback + "/complete", R"({"paid":true})").status, 200)
      << "it repeats the answer";
  for (const char* const verb : {"/complete", "/heartbeat"}) {
    EXPECT_EQ(millrace_.ask("POST", callback + verb).code(), "callback.ended") << verb;
  }
}

TEST_F(HttpFunctions, FailByACallbackAndAreRetriedWithAnotherKey) {
  const auto peer = serve({answering(200, "", {{"Millrace-Answer", "accepted"}})});
  const std::string id = start(", retries: {initialInterval: 50ms, maximumAttempts: 2}");
  const std::string first = callback_of(peer);
  EXPECT_EQ(millrace_.ask("POST", first + "/fail", R"({"code": "card.busy"})").status, 200);
  const std::string second = callback_of(peer, 2);
  EXPECT_EQ(millrace_.ask("POST", first + "/complete", "1").code(), "callback.ended");
  EXPECT_EQ(millrace_.ask("POST", second + "/complete", "2").status, 200);
  EXPECT_EQ(millrace_.instance_once(id, "complete")["output"]["return"], 2);
}

TEST_F(HttpFunctions, CauseLifecycleEventsThatAWebhookGetsAfterItsHandshake) {
  HttpPeer webhook(take_as_webhook);
  const Json settings = {
      {"webhooks", {{{"url", webhook.url("/hook")}, {"types", {"millrace.instance.*"}}}}}};
  EXPECT_EQ(millrace_.ask("PUT", "/v1/ns/default", settings.dump()).status, 200);
  work({"answer"});
  millrace_.instance_once(start(), "complete");
  const auto requests = webhook.requests(3);
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].method, "OPTIONS");
  // Deliveries that waited for the handshake are sent at once, over connections of their own.
  EXPECT_THAT(
      (std::vector{requests[1].header("ce-type"), requests[2].header("ce-type")}),
      testing::UnorderedElementsAre("millrace.instance.started", "millrace.instance.completed"));
}

TEST_F(HttpFunctions, AreCalledWhileServicesOfAnotherNamespaceDoNotAnswer) {
  HttpPeer silent(hang);
  ASSERT_LT(millrace_.ask("PUT", "/v1/ns/greedy").status, 300);
  const Json settings = {{"services", {{"charge", {{"url", silent.url("/pay")}}}}}};
  ASSERT_EQ(millrace_.ask("PUT", "/v1/ns/greedy", settings.dump()).status, 200);
  millrace_.apply(R"(
id: greedy
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: all
  type: foreach
  array: jq([range(100)])
  concurrency: 100
  action: {function: charge}
)",
                  "greedy");
  ASSERT_LT(millrace_.ask("POST", "/v1/ns/greedy/workflows/greedy/start", "{}").status, 300);
  // A namespace that is alone has half of the connections to one host.
  EXPECT_EQ(silent.requests(32).size(), 32U);
  const auto peer = serve({answering(200, "1")});
  EXPECT_EQ(millrace_.instance_once(start(), "complete")["output"]["return"], 1);
  EXPECT_EQ(silent.requests(0).size(), 32U);
}

TEST_F(HttpFunctions, HaveURLsThatAreShownWithoutTheirPasswords) {
  const Json settings = {{"services", {{"charge", {{"url", "http://ann:secret@pay/x?key=k"}}}}}};
  ASSERT_EQ(millrace_.ask("PUT", "/v1/ns/default", settings.dump()).status, 200);
  const HttpReply shown = millrace_.ask("GET", "/v1/ns");
  EXPECT_THAT(shown.body, testing::HasSubstr("http://***@pay/x?***"));
  EXPECT_THAT(shown.body, testing::Not(testing::HasSubstr("secret")));
  const Json sent_back = {{"services", {{"charge", {{"url", "http://***@pay/x?***"}}}}}};
  EXPECT_EQ(millrace_.ask("PUT", "/v1/ns/default", sent_back.dump()).status, 200);
  for (const char* const bad : {"http://", "http://***@other/x"}) {
    const Json wrong = {{"services", {{"charge", {{"url", bad}}}}}};
    EXPECT_EQ(millrace_.ask("PUT", "/v1/ns/default", wrong.dump()).status, 422) << bad;
  }
}

TEST_F(HttpFunctions, MayAnswerWithTheirCredentialsWhichAreMasked) {
  const auto peer = serve({[](const HttpPeer::Request& request, HttpPeer::Connection& connection) {
    return connection.answer(500, "got Authorization: " + request.header("Authorization"));
  }});
  std::string url = peer->url("/pay");
  url.insert(url.find("//") + 2, "ann:hunter22@");
  const Json settings = {{"services", {{"charge", {{"url", url}}}}}};
  ASSERT_EQ(millrace_.ask("PUT", "/v1/ns/default", settings.dump()).status, 200);
  const std::string id = start();
  const Json failed = millrace_.instance_once(id, "failed");
  EXPECT_THAT(failed["error"]["msg"].get<std::string>(),
              testing::HasSubstr("got Authorization: Basic ***"));
  const std::string instance = "/v1/ns/default/instances/" + id;
  for (const std::string& path :
       {instance, instance + "/history", instance + "/scenario",
        std::string("/v1/ns/default/instances"), std::string("/v1/ns/default/functions")}) {
    const HttpReply shown = millrace_.ask("GET", path);
    EXPECT_THAT(shown.body, testing::Not(testing::HasSubstr("YW5uOmh1bnRlcjIy"))) << path;
    EXPECT_THAT(shown.body, testing::Not(testing::HasSubstr("hunter22"))) << path;
  }
}

TEST_F(Functions, AreRefusedOnSubjectsOfTheBroker) {
  for (const char* const subject :
       {"$JS.API.STREAM.PURGE.MILLRACE_DLQ", "_INBOX.a", "millrace.events.default.x"}) {
    const Json settings = {{"services", {{"charge", {{"request", subject}}}}}};
    const HttpReply refused = millrace_.ask("PUT", "/v1/ns/default", settings.dump());
    EXPECT_EQ(refused.status, 422) << subject;
    EXPECT_THAT(refused.body, testing::HasSubstr("settings.invalid"));
  }
}

TEST_F(Functions, FailAsUnavailableIfNoServiceSubscribesToTheirSubject) {
  millrace_.ask("PUT", "/v1/ns/default", R"({"services": {"charge": {"request": "nobody"}}})");
  EXPECT_EQ(millrace_.instance_once(start(), "failed")["error"]["code"],
            "millrace.function.unavailable");
}

}  // namespace
}  // namespace millrace
