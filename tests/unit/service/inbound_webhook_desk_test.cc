// Requests for inbound webhooks: which are refused, and which event the others publish.
#include "orchestrator/service/inbound_webhook_desk.h"

#include <memory>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "cloudevents/nats_binding.h"
#include "orchestrator/signatures/hmac.h"
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class InboundWebhooksTest : public LocalServiceTest {
 protected:
  InboundWebhooksTest() {
    service->command(PutSecret{.ns = "default", .name = "key", .value = "secret"}, nothing());
    service->command(CreateNamespace{.name = "default", .settings = Json::parse(R"j({"hooks": {
          "git": {"verify": {"form": "github", "secrets": ["key"]},
                  "mapping": {"type": "git.jq(.headers[\"x-github-event\"])",
                              "attributes": {"tenant": "jq(.query.tenant)"}}},
          "slow": {"verify": {"form": "header", "header": "X-Token", "secrets": ["key"]},
                   "mapping": {"type": "jq(.data.kind | ascii_downcase)",
                               "data": "jq(.headers)"}},
          "chat": {"verify": {"form": "slack", "secrets": ["key"], "windowSeconds": 3600},
                   "mapping": {"type": "chat"}}}})j")},
                     nothing());
    world.run_until_idle();
  }

  static Service::Done nothing() {
    return [](const Result<Json>&) {};
  }

  /// A request for `git` with a valid signature.
  static InboundRequest push(const std::string& body = R"({"n": 1})") {
    return {.ns = "default",
            .name = "git",
            .headers = {{"X-GitHub-Event", "push"},
                        {"X-Hub-Signature-256", "sha256=" + to_hex(hmac_sha256("secret", {body}))}},
            .body = body,
            .peer = "192.0.2.1"};
  }
  InboundRequest chat(const std::string& body) const {
    const std::string stamp = std::to_string(
        std::chrono::duration_cast<seconds>(world.clock.now().time_since_epoch()).count());
    return {.ns = "default",
            .name = "chat",
            .headers = {{"X-Slack-Request-Timestamp", stamp},
                        {"X-Slack-Signature",
                         "v0=" + to_hex(hmac_sha256("secret", {"v0:", stamp, ":", body}))}},
            .body = body};
  }

  void send(const InboundRequest& request) {
    service->receive(request, [this](const Result<InboundAnswer>& answer) {
      answers.push_back(!answer                     ? answer.error().code
                        : answer->challenge.empty() ? "event " + answer->id
                                                    : "challenge " + answer->challenge);
    });
  }
  /// The event that was published last.
  Event event() const { return decode_nats(publisher.messages.back()).value(); }

  std::vector<std::string> answers;
};

TEST_F(InboundWebhooksTest, PublishTheEventOfASignedRequestAndAnswerWhenItIsDurable) {
  InboundRequest request = push();
  request.query = {{"tenant", "a"}};
  send(request);
  ASSERT_THAT(publisher.messages, SizeIs(1));
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_EQ(event().type, "git.push");
  EXPECT_EQ(event().source, "/v1/ns/default/hooks/git");
  EXPECT_EQ(attribute(event(), "tenant"), "a");
  EXPECT_EQ(payload(event()), (Json{{"n", 1}}));
  publisher.waiting[0](PublishAck{.sequence = 1});
  EXPECT_THAT(answers, ElementsAre("event " + event().id));
  EXPECT_THAT(metrics.text(), HasSubstr("millrace_inbound_webhooks_total{signature=\"valid\"} 1"));
}

TEST_F(InboundWebhooksTest, RefuseATimeStampWhileItsRequestMayBeForgotten) {
  const InboundRequest request = chat(R"({"n": 1})");
  world.clock.advance(defaults::kDedupeWindow / 2);
  send(request);
  ASSERT_THAT(publisher.messages, SizeIs(1));
  world.clock.advance(seconds(1));
  send(request);
  EXPECT_THAT(answers, ElementsAre("hooks.refused"));
}

