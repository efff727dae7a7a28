#include "broker/pull_status.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

/// Statuses that NATS servers 2.9 to 2.15 send in answer to pull requests.
TEST(PullStatus, IsClassifiedByItsCodeAndDescription) {
  using enum PullStatus;
  const struct {
    const char* code;
    const char* description;
    PullStatus meaning;
  } rows[] = {
      {"100", "Idle Heartbeat", kAlive},
      {"100", "FlowControl Request", kAlive},
      {"404", "No Messages", kRequestEnded},
      {"408", "Request Timeout", kRequestEnded},
      {"408", "Interest Expired", kRequestEnded},
      {"408", "Requests Pending", kRequestEnded},
      {"409", "Batch Completed", kRequestEnded},
      {"409", "Message Size Exceeds MaxBytes", kRequestEnded},
      {"409", "Consumer Deleted", kConsumerLost},
      {"409", "Leadership Change", kConsumerLost},
      {"409", "Server Shutdown", kConsumerLost},
      {"503", "", kConsumerLost},
      {"503", "No Responders", kConsumerLost},
      {"400", "Bad Request", kRefused},
      {"400", "Bad Request - heartbeat value too large", kRefused},
      {"409", "Consumer is push based", kRefused},
      {"409", "Exceeded MaxWaiting", kRefused},
      {"409", "Exceeded MaxRequestBatch of 100", kRefused},
      {"409", "Exceeded MaxRequestExpires of 1s", kRefused},
      {"409", "Exceeded MaxRequestMaxBytes of 1024", kRefused},
      {"412", "Nats-Pin-Id mismatch", kRefused},
      {"423", "Nats-Pin-Id mismatch", kRefused},
      {"409", "", kRefused},
      {"", "", kRefused},
      {"1000", "", kRefused},
      {"999", "Something new", kRefused},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(classify_pull_status(row.code, row.description), row.meaning)
        << row.code << ' ' << row.description;
  }
}

TEST(PullStatus, ReportsHowManyMessagesOfTheRequestAreLeft) {
  EXPECT_EQ(messages_left("Request Timeout", "17", 512), 17u);
  EXPECT_EQ(messages_left("Request Timeout", "0", 512), 0u);
  EXPECT_EQ(messages_left("Request Timeout", "513", 512), 512u)
      << "the number is limited to what the request asked for";
  EXPECT_EQ(messages_left("Request Timeout", "", 512), 512u);
  EXPECT_EQ(messages_left("Request Timeout", "-1", 512), 512u);
  EXPECT_EQ(messages_left("Request Timeout", "many", 512), 512u);
  EXPECT_EQ(messages_left("Batch Completed", "", 512), 0u);
  EXPECT_EQ(messages_left("Batch Completed", "0", 512), 0u);
}

}  // namespace
}  // namespace millrace
