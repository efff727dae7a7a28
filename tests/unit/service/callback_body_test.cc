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

/// The progress in the body of a heartbeat.
std::string progress_in(const std::string& body) {
  const auto read = read_callback_body("heartbeat", body);
  return read ? std::get<TaskHeartbeat>(*read).progress : read.error().code;
}

TEST(CallbackBody, OfAHeartbeatMayHaveItsProgress) {
  EXPECT_EQ(progress_in(""), "");
  EXPECT_EQ(progress_in("{}"), "");
  EXPECT_EQ(progress_in(R"({"progress": {"of": 7, "done": 3}})"), R"({"done":3,"of":7})");
  EXPECT_EQ(progress_in(R"({"progress": null})"), "null");
  EXPECT_EQ(progress_in(R"({"progress": 123456789012345678901234567890})"),
            "123456789012345678901234567890");
  for (const char* const body : {"7", "[]", R"({"done": 3})", R"({"progress": 1, "done": 3})"}) {
    EXPECT_EQ(progress_in(body), "request.parameter") << body;
  }
  EXPECT_EQ(progress_in("any"), "json.malformed");
}

TEST(CallbackBody, HasTheProgressAsAsciiForAHeader) {
  EXPECT_EQ(progress_in("{\"progress\": \"a\u00e9\u20acb\U0001f600\x7f\"}"),
            R"("a\u00e9\u20acb\ud83d\ude00\u007f")");
}

TEST(CallbackBody, BoundsTheProgress) {
  const auto body = [](size_t bytes) {
    return R"({"progress": ")" + std::string(bytes - 2, 'x') + R"("})";
  };
  EXPECT_EQ(progress_in(body(kMostProgressBytes)).size(), kMostProgressBytes);
  EXPECT_EQ(progress_in(body(kMostProgressBytes + 1)), "request.body_too_large");
  EXPECT_EQ(progress_in(std::string(kMaxHeartbeatBytes + 1, ' ')), "request.body_too_large");
}

TEST(CallbackBody, BelongsToAKnownVerb) {
  EXPECT_EQ(callback_code("finish", ""), "request.parameter");
  EXPECT_EQ(callback_code("", ""), "request.parameter");
}

}  // namespace
}  // namespace millrace
