#include "orchestrator/service/callback_body.h"

#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "model/task.h"

namespace millrace {
namespace {

std::string callback_code(std::string_view verb, std::string body) {
  const auto read = read_callback_body(verb, std::move(body));
  return read ? "" : read.error().code;
}

TEST(CallbackBody, IsTheResultOfATask) {
  const auto read = read_callback_body("complete", R"({"paid":true})");
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<TaskEnded>(*read).result.value(), R"({"paid":true})");
  EXPECT_EQ(callback_code("complete", std::string(kMaxAnswerBytes, 'x')), "");
  EXPECT_EQ(callback_code("complete", std::string(kMaxAnswerBytes + 1, 'x')),
            "request.body_too_large");
}

TEST(CallbackBody, IsTheErrorOfATask) {
  const auto read = read_callback_body("fail", R"({"code": "card.declined", "message": "no"})");
  ASSERT_TRUE(read);
  EXPECT_EQ(std::get<TaskEnded>(*read).result.error(), (Error{"card.declined", "no"}));
  for (const char* const body :
       {"7", "{}", R"({"code": "a b"})", R"({"code": 7})", R"({"code": "a", "why": "b"})"}) {
    EXPECT_EQ(callback_code("fail", body), "request.parameter") << body;
  }
  EXPECT_NE(callback_code("fail", "{"), "");
  EXPECT_EQ(callback_code("fail", std::string(kMaxFailureBytes + 1, ' ')),
            "request.body_too_large");
}

TEST(CallbackBody, IsNotReadOfAHeartbeat) {
  const auto read = read_callback_body("heartbeat", "any");
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::holds_alternative<TaskHeartbeat>(*read));
}

TEST(CallbackBody, BelongsToAKnownVerb) {
  EXPECT_EQ(callback_code("finish", ""), "request.parameter");
  EXPECT_EQ(callback_code("", ""), "request.parameter");
}

}  // namespace
}  // namespace millrace
