#include "base/lazy_json.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(LazyJson, ReturnsItsTextUnchangedAndTheValueOfTheText) {
  const LazyJson lazy = LazyJson::of_text(R"({"b":1,"a":[2]})");
  EXPECT_EQ(lazy.text(), R"({"b":1,"a":[2]})") << "the text is unchanged";
  EXPECT_EQ(lazy.value(), Json({{"a", {2}}, {"b", 1}}));
}

TEST(LazyJson, LeavesItsCopiesUnchangedWhenItIsEdited) {
  LazyJson one{Json{{"a", 1}}};
  const LazyJson other = one;
  one.edit()["a"] = 2;
  EXPECT_EQ(one.text(), R"({"a":2})");
  EXPECT_EQ(other.text(), R"({"a":1})");
}

TEST(LazyJson, AcceptsMoreLevelsOfNestingThanJsonFromOutsideMayHave) {
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_TRUE(nests_deeper(LazyJson::of_text(deep).value(), 199));
  EXPECT_FALSE(nests_deeper(LazyJson::of_text(deep).value(), 200));
}

}  // namespace
}  // namespace millrace
