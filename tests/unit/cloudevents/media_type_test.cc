#include "cloudevents/media_type.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(MediaType, IsReadWithItsParameters) {
  EXPECT_EQ(parse_media_type("Text/Plain"), (MediaType{"text/plain", {}}));
  EXPECT_EQ(parse_media_type(R"( a/b+c ; Charset=UTF-8;x="a;\"b" ;; )"),
            (MediaType{"a/b+c", {{"charset", "UTF-8"}, {"x", "a;\"b"}}}));
  for (const char* text :
       {"", "a", "a/", "/b", "a/b/c", "a /b", "a/b c", "a/b;c", "a/b;=c", "a/b;c=", "a/b;c=\"d",
        "a/b;c=\"d\\", "a/b,c/d", "ä/b", "a/b;c=\"ä\"", "a/b;c=d e", "a/b\r\nx: y"}) {
    EXPECT_EQ(parse_media_type(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace millrace
