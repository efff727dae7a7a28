#include "base/sharded_table.h"

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <gtest/gtest.h>

namespace millrace {
namespace {

/// Counts its calls: a table that grows asks for the hash of each value that it moves.
struct CountedHash {
  using is_avalanching = void;
  static inline size_t calls = 0;

  size_t operator()(uint64_t value) const {
    ++calls;
    const auto product = static_cast<unsigned __int128>(value) * 0x9e3779b97f4a7c15;
    return static_cast<size_t>(product ^ product >> 64);
  }
};

using Numbers = boost::unordered_flat_set<uint64_t, CountedHash>;
using Names = boost::unordered_flat_map<uint64_t, std::string, CountedHash>;

/// The most calls of the hash in one of `count` insertions.
template <class Table>
size_t most_calls(Table& table, uint64_t count) {
  size_t most = 0;
  for (uint64_t value = 0; value < count; ++value) {
    CountedHash::calls = 0;
    table.insert(value);
    most = std::max(most, CountedHash::calls);
  }
  return most;
}

TEST(ShardedTable, MovesFewValuesWhenItGrows) {
  constexpr uint64_t kCount = 400'000;
  Numbers one;
  EXPECT_GT(most_calls(one, kCount), kCount / 4) << "a single table moves most of its values";
  ShardedTable<Numbers> sharded;
  EXPECT_LT(most_calls(sharded, kCount), kCount / 64);
  EXPECT_EQ(sharded.size(), kCount);
}

TEST(ShardedTable, IsASet) {
  std::minstd_rand random(1);
  ShardedTable<Numbers> table;
  std::set<uint64_t> model;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t value = random() % 3'000;
    if (random() % 3 == 0) {
      table.erase(value);
      model.erase(value);
    } else {
      const auto [at, is_new] = table.insert(value);
      ASSERT_EQ(*at, value);
      ASSERT_EQ(is_new, model.insert(value).second);
    }
    ASSERT_EQ(table.size(), model.size());
  }
  for (uint64_t value = 0; value < 3'000; ++value) {
    ASSERT_EQ(table.contains(value), model.contains(value)) << value;
  }
  std::set<uint64_t> seen;
  table.each([&](uint64_t value) { EXPECT_TRUE(seen.insert(value).second) << value; });
  EXPECT_EQ(seen, model);
  table.clear();
  EXPECT_EQ(table.size(), 0U);
  EXPECT_FALSE(table.contains(*model.begin()));
}

TEST(ShardedTable, IsAMap) {
  ShardedTable<Names> table;
  EXPECT_TRUE(table.set(7, "seven").second);
  const auto [at, is_new] = table.set(7, "VII");
  EXPECT_FALSE(is_new);
  EXPECT_EQ(at->second, "VII");
  ASSERT_NE(table.find(7), nullptr);
  EXPECT_EQ(table.find(7)->second, "VII");
  table.find(7)->second = "7";
  EXPECT_EQ(std::as_const(table).find(7)->second, "7");
  EXPECT_EQ(table.find(8), nullptr);
  EXPECT_EQ(table.size(), 1U);
  EXPECT_FALSE(table.erase(8));
  EXPECT_TRUE(table.erase(7));
  EXPECT_EQ(table.size(), 0U);
}

/// Looks up names by their text while the set has numbers only.
struct NameHash {
  using is_transparent = void;
  const std::vector<std::string>* names;
  const std::string& name(uint32_t number) const { return (*names)[number]; }
  const std::string& name(const std::string& text) const { return text; }
  size_t operator()(const auto& one) const { return std::hash<std::string>{}(name(one)); }
};
struct SameName : NameHash {
  bool operator()(const auto& a, const auto& b) const { return name(a) == name(b); }
};

TEST(ShardedTable, TakesTheHashOfTheEmptyTable) {
  const std::vector<std::string> names{"a", "b", "a"};
  using Table = boost::unordered_flat_set<uint32_t, NameHash, SameName>;
  ShardedTable<Table> table(Table(0, NameHash{&names}, SameName{{&names}}));
  EXPECT_TRUE(table.insert(0U).second);
  EXPECT_TRUE(table.insert(1U).second);
  const auto [at, is_new] = table.insert(2U);
  EXPECT_FALSE(is_new);
  EXPECT_EQ(*at, 0U);
  ASSERT_NE(table.find(std::string("b")), nullptr);
  EXPECT_EQ(*table.find(std::string("b")), 1U);
  table.erase(std::string("b"));
  EXPECT_FALSE(table.contains(std::string("b")));
}

}  // namespace
}  // namespace millrace
