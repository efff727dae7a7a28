#include "broker/wire.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

using namespace std::string_literals;

TEST(Wire, AcceptsWellFormedMessages) {
  for (const char* subject : {"a", "a.b", "millrace.events.default.%20", "$JS.API.INFO", "ä.b"}) {
    EXPECT_TRUE(check_message({.subject = subject}, 100)) << subject;
  }
  EXPECT_TRUE(check_message({"a", {{"Nats-Msg-Id", "1"}, {"x", "ä\t?"}, {"y", ""}}, "data"}, 100));
}

TEST(Wire, RefusesMalformedSubjectsAndHeaders) {
  for (const std::string& subject : {""s, "."s, "a."s, ".a"s, "a..b"s, "a b"s, "a\r\nPUB x 0"s,
                                     "a.*"s, "a.>"s, "a\0b"s, "a\t"s, std::string(3'073, 'a')}) {
    const Status status = check_message({.subject = subject}, 100);
    ASSERT_FALSE(status) << subject;
    EXPECT_EQ(status.error().code, "broker.refused");
  }
  for (const auto& [name, value] : Headers{{"", "x"},
                                           {"a b", "x"},
                                           {"a:b", "x"},
                                           {"ä", "x"},
                                           {"a\r\nb", "x"},
                                           {"a", "x\r\nb: y"},
                                           {"a", "x\ny"},
                                           {"a", "x\0y"s}}) {
    EXPECT_FALSE(is_sendable_header(name, value)) << name;
    EXPECT_FALSE(check_message({"a", {{name, value}}, ""}, 100)) << name;
  }
}

TEST(Wire, CountsHeadersTowardsTheMaximumPayload) {
  const NatsMessage message{"a", {{"k", "v"}}, "0123"};
  EXPECT_EQ(encoded_size(message.headers), std::string("NATS/1.0\r\nk: v\r\n\r\n").size());
  EXPECT_TRUE(check_message(message, 22));
  EXPECT_EQ(check_message(message, 21).error().code, "broker.too_large");
  EXPECT_EQ(encoded_size({}), 0u) << "a message without headers has no version line";
}

TEST(Wire, ReadsHeadersByteForByteAndInOrder) {
  EXPECT_EQ(parse_header_block("NATS/1.0\r\nB: 1\r\na:2\r\nB:  3 \r\n\r\n"),
            (Headers{{"B", "1"}, {"a", "2"}, {"B", "3"}}));
  EXPECT_EQ(parse_header_block("NATS/1.0\r\nA: \r\nB: x\0y\r\n\r\n"s),
            (Headers{{"A", ""}, {"B", "x\0y"s}}));
  EXPECT_EQ(parse_header_block("NATS/1.0\r\nno colon\r\nx: a:b\r\n\r\n"),
            (Headers{{"no colon", ""}, {"x", "a:b"}}));
  EXPECT_EQ(parse_header_block("NATS/1.0 503\r\n\r\n"), Headers());
  EXPECT_EQ(parse_header_block("NATS/1.0\r\ncut off"), (Headers{{"cut off", ""}}));
  EXPECT_EQ(parse_header_block(""), Headers());
}

TEST(Wire, FindsHeaderValuesThatMayContainTheFollowingHeader) {
  for (const char* value : {"ce-type: x", "Ce-Type:x", "b: y", "b:", "content-type:text/plain"}) {
    EXPECT_TRUE(may_hold_the_next_header(value)) << value;
  }
  for (const char* value : {"", "x", "urn:a:b", "https://x/y", "2021-09-01T12:00:00Z", ": x",
                            "two words: x", "application/json; charset=utf-8"}) {
    EXPECT_FALSE(may_hold_the_next_header(value)) << value;
  }
}

}  // namespace
}  // namespace millrace
