// POST /v1/ns/{ns}/callbacks/{callback}/…: what the service gets, and how its answers are shown.
#include <variant>

#include <gmock/gmock.h>

#include "tests/unit/gateway/api_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kCallback = "/v1/ns/default/callbacks/k.1";

class CallbackRoutes : public ApiTest {
 protected:
  HttpReply post(const std::string& verb, const std::string& body) {
    return call("POST", std::string(kCallback) + verb, {}, body);
  }
};

TEST_F(CallbackRoutes, PassTheBytesOfAResult) {
  const std::string body("{ \"a\" : 1 }\n\0\xff", 14);
  const HttpReply reply = post("/complete", body);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json(), (Json{{"accepted", true}}));
  ASSERT_EQ(post("/complete", "").status, 200) << "a result may be empty";
  const auto callbacks = service_.callbacks();
  ASSERT_THAT(callbacks, SizeIs(2));
  EXPECT_EQ(callbacks[0].ns, "default");
  EXPECT_EQ(callbacks[0].key, "k.1");
  EXPECT_EQ(std::get<TaskEnded>(callbacks[0].what).result.value(), body);
  EXPECT_EQ(std::get<TaskEnded>(callbacks[1].what).result.value(), "");
}

TEST_F(CallbackRoutes, RefuseAResultThatIsNotJsonAlthoughItsTypeIs) {
  const std::string complete = std::string(kCallback) + "/complete";
  const Headers json = {{"Content-Type", "application/json; charset=utf-8"}};
  for (const char* const wrong : {"{\"approved\": true", "{approved: true}", "yes", "[1,]"}) {
    const HttpReply reply = call("POST", complete, json, wrong);
    EXPECT_EQ(reply.status, 400) << wrong;
    EXPECT_EQ(reply.code(), "json.malformed") << wrong;
    EXPECT_THAT(reply.body, testing::HasSubstr("so the task was not answered")) << wrong;
  }
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_EQ(call("POST", complete, json, deep).code(), "json.depth");
  EXPECT_THAT(service_.callbacks(), IsEmpty());
  EXPECT_EQ(call("POST", complete, json, R"({"approved": true})").status, 200);
  EXPECT_EQ(call("POST", complete, json, "").status, 200);
  EXPECT_EQ(call("POST", complete, {{"Content-Type", "text/plain"}}, "yes").status, 200);
  EXPECT_EQ(call("POST", complete, {}, "yes").status, 200);
  EXPECT_THAT(service_.callbacks(), SizeIs(4));
}

TEST_F(CallbackRoutes, PassAnErrorWithItsCodeAndMessage) {
  EXPECT_EQ(post("/fail", R"({"code": "card.declined", "message": "no money"})").status, 200);
  EXPECT_EQ(post("/fail", R"({"code": "card.declined"})").status, 200);
  const auto callbacks = service_.callbacks();
  ASSERT_THAT(callbacks, SizeIs(2));
  EXPECT_EQ(std::get<TaskEnded>(callbacks[0].what).result.error(),
            (Error{"card.declined", "no money"}));
  EXPECT_EQ(std::get<TaskEnded>(callbacks[1].what).result.error(), (Error{"card.declined", ""}));
}

TEST_F(CallbackRoutes, RefuseAnErrorWithoutAValidCode) {
  for (const char* const wrong :
       {"[]", "{}", R"({"code": 1})", R"({"code": "a b"})", R"({"code": ""})",
        R"({"code": "a", "message": 1})", R"({"code": "a", "other": ""})"}) {
    const HttpReply reply = post("/fail", wrong);
    EXPECT_EQ(reply.status, 400) << wrong;
    EXPECT_EQ(reply.code(), "request.parameter") << wrong;
  }
  EXPECT_EQ(post("/fail", "{").status, 400);
  EXPECT_THAT(service_.callbacks(), IsEmpty());
}

TEST_F(CallbackRoutes, PassAHeartbeat) {
  EXPECT_EQ(post("/heartbeat", "").status, 200);
  const auto callbacks = service_.callbacks();
  ASSERT_THAT(callbacks, SizeIs(1));
  EXPECT_TRUE(std::holds_alternative<TaskHeartbeat>(callbacks[0].what));
}

TEST_F(CallbackRoutes, PassTheProgressOfAHeartbeat) {
  EXPECT_EQ(post("/heartbeat", R"({"progress": [1, 2]})").status, 200);
  const auto callbacks = service_.callbacks();
  ASSERT_THAT(callbacks, SizeIs(1));
  EXPECT_EQ(std::get<TaskHeartbeat>(callbacks[0].what).progress, "[1,2]");
  EXPECT_EQ(post("/heartbeat", "[1, 2]").code(), "request.parameter");
  EXPECT_EQ(post("/heartbeat", std::string(17'000, ' ')).status, 413);
}

TEST_F(CallbackRoutes, ChangeNothingByAGet) {
  for (const char* const verb : {"/complete", "/fail", "/heartbeat"}) {
    EXPECT_EQ(call("GET", std::string(kCallback) + verb).status, 405) << verb;
  }
  for (const char* const method : {"GET", "POST"}) {
    const HttpReply reply = call(method, kCallback);
    EXPECT_EQ(reply.status, 404) << method;
    EXPECT_THAT(reply.body, testing::HasSubstr("append one of /complete, /fail, /heartbeat"));
  }
  EXPECT_THAT(service_.callbacks(), IsEmpty());
}

TEST_F(CallbackRoutes, AnswerErrorsAsProblems) {
  service_.callback_answer = fail("callback.ended", "why");
  EXPECT_EQ(post("/complete", "1").status, 409);
  EXPECT_EQ(post("/heartbeat", "").code(), "callback.ended");
}

TEST_F(CallbackRoutes, AskForARepetitionWhileAnotherProcessMayOwnTheStreams) {
  service_.callback_answer = fail("broker.unreachable", "why");
  for (const auto& [verb, body] :
       {std::pair("/complete", "1"), std::pair("/fail", R"({"code": "a"})"),
        std::pair("/heartbeat", "")}) {
    const HttpReply reply = post(verb, body);
    EXPECT_EQ(reply.status, 503) << verb;
    EXPECT_EQ(reply.code(), "broker.unreachable") << verb;
    EXPECT_EQ(reply.header("Retry-After"), "1") << verb;
  }
}

TEST_F(CallbackRoutes, RefuseAWrongKeyAndEndTheConnection) {
  service_.callback_answer = fail("callback.refused", "why");
  const HttpReply reply = post("/complete", "1");
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.code(), "callback.refused");
  EXPECT_EQ(reply.header("Connection"), "close");
}

}  // namespace
}  // namespace millrace
