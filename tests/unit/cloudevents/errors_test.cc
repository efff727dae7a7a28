#include "cloudevents/errors.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "cloudevents/http_binding.h"
#include "cloudevents/json_format.h"
#include "cloudevents/nats_binding.h"
#include "malformed_events.h"

namespace millrace {
namespace {

TEST(EventErrors, HaveTheExpectedCodeOverNats) {
  for (const MalformedEvent& row : malformed_events()) {
    const Result<Event> event = decode_nats({.headers = row.headers, .data = row.body});
    ASSERT_FALSE(event) << row.name;
    EXPECT_EQ(event.error().code, row.code) << row.name << ": " << event.error().message;
  }
}

TEST(EventErrors, HaveTheSameCodeOverHttp) {
  for (const MalformedEvent& row : malformed_events()) {
    const Result<std::vector<Event>> events = decode_http(row.headers, row.body);
    ASSERT_FALSE(events) << row.name;
    EXPECT_EQ(events.error().code, row.code) << row.name << ": " << events.error().message;
  }
}

TEST(EventErrors, HaveTestCasesWithUniqueNames) {
  std::set<std::string> names;
  for (const MalformedEvent& row : malformed_events()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
  }
}

TEST(EventErrors, HaveAShortPrintableMessage) {
  for (const MalformedEvent& row : malformed_events()) {
    const std::string message =
        decode_nats({.headers = row.headers, .data = row.body}).error().message;
    EXPECT_FALSE(message.empty()) << row.name;
    EXPECT_LT(message.size(), 400U) << row.name;
    EXPECT_TRUE(is_utf8(message)) << row.name;
    EXPECT_TRUE(std::none_of(message.begin(), message.end(),
                             [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
        << row.name << ": " << message;
  }
}

TEST(EventErrors, NameTheAttributeItsValueAndTheExpectedValue) {
  const auto message = [](std::string_view text) {
    return decode_json_event(text).error().message;
  };
  EXPECT_EQ(message(structured(R"(, "time": "lunchtime")")),
            "attribute \"time\" is \"lunchtime\"; expected an RFC 3339 timestamp such as "
            "2021-09-01T12:00:00Z");
  EXPECT_EQ(message(structured(R"(, "x": 2147483648)")),
            "attribute \"x\" is 2147483648; expected a number from -2147483648 to 2147483647");
  EXPECT_EQ(message(structured(R"(, "x": [1])")),
            "attribute \"x\" is an array; expected a string, a boolean or an integer");
  EXPECT_EQ(message(R"({"specversion": 1.0})"),
            "attribute \"specversion\" is 1.0; expected a string");
  EXPECT_EQ(message(structured(R"(, "subject": "a\u0085\u0007")")),
            "attribute \"subject\" is \"a\\u0085\\u0007\"; expected UTF-8 text without control "
            "characters and noncharacters");
  EXPECT_EQ(message(R"({"specversion": "0.3", "id": "1", "source": "/s", "type": "t"})"),
            "attribute \"specversion\" is \"0.3\"; expected \"1.0\"");
  EXPECT_NE(message("[]").find("application/cloudevents-batch+json"), std::string::npos);
  EXPECT_NE(
      message(structured(", \"subject\": \"" + std::string(1000, 'x') + "\\u0000\"")).find("…"),
      std::string::npos)
      << "a long value is cut";
}

TEST(EventErrors, HaveDistinctCodesAndATestCaseForEachCode) {
  std::set<std::string> codes;
  for (const EventError& error : kEventErrors) {
    EXPECT_TRUE(codes.insert(error.code).second) << error.code;
    EXPECT_TRUE(std::string(error.code).starts_with("event.")) << error.code;
    EXPECT_FALSE(std::string(error.meaning).empty()) << error.code;
  }
  std::set<std::string> seen = {"event.too_large", "event.batch_too_large", "event.not_array"};
  for (const MalformedEvent& row : malformed_events()) seen.insert(row.code);
  EXPECT_EQ(seen, codes)
      << "malformed_events() has every code, except the codes for sizes and batches";
}

}  // namespace
}  // namespace millrace