TEST_F(InboundWebhooksTest, TakeNoEventFromHeadersThatTheSignatureDoesNotCover) {
  const Headers added = {{"ce-specversion", "1.0"},
                         {"Ce-Type", "order.placed"},
                         {"CE-Source", "/v1/ns/default/sources/orders"},
                         {"ce-id", "forged"}};
  InboundRequest request = push();
  request.headers.insert(request.headers.end(), added.begin(), added.end());
  send(request);
  ASSERT_THAT(publisher.messages, SizeIs(1));
  EXPECT_EQ(event().type, "git.push");
  EXPECT_NE(event().id, "forged");
  // With its secret in a header, the other service has sent the whole request.
  InboundRequest trusted{.ns = "default", .name = "slow", .headers = added, .body = "{}"};
  trusted.headers.emplace_back("X-Token", "secret");
  send(trusted);
  ASSERT_THAT(publisher.messages, SizeIs(2));
  EXPECT_EQ(event().type, "order.placed");
  EXPECT_EQ(event().id, "forged");
  // A structured event is signed with its body.
  send(push(R"({"specversion":"1.0","id":"e","source":"/s","type":"signed"})"));
  ASSERT_THAT(publisher.messages, SizeIs(3));
  EXPECT_EQ(event().type, "signed");
}

TEST_F(InboundWebhooksTest, AnswerARedeliveryAsTheFirstDelivery) {
  send(push());
  publisher.waiting[0](PublishAck{.sequence = 1});
  InboundRequest again = push();
  again.headers.emplace_back("X-GitHub-Delivery", "another");
  send(again);
  publisher.waiting[1](PublishAck{.sequence = 1, .duplicate = true});
  ASSERT_THAT(answers, SizeIs(2));
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_EQ(decode_nats(publisher.messages[0])->id, decode_nats(publisher.messages[1])->id);
}

TEST_F(InboundWebhooksTest, RefuseAllOthersInOneWay) {
  InboundRequest changed = push();
  changed.body += ' ';
  InboundRequest unsigned_one = push();
  unsigned_one.headers.clear();
  InboundRequest unknown = push();
  unknown.name = "gut";
  InboundRequest nowhere = push();
  nowhere.ns = "nowhere";
  for (const InboundRequest& request : {changed, unsigned_one, unknown, nowhere}) {
    service->receive(request, [&](const Result<InboundAnswer>& answer) {
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error(), (Error{"hooks.refused", "the request is not accepted"}));
      answers.push_back(answer.error().code);
    });
  }
  EXPECT_THAT(answers, SizeIs(4));
  EXPECT_THAT(publisher.messages, IsEmpty());
  EXPECT_THAT(metrics.text(),
              HasSubstr("millrace_inbound_webhooks_total{signature=\"refused\"} 4"));
}

TEST_F(InboundWebhooksTest, UseTheSecretAndTheSettingsOfNow) {
  service->command(PutSecret{.ns = "default", .name = "key", .value = "other"}, nothing());
  world.run_until_idle();
  send(push());
  EXPECT_THAT(answers, ElementsAre("hooks.refused"));
  service->command(PutSecret{.ns = "default", .name = "key", .value = "secret"}, nothing());
  world.run_until_idle();
  send(push());
  EXPECT_THAT(publisher.messages, SizeIs(1));
  service->command(CreateNamespace{.name = "default", .settings = Json::object()}, nothing());
  world.run_until_idle();
  send(push());
  EXPECT_THAT(answers, ElementsAre("hooks.refused", "hooks.refused"));
}

TEST_F(InboundWebhooksTest, NeedSettingsWhoseJqProgramsAreValid) {
  const auto answer_to = [&](const char* settings) {
    std::optional<Result<Json>> answer;
    service->command(CreateNamespace{.name = "default", .settings = Json::parse(settings)},
                     [&](const Result<Json>& one) { answer = one; });
    world.run_until_idle();
    return answer.value_or(fail("none", "no answer"));
  };
  constexpr const char* kNew = R"j({"hooks": {"git": {
      "verify": {"form": "github", "secrets": ["key"]}, "mapping": {"type": "jq(.a | nothing)"}}}})j";
  wrong = Error{"jq.syntax", "it is wrong"};
  const Result<Json> refused = answer_to(kNew);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "hooks.git.mapping.type: jq(.a | nothing): it is wrong");
  send(push());
  EXPECT_THAT(publisher.messages, SizeIs(1)) << "a refused request changes nothing";
  EXPECT_EQ(code_of(answer_to("{}")), "") << "nothing is to be checked";
  wrong.reset();
  EXPECT_EQ(code_of(answer_to(kNew)), "");
}

