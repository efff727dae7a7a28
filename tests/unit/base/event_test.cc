#include "base/event.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Event, ReturnsEachAttributeAsAString) {
  Event event{.id = "1", .source = "s", .type = "t", .subject = "x"};
  event.extensions = {{"flag", true}, {"count", -7}, {"name", std::string("n")}};
  EXPECT_EQ(attribute(event, "subject"), "x");
  EXPECT_EQ(attribute(event, "flag"), "true");
  EXPECT_EQ(attribute(event, "count"), "-7");
  EXPECT_EQ(attribute(event, "name"), "n");
  EXPECT_EQ(attribute(event, "specversion"), "1.0");
  EXPECT_EQ(attribute(event, "time"), std::nullopt);
  EXPECT_EQ(attribute(event, "missing"), std::nullopt);
}

TEST(Event, ReturnsJsonDataAsAJsonPayloadAndOtherDataAsBase64) {
  Event event;
  EXPECT_EQ(payload(event), nullptr);
  event.data = R"({"a":1})";
  EXPECT_EQ(payload(event), Json({{"a", 1}}));
  event.data = "hello";
  EXPECT_EQ(payload(event), "aGVsbG8=");
  event.data = "\"hello\"";
  EXPECT_EQ(payload(event), "hello");
}

TEST(Event, RecognizesTheContentTypesOfJson) {
  EXPECT_TRUE(is_json_content_type(std::nullopt));
  EXPECT_TRUE(is_json_content_type("application/json"));
  EXPECT_TRUE(is_json_content_type("Application/JSON ; charset=utf-8"));
  EXPECT_TRUE(is_json_content_type("application/vnd.x+json"));
  EXPECT_FALSE(is_json_content_type("text/plain"));
  EXPECT_FALSE(is_json_content_type("application/jsonp"));
}

}  // namespace
}  // namespace millrace
