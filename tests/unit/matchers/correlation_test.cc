#include "matchers/correlation.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

Attributes with(std::map<std::string, AttributeValue> extensions) {
  return Attributes(
      Event{.id = "1", .source = "s", .type = "t", .extensions = std::move(extensions)});
}

TEST(Correlation, GivesEqualKeysOnlyIfAllValuesAreEqual) {
  const std::vector<std::string> names = {"customer", "order"};
  const auto key = [&](const char* customer, const char* order) {
    return correlation_key(
        with({{"customer", std::string(customer)}, {"order", std::string(order)}}), names);
  };
  EXPECT_EQ(key("a", "b"), "1:a1:b");
  EXPECT_EQ(key("a", "b"), key("a", "b"));
  EXPECT_NE(key("a", "b"), key("b", "a"));
  EXPECT_NE(key("ab", "c"), key("a", "bc"));
  EXPECT_NE(key("", "a"), key("a", ""));
  EXPECT_NE(key("a", "b"), key("A", "b"));
}

TEST(Correlation, MakesKeysOfTheStringFormsOfValues) {
  EXPECT_EQ(correlation_key(with({{"n", 7}, {"f", true}}), {"n", "f", "type"}), "1:74:true1:t");
  EXPECT_EQ(correlation_key(with({{"n", 7}}), {"n"}),
            correlation_key(with({{"n", std::string("7")}}), {"n"}));
  EXPECT_EQ(correlation_key(with({}), {}), "");
}

TEST(Correlation, GivesNoKeyIfAnAttributeIsMissing) {
  EXPECT_EQ(correlation_key(with({{"a", 1}}), {"a", "b"}), std::nullopt);
  EXPECT_EQ(correlation_key(with({}), {"subject"}), std::nullopt);
}

TEST(Correlation, PutsAnEventIntoTheMatchingEntryWithTheFewestEvents) {
  struct Row {
    std::vector<uint32_t> waiting;
    std::vector<size_t> matching;
    size_t chosen;
  };
  for (const Row& row : std::initializer_list<Row>{
           {{0, 0}, {0, 1}, 0},
           {{1, 0}, {0, 1}, 1},
           {{1, 1}, {0, 1}, 0},
           {{0, 5}, {1}, 1},
           {{3, 2, 2, 1}, {0, 1, 2}, 1},
           {{9}, {0}, 0},
       }) {
    EXPECT_EQ(choose_entry(row.waiting, row.matching), row.chosen);
  }
}

TEST(Correlation, RegardsAGroupAsCompleteIfEveryEntryHasAnEvent) {
  EXPECT_TRUE(is_complete(std::vector<uint32_t>{1, 2}));
  EXPECT_FALSE(is_complete(std::vector<uint32_t>{1, 0}));
  EXPECT_FALSE(is_complete(std::vector<uint32_t>{0}));
}

}  // namespace
}  // namespace millrace
