#include "broker/log_answers.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bytes.h"

namespace millrace {
namespace {

/// What an answer to a publication says, in a word and a number.
std::string ack_text(const LogAck& ack) {
  if (const auto* const stored = std::get_if<LogStored>(&ack)) {
    return fmt::format("stored {}", stored->sequence);
  }
  if (const auto* const refused = std::get_if<LogOutOfOrder>(&ack)) {
    return refused->last ? fmt::format("last {}", *refused->last) : "last unknown";
  }
  return std::get<Error>(ack).code;
}

TEST(LogAnswers, ReadWhetherTheStreamHasStoredAMessage) {
  const struct {
    const char* answer;
    const char* expected;
  } cases[] = {
      {R"({"stream":"MILLRACE_LOG_a_0", "seq":1})", "stored 1"},
      {R"({"stream":"MILLRACE_LOG_a_0", "domain":"d", "seq":17})", "stored 17"},
      {R"({"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 12"},)"
       R"("stream":"MILLRACE_LOG_a_0","seq":0})",
       "last 12"},
      {R"({"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 0"}})",
       "last 0"},
      {R"({"error":{"code":400,"err_code":10071,"description":"wrong"}})", "last unknown"},
      {R"({"error":{"code":400,"err_code":10164,"description":"wrong last sequence"}})",
       "last unknown"},
      {R"({"error":{"code":503,"err_code":10077,"description":"maximum bytes exceeded"}})",
       "broker.refused"},
      {R"({"stream":"OTHER", "seq":1})", "broker.protocol"},
      {R"({"stream":"MILLRACE_LOG_a_0", "seq":0})", "broker.protocol"},
      {R"({"stream":"MILLRACE_LOG_a_0"})", "broker.protocol"},
      {"+OK", "broker.protocol"},
      {"[]", "broker.protocol"},
      {"", "broker.protocol"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(ack_text(read_log_ack("MILLRACE_LOG_a_0", one.answer)), one.expected) << one.answer;
  }
}

TEST(LogAnswers, ReadWhereTheStreamEnds) {
  EXPECT_EQ(read_log_end("s", R"({"config":{},"state":{"last_seq":9}})"), uint64_t{9});
  EXPECT_EQ(read_log_end("s", R"({"config":{},"state":{"last_seq":0}})"), uint64_t{0});
  const struct {
    const char* answer;
    const char* code;
  } cases[] = {
      {R"({"error":{"code":404,"err_code":10059,"description":"stream not found"}})",
       "broker.not_found"},
      {R"({"error":{"code":503,"err_code":10008,"description":"not available"}})",
       "broker.refused"},
      {R"({"state":{}})", "broker.protocol"},
      {R"({"state":{"last_seq":-1}})", "broker.protocol"},
      {"x", "broker.protocol"},
  };
  for (const auto& one : cases) {
    const Result<uint64_t> end = read_log_end("s", one.answer);
    ASSERT_FALSE(end) << one.answer;
    EXPECT_EQ(end.error().code, one.code) << one.answer;
  }
}

TEST(LogAnswers, ReadTheMessageAtASequence) {
  const std::string answer =
      fmt::format(R"({{"message":{{"subject":"millrace.log.a.0","seq":4,"hdrs":"{}","data":"{}",)"
                  R"("time":"2026-11-27T08:06:59.095953053Z"}}}})",
                  base64_encode("NATS/1.0\r\nMillrace-Kind: beat\r\n\r\n"), base64_encode("x"));
  const Result<std::optional<NatsMessage>> found = read_log_entry("s", 4, answer);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->subject, "millrace.log.a.0");
  EXPECT_EQ((*found)->headers, (Headers{{"Millrace-Kind", "beat"}}));
  EXPECT_EQ((*found)->data, "x");

  const Result<std::optional<NatsMessage>> other = read_log_entry("s", 5, answer);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, "broker.protocol");

  const Result<std::optional<NatsMessage>> none = read_log_entry(
      "s", 5, R"({"error":{"code":404,"err_code":10037,"description":"no message found"}})");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);

  const Result<std::optional<NatsMessage>> no_stream = read_log_entry(
      "s", 5, R"({"error":{"code":404,"err_code":10059,"description":"stream not found"}})");
  ASSERT_FALSE(no_stream);
  EXPECT_EQ(no_stream.error().code, "broker.not_found");
}

}  // namespace
}  // namespace millrace
