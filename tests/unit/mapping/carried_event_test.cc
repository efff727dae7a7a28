// Which messages of other programs are CloudEvents.
#include "orchestrator/mapping/carried_event.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr const char* kEvent = R"({"specversion": "1.0", "id": "7", "source": "/s", "type": "t"})";
const Headers kBinary = {
    {"Ce-Specversion", "1.0"}, {"ce-id", "7"}, {"ce-source", "/s"}, {"ce-type", "t"}};

struct CarriedRow {
  const char* what;
  Headers headers;
  const char* body;
  const char* result;  ///< "event", "none", or the code of an error
};

TEST(CarriedEvent, IsFoundInEachModeAndNowhereElse) {
  Headers binary_json = kBinary;
  binary_json.emplace_back("content-type", "application/json");
  const CarriedRow rows[] = {
      {"structured", {{"Content-Type", "application/cloudevents+json"}}, kEvent, "event"},
      {"structured, capitals", {{"content-type", "Application/CloudEvents+JSON"}}, kEvent, "event"},
      {"structured and broken",
       {{"content-type", "application/cloudevents+json"}},
       "{}",
       "event.missing_attribute"},
      {"another format",
       {{"content-type", "application/cloudevents+avro"}},
       "",
       "event.unsupported_format"},
      {"a batch",
       {{"content-type", "application/cloudevents-batch+json"}},
       "[]",
       "event.unsupported_format"},
      {"binary", kBinary, "", "event"},
      {"binary with data", binary_json, R"({"a":1})", "event"},
      {"binary with broken data", binary_json, "{", "event.malformed_data"},
      {"binary without a type", {{"ce-specversion", "1.0"}}, "", "event.missing_attribute"},
      {"JSON without a content type", {}, kEvent, "event"},
      {"JSON with its content type", {{"content-type", "application/json"}}, kEvent, "event"},
      {"JSON of another version",
       {},
       R"({"specversion": "0.3", "id": "7", "source": "/s", "type": "t"})",
       "event.specversion"},
      {"an event as text", {{"content-type", "text/plain"}}, kEvent, "none"},
      {"JSON with some of the members", {}, R"({"id": "7", "source": "/s", "type": "t"})", "none"},
      {"JSON with other members", {}, R"({"order": 1})", "none"},
      {"a list", {}, "[1]", "none"},
      {"text", {}, "hello", "none"},
      {"nothing", {}, "", "none"},
      {"no media type", {{"content-type", "?"}}, "{}", "none"},
  };
  for (const CarriedRow& row : rows) {
    const auto carried = carried_event(row.headers, row.body);
    const std::string result = !carried               ? "none"
                               : carried->has_value() ? "event"
                                                      : carried->error().code;
    EXPECT_EQ(result, row.result) << row.what;
    if (result != "event") continue;
    EXPECT_EQ((*carried)->id, "7") << row.what;
    EXPECT_EQ((*carried)->type, "t") << row.what;
  }
}

TEST(CarriedEvent, HasTheLimitOfEvents) {
  const auto carried = carried_event({}, kEvent, {.event_bytes = 10});
  ASSERT_TRUE(carried && !*carried);
  EXPECT_EQ(carried->error().code, "event.too_large");
}

}  // namespace
}  // namespace millrace
