#include "gateway/problem.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Problem, HasTheHttpStatusThatFitsItsErrorCode) {
  struct Row {
    const char* code;
    unsigned status;
  };
  const Row rows[] = {
      {"namespace.not_found", 404},
      {"workflow.not_found", 404},
      {"revision.not_found", 404},
      {"instance.not_found", 404},
      {"namespace.not_empty", 409},
      {"workflow.has_instances", 409},
      {"start.conflict", 409},
      {"backup.not_found", 404},
      {"backup.chunk", 409},
      {"backup.ending", 503},
      {"busy", 503},
      {"stopping", 503},
      {"broker.unreachable", 503},
      {"broker.too_large", 413},
      {"store.full", 503},
      {"store.corrupt", 500},
      {"event.time", 400},
      {"event.too_large", 413},
      {"event.unsupported_format", 415},
      {"millrace.quota.instances", 403},
      {"millrace.quota.eventsPerSecond", 429},
      {"millrace.quota.startKeys", 403},
      {"millrace.rateLimit", 429},
      {"millrace.startKey", 422},
      {"definition.refused", 422},
      {"json.malformed", 400},
      {"input.refused", 422},
      {"jq.unterminated", 422},
      {"jq.unavailable", 503},
      {"direktiv.jq.badCommand", 422},
      {"millrace.jq.memory", 422},
      {"millrace.timeout.task", 422},
      {"retry.malformed", 400},
      {"definition.missing", 422},
      {"an.unknown.code", 500},
      {"events", 500},
  };
  for (const Row& row : rows) EXPECT_EQ(status_of(row.code), row.status) << row.code;
}

TEST(Problem, SaysWhenToSendAgainIfARateIsExceeded) {
  const Response response = problem(Error{"millrace.quota.eventsPerSecond", "too many"});
  EXPECT_EQ(Json::parse(response.body)["title"], "Too Many Requests");
  EXPECT_EQ(*find_header(response.headers, "Retry-After"), "1");
}

TEST(Problem, SaysWhenToSendAgainIfTheErrorKnowsIt) {
  const Response response = problem(Error{"millrace.rateLimit", "too many", 3'600});
  EXPECT_EQ(*find_header(response.headers, "Retry-After"), "3600");
}

TEST(Problem, LetsSendersOfAPausedWebhookWaitLonger) {
  const Response response = problem(Error{"hooks.paused", "the inbound webhook is paused"});
  EXPECT_EQ(*find_header(response.headers, "Retry-After"), "60");
}

TEST(Problem, IsJsonWhateverBytesItsMessageHas) {
  const Response response = problem(Error{"busy", "\xff"}, Json::array({1}));
  const Json body = Json::parse(response.body);
  EXPECT_EQ(body["type"], "about:blank");
  EXPECT_EQ(body["title"], "Service Unavailable");
  EXPECT_EQ(body["status"], 503);
  EXPECT_EQ(body["detail"], "\xef\xbf\xbd");
  EXPECT_EQ(body["errors"], Json::array({1}));
  EXPECT_EQ(*find_header(response.headers, "Content-Type"), "application/problem+json");
  EXPECT_EQ(*find_header(response.headers, "Retry-After"), "1");
}

}  // namespace
}  // namespace millrace