TEST_F(InboundWebhooksTest, CountWhatBecameOfTheRequestsOfEach) {
  InboundRequest unmapped = push();
  unmapped.query = {{"tenant", "a\nb"}};
  InboundRequest changed = push();
  changed.body += ' ';
  InboundRequest unknown = push();
  unknown.name = "gut";
  const std::string at = format_rfc3339(world.clock.now());
  send(push());
  publisher.waiting[0](PublishAck{.sequence = 1});
  send(push());
  publisher.waiting[1](PublishAck{.sequence = 1, .duplicate = true});
  send(push());
  publisher.waiting[2](fail("broker.timeout", "no answer"));
  send(unmapped);
  send(changed);
  send(unknown);
  const Json git = service->inbound_webhook("default", "git").value();
  const struct {
    const char* outcome;
    int number;
  } rows[] = {{"accepted", 1}, {"repeated", 1}, {"refused", 1}, {"unmapped", 1}, {"deferred", 1}};
  for (const auto& row : rows) {
    EXPECT_EQ(git[row.outcome], row.number) << row.outcome;
    EXPECT_THAT(metrics.text(),
                HasSubstr(fmt::format("millrace_inbound_webhook_requests_total{{namespace="
                                      "\"default\",outcome=\"{}\",webhook=\"git\"}} {}\n",
                                      row.outcome, row.number)));
  }
  EXPECT_EQ(git["lastAcceptedAt"], at);
  EXPECT_EQ(git["lastRefusal"]["code"], "hooks.refused");
  EXPECT_NE(git["lastRefusal"]["msg"], "the request is not accepted") << "it has the reason";
  EXPECT_EQ(git["lastError"]["code"], "mapping.invalid");
  EXPECT_EQ(git["settings"]["verify"]["form"], "github");

  const Json all = service->inbound_webhooks("default").value()["items"];
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0]["name"], "chat");
  EXPECT_EQ(all[0]["refused"], 0);
  EXPECT_FALSE(all[0].contains("lastRefusal"));
  EXPECT_EQ(code_of(service->inbound_webhook("default", "gut")), "hooks.not_found");
  EXPECT_EQ(code_of(service->inbound_webhooks("nowhere")), "namespace.not_found");
}

TEST_F(InboundWebhooksTest, AnswerARequestOfAPausedOneOnlyIfItsSignatureIsValid) {
  const auto pause = [&](bool paused) {
    service->command(PauseInboundWebhook{.ns = "default", .name = "git", .paused = paused},
                     nothing());
    world.run_until_idle();
  };
  InboundRequest changed = push();
  changed.body += ' ';
  pause(true);
  send(push());
  send(changed);
  EXPECT_THAT(answers, ElementsAre("hooks.paused", "hooks.refused"));
  EXPECT_THAT(publisher.messages, IsEmpty());
  const Json git = service->inbound_webhook("default", "git").value();
  EXPECT_EQ(git["paused"], true);
  EXPECT_EQ(git["deferred"], 1);
  pause(false);
  send(push());
  EXPECT_THAT(publisher.messages, SizeIs(1));
}

TEST_F(InboundWebhooksTest, ForgetTheCountsOfOneThatWasDeleted) {
  InboundRequest changed = push();
  changed.body += ' ';
  send(changed);
  EXPECT_EQ(service->inbound_webhook("default", "git").value()["refused"], 1);
  const Json settings = service->one_namespace("default").value()["settings"];
  service->command(DeleteInboundWebhook{.ns = "default", .name = "git"}, nothing());
  world.run_until_idle();
  EXPECT_EQ(code_of(service->inbound_webhook("default", "git")), "hooks.not_found");
  service->command(CreateNamespace{.name = "default", .settings = settings}, nothing());
  world.run_until_idle();
  EXPECT_EQ(service->inbound_webhook("default", "git").value()["refused"], 0);
}

TEST_F(InboundWebhooksTest, RemoveTheSeriesOfOneWithItsSettings) {
  const Json settings = service->one_namespace("default").value()["settings"];
  const auto shows_git = [&] {
    return metrics.text().find("webhook=\"git\"") != std::string::npos;
  };
  Json without_git = settings;
  without_git["hooks"].erase("git");
  for (const Command& removal :
       {Command(DeleteInboundWebhook{.ns = "default", .name = "git"}),
        Command(CreateNamespace{.name = "default", .settings = without_git}),
        Command(CreateNamespace{.name = "default", .settings = Json::object()})}) {
    service->command(CreateNamespace{.name = "default", .settings = settings}, nothing());
    world.run_until_idle();
    InboundRequest changed = push();
    changed.body += ' ';
    send(changed);
    EXPECT_TRUE(shows_git());
    service->command(DeleteInboundWebhook{.ns = "default", .name = "gut"}, nothing());
    world.run_until_idle();
    EXPECT_TRUE(shows_git()) << "the command was refused";
    service->command(removal, nothing());
    world.run_until_idle();
    EXPECT_FALSE(shows_git()) << removal.index();
  }
}

