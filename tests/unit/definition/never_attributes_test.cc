#include "orchestrator/definition/never_attributes.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(NeverAttributes, ExplainWhyAContextAttributeNeverEqualsTheGivenValue) {
  EXPECT_EQ(why_never_equal("specversion", "1.0"), "");
  EXPECT_EQ(why_never_equal("specversion", "1"), "the specversion of every event is 1.0");
  EXPECT_EQ(why_never_equal("source", "shop"), "");
  EXPECT_NE(why_never_equal("source", ""), "") << "the source of an event is never empty";
  EXPECT_EQ(why_never_equal("time", "2021-09-01T12:00:00Z"), "");
  EXPECT_NE(why_never_equal("time", "noon"), "");
  EXPECT_EQ(why_never_equal("customerid", "c-42"), "");
  EXPECT_NE(why_never_equal("customerid", "c\n42"), "") << "no attribute has a control character";
}

TEST(NeverAttributes, ExplainWhyAPatternNeverMatches) {
  EXPECT_EQ(why_never_matches("source", "^shop"), "");
  EXPECT_EQ(why_never_matches("source", "a$b"), "the pattern matches no text at all");
  EXPECT_EQ(why_never_matches("specversion", "^1"), "");
  EXPECT_EQ(why_never_matches("specversion", "^2"), "the specversion of every event is 1.0");
}

TEST(NeverAttributes, ExplainWhyTheLiteralPartOfAPatternNeverMatches) {
  EXPECT_EQ(why_never_matches("time", "^2021"), "");
  EXPECT_EQ(why_never_matches("time", "noon"), "a time is written as 2021-09-01T12:00:00Z");
  EXPECT_EQ(why_never_matches("source", "a\tb"), "no attribute has a control character");
  EXPECT_EQ(why_never_matches("time", "^noon$"), why_never_equal("time", "noon"));
}

TEST(NeverAttributes, IgnoreAPatternThatDoesNotCompile) {
  EXPECT_EQ(why_never_matches("source", "("), "");
}

}  // namespace
}  // namespace millrace
