#include "model/history.h"

#include <set>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(HistoryKinds, HaveNamesOfTheirOwnThatAreReadAgain) {
  std::set<std::string_view> names;
  for (uint8_t number = 0; number <= static_cast<uint8_t>(kLastHistoryKind); ++number) {
    const auto kind = static_cast<HistoryKind>(number);
    EXPECT_TRUE(names.insert(to_string(kind)).second) << to_string(kind);
    EXPECT_EQ(parse_history_kind(to_string(kind)), kind);
  }
  const std::vector<std::string_view> all = history_kind_names();
  EXPECT_EQ(std::set<std::string_view>(all.begin(), all.end()), names);
  for (const char* const name : {"", "unknown", "Started"}) {
    EXPECT_EQ(parse_history_kind(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace millrace