TEST_F(InboundWebhooksTest, RemoveTheSeriesOfADeletedNamespace) {
  service->command(CreateNamespace{.name = "shop"}, nothing());
  service->command(PutSecret{.ns = "shop", .name = "key", .value = "secret"}, nothing());
  const Json settings = service->one_namespace("default").value()["settings"];
  service->command(CreateNamespace{.name = "shop", .settings = settings}, nothing());
  world.run_until_idle();
  InboundRequest changed = push();
  changed.ns = "shop";
  changed.body += ' ';
  send(changed);
  EXPECT_THAT(metrics.text(), HasSubstr("namespace=\"shop\",outcome=\"refused\",webhook=\"git\""));
  service->command(DeleteNamespace{.name = "shop"}, nothing());
  world.run_until_idle();
  EXPECT_THAT(metrics.text(), Not(HasSubstr("webhook=\"git\"")));
}

TEST_F(InboundWebhooksTest, DoNotCountAnAnswerThatCameAfterTheDeletion) {
  send(push());
  service->command(DeleteInboundWebhook{.ns = "default", .name = "git"}, nothing());
  world.run_until_idle();
  publisher.waiting[0](PublishAck{.sequence = 1});
  EXPECT_THAT(answers, SizeIs(1)) << "it is answered";
  EXPECT_THAT(metrics.text(), Not(HasSubstr("webhook=\"git\"")));
}

TEST_F(InboundWebhooksTest, TryARequestWithoutAnEffect) {
  InboundWebhookDesk desk({.environment = world.environment(),
                           .clock = world.clock,
                           .metrics = metrics,
                           .evaluate = nullptr,
                           .publish = nullptr});
  const auto judge = [](std::string_view ns, const Event& event) -> Result<Json> {
    EXPECT_EQ(ns, "default");
    return Json{{"near", Json::array({Json{{"verdict", "started"}, {"workflow", event.type}},
                                      Json{{"verdict", "predicate"}, {"workflow", "other"}}})}};
  };
  const auto tried = [&](const InboundRequest& request) {
    const Result<Json> answer = desk.try_request(request, judge);
    return answer ? *answer : Json{{"refused", answer.error().code}};
  };
  InboundRequest request = push();
  const Json fits = tried(request);
  EXPECT_EQ(fits["name"], "git");
  EXPECT_EQ(fits["signature"], (Json{{"fits", true}}));
  EXPECT_EQ(fits["event"]["type"], "git.push");
  EXPECT_EQ(fits["event"]["source"], "/v1/ns/default/hooks/git");
  EXPECT_EQ(fits["event"]["data"], (Json{{"n", 1}}));
  EXPECT_EQ(fits["would"], Json::array({Json{{"verdict", "started"}, {"workflow", "git.push"}}}));
  request.body += ' ';
  const Json refused = tried(request);
  EXPECT_EQ(refused["signature"]["fits"], false);
  EXPECT_EQ(refused["signature"]["code"], "hooks.refused");
  EXPECT_NE(refused["signature"]["msg"], "the request is not accepted") << "it has the reason";
  EXPECT_EQ(refused["event"]["type"], "git.push") << "the event is shown all the same";
  request.query = {{"tenant", "a\nb"}};
  const Json unmapped = tried(request);
  EXPECT_EQ(unmapped["error"]["code"], "mapping.invalid");
  EXPECT_FALSE(unmapped.contains("event"));
  const Json challenge = tried(chat(R"({"type": "url_verification", "challenge": "abc"})"));
  EXPECT_EQ(challenge["challenge"], "abc");
  EXPECT_FALSE(challenge.contains("would"));
  InboundRequest form = push("a=1&a=2");
  form.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  EXPECT_EQ(tried(form)["event"]["data"], (Json{{"a", {"1", "2"}}}));
  form.body = "a=%";
  EXPECT_EQ(tried(form)["error"]["code"], "mapping.form");
  InboundRequest slow = push(R"({"kind": "PAID"})");
  slow.name = "slow";
  EXPECT_EQ(tried(slow)["error"]["code"], "jq.unavailable");
  request.name = "gut";
  EXPECT_EQ(tried(request)["refused"], "hooks.not_found");
  EXPECT_THAT(publisher.messages, IsEmpty());
  const Json git = desk.get("default", "git").value();
  for (const char* const outcome : {"accepted", "refused", "unmapped"}) {
    EXPECT_EQ(git[outcome], 0) << outcome;
  }
}

