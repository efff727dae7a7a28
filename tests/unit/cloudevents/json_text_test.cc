#include "cloudevents/json_text.h"

#include <string_view>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(JsonText, IsOneJsonValueAndNothingElse) {
  for (const char* text : {"1", " [1] ", "\"\\u0000\"", "null"}) EXPECT_TRUE(is_json_text(text));
  EXPECT_FALSE(is_json_text(std::string_view("1\0x", 3)));
  EXPECT_FALSE(is_json_text("\xef\xbb\xbf{}"));
  EXPECT_FALSE(is_json_text(""));
  EXPECT_EQ(compact_json(" { \"a b\" : [ 1 , \"\\\" \" ] }\n"), "{\"a b\":[1,\"\\\" \"]}");
  EXPECT_EQ(depth_of_json("7"), 0U);
  EXPECT_EQ(depth_of_json(R"([{"[[[\"[":[]},[]])"), 3U);
}

}  // namespace
}  // namespace millrace