TEST_F(InboundWebhooksTest, PassAMappingToAJqWorkerWithoutTheSecret) {
  send({.ns = "default",
        .name = "slow",
        .headers = {{"X-Token", "secret"}, {"X-Kind", "a"}},
        .body = R"({"kind": "PAID"})"});
  ASSERT_THAT(evaluations, SizeIs(1));
  EXPECT_EQ(evaluations[0].queries[0].input->find("secret"), std::string::npos);
  evaluated[0]({LazyJson(Json("paid"))});
  ASSERT_THAT(publisher.messages, SizeIs(1));
  EXPECT_EQ(event().type, "paid");
  EXPECT_EQ(payload(event()), (Json{{"x-kind", "a"}}));
}

TEST_F(InboundWebhooksTest, AnswerWhatCameTooLateForTheService) {
  send({.ns = "default", .name = "slow", .headers = {{"X-Token", "secret"}}, .body = "{}"});
  ASSERT_THAT(evaluated, SizeIs(1));
  service.reset();
  evaluated[0]({LazyJson(Json("paid"))});
  EXPECT_THAT(answers, ElementsAre("stopping"));
  EXPECT_THAT(publisher.messages, IsEmpty());
}

TEST_F(InboundWebhooksTest, AnswerAnErrorOfTheMappingOrOfTheBroker) {
  InboundRequest request = push();
  request.query = {{"tenant", "a\nb"}};
  send(request);
  send(push());
  publisher.waiting[0](fail("broker.timeout", "no answer"));
  EXPECT_THAT(answers, ElementsAre("mapping.invalid", "broker.timeout"));
}

TEST_F(InboundWebhooksTest, MapTheFieldsOfAFormWhoseSignatureIsOverItsBytes) {
  const auto form = [&](const std::string& body) {
    InboundRequest request = chat(body);
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    return request;
  };
  send(form("command=%2Fweather&text=94070+now"));
  ASSERT_THAT(publisher.messages, SizeIs(1));
  EXPECT_EQ(payload(event()), (Json{{"command", "/weather"}, {"text", "94070 now"}}));
  InboundRequest changed = form("command=%2Fweather&text=94070+now");
  changed.body = "command=%2fweather&text=94070+now";  // the same fields, and other bytes
  send(changed);
  send(form("text=100%"));
  EXPECT_THAT(answers, ElementsAre("hooks.refused", "mapping.form"));
  EXPECT_THAT(publisher.messages, SizeIs(1));
  const Json counted = service->inbound_webhook("default", "chat").value();
  EXPECT_EQ(counted["unmapped"], 1);
  EXPECT_THAT(counted["lastError"]["msg"].get<std::string>(), HasSubstr("field 1 has a `%`"));
}

TEST_F(InboundWebhooksTest, LeaveACloudEventAsItIs) {
  InboundRequest request =
      push(R"({"specversion": "1.0", "id": "7", "source": "/s", "type": "t", "data": 1})");
  request.headers.emplace_back("Content-Type", "application/cloudevents+json");
  send(request);
  ASSERT_THAT(publisher.messages, SizeIs(1));
  EXPECT_EQ(event().id, "7");
  EXPECT_EQ(event().type, "t");
  InboundRequest broken = push("{}");
  broken.headers.emplace_back("Content-Type", "application/cloudevents+json");
  send(broken);
  EXPECT_THAT(answers, ElementsAre("event.missing_attribute"));
}

TEST_F(InboundWebhooksTest, AnswerAChallengeThatIsSigned) {
  const std::string body = R"({"type": "url_verification", "challenge": "abc"})";
  send(chat(body));
  InboundRequest forged = chat(body);
  forged.headers[1].second.back() ^= 1;
  send(forged);
  EXPECT_THAT(answers, ElementsAre("challenge abc", "hooks.refused"));
  EXPECT_THAT(publisher.messages, IsEmpty());
}

TEST(InboundRefusals, AreLoggedOnceAMinuteWithTheirNumber) {
  InboundRefusals refusals;
  const InboundRequest request{.ns = "shop", .name = "git", .peer = "192.0.2.1"};
  EXPECT_EQ(refusals.note(request, "the signature is wrong", seconds(0)),
            "1 requests for inbound webhooks were refused since the last such line; the latest, "
            "for `hooks.git` of namespace \"shop\" from 192.0.2.1: the signature is wrong");
  for (int i = 1; i < 60; ++i) EXPECT_FALSE(refusals.note(request, "a", seconds(i)));
  EXPECT_THAT(refusals.note(request, "b", seconds(60)).value_or(""), HasSubstr("60 requests"));
}

}  // namespace
}  // namespace millrace
