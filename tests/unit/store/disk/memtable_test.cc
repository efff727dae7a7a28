#include "orchestrator/store/disk/memtable.h"

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kNewest = UINT64_MAX;
const KeyRange kAll{"", "\xff"};

/// The rows as `key=value`; `key-` for an erased row.
std::vector<std::string> rows_of(const Memtable& table, uint64_t commit,
                                 const KeyRange& range = kAll,
                                 Direction direction = Direction::kForward) {
  std::vector<std::string> rows;
  for (Memtable::Cursor at(table, commit, range, direction); at.valid(); at.next()) {
    rows.push_back(at.value() ? fmt::format("{}={}", at.key(), *at.value())
                              : fmt::format("{}-", at.key()));
  }
  return rows;
}

TEST(Memtable, ReturnsARowAsTheGivenCommitLeftIt) {
  Memtable table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.add(1, "b", "one"), nullptr);
  EXPECT_EQ(table.add(2, "b", "")->value(), "one");
  EXPECT_EQ(table.add(3, "b", std::nullopt)->value(), "");
  EXPECT_EQ(table.add(5, "b", "five")->value(), std::nullopt);
  EXPECT_EQ(table.add(5, "a", "new"), nullptr);
  EXPECT_EQ(table.rows(), 2U);

  EXPECT_EQ(table.find("b", 0), nullptr) << "a lower layer may have the row";
  EXPECT_EQ(table.find("b", 1)->value(), "one");
  EXPECT_EQ(table.find("b", 2)->value(), "");
  EXPECT_EQ(table.find("b", 3)->value(), std::nullopt) << "erased";
  EXPECT_EQ(table.find("b", 4)->value(), std::nullopt);
  EXPECT_EQ(table.find("b", kNewest)->value(), "five");
  EXPECT_EQ(table.find("a", 4), nullptr);
  EXPECT_EQ(table.find("c", kNewest), nullptr);
  EXPECT_EQ(table.find("", kNewest), nullptr);

  EXPECT_THAT(rows_of(table, 0), IsEmpty());
  EXPECT_THAT(rows_of(table, 3), ElementsAre("b-"));
  EXPECT_THAT(rows_of(table, 5), ElementsAre("a=new", "b=five"));
}

TEST(Memtable, TakesValuesWithoutACopy) {
  Memtable table;
  std::string value(100'000, 'x');
  const char* const bytes = value.data();
  EXPECT_EQ(table.take(1, "b", std::move(value)), nullptr);
  EXPECT_EQ(table.find("b", 1)->value()->data(), bytes);
  EXPECT_GE(table.bytes(), 100'000U);

  EXPECT_EQ(table.take(2, "b", "two")->value()->size(), 100'000U);
  EXPECT_EQ(table.add(3, "b", "three")->value(), "two");
  EXPECT_EQ(table.take(4, "a", ""), nullptr);
  EXPECT_THAT(rows_of(table, 2), ElementsAre("b=two"));
  EXPECT_THAT(rows_of(table, 4), ElementsAre("a=", "b=three"));
}

TEST(Memtable, WalksARangeInBothDirectionsAsTheGivenCommitLeftIt) {
  Memtable table;
  for (const char* const key : {"d", "a", "c", "e", "b"}) table.add(1, key, key);
  table.add(2, "bb", "later");
  table.add(2, "c", std::nullopt);
  const KeyRange range{"b", "d"};
  EXPECT_THAT(rows_of(table, 1, range), ElementsAre("b=b", "c=c"));
  EXPECT_THAT(rows_of(table, 1, range, Direction::kBackward), ElementsAre("c=c", "b=b"));
  EXPECT_THAT(rows_of(table, 2, range), ElementsAre("b=b", "bb=later", "c-"));
  EXPECT_THAT(rows_of(table, 2, range, Direction::kBackward), ElementsAre("c-", "bb=later", "b=b"));
  EXPECT_THAT(rows_of(table, 2, {"f", "g"}), IsEmpty());
  EXPECT_THAT(rows_of(table, 2, {"f", "g"}, Direction::kBackward), IsEmpty());
  EXPECT_THAT(rows_of(table, 2, {"", "a"}), IsEmpty());
}

TEST(Memtable, MeasuresItsMemory) {
  Memtable table;
  EXPECT_EQ(table.bytes(), 0U);
  table.add(1, "key", std::string(100'000, 'x'));
  EXPECT_GE(table.bytes(), 100'000U);
  EXPECT_LE(table.bytes(), 100'200U);
  table.add(2, "key", std::string(100'000, 'y'));
  EXPECT_GE(table.bytes(), 200'000U) << "an old version keeps its memory";
}

TEST(Memtable, PassesFewRowsWhenTheKeysOfACommitAscend) {
  constexpr size_t kRows = 10'000;
  const auto key_of_row = [](size_t number) { return fmt::format("{:06}", number); };
  Memtable table;
  for (size_t i = 0; i < kRows; ++i) table.add(1, key_of_row(2 * i), "even");
  EXPECT_LE(table.passed(), 3 * kRows);
  // Each second key lies between two rows, and each other one replaces a row.
  const uint64_t before = table.passed();
  for (size_t i = 2'000; i < 4'000; ++i) table.add(2, key_of_row(i), "new");
  EXPECT_LE(table.passed() - before, 3U * 2'000);
  const uint64_t descending = table.passed();
  for (size_t i = 4'000; i > 3'000; --i) table.add(3, key_of_row(i), "newer");
  EXPECT_GT(table.passed() - descending, 2U * 1'000) << "each search begins at the first row";
  EXPECT_EQ(table.find(key_of_row(3'001), kNewest)->value(), "newer");
  EXPECT_EQ(table.find(key_of_row(3'000), kNewest)->value(), "new");
  EXPECT_EQ(table.rows(), kRows + 1'000);
}

TEST(Memtable, BehavesLikeAMapOfVersions) {
  constexpr uint64_t kSeed = 4;
  std::mt19937_64 random(kSeed);
  Memtable table;
  std::map<std::string, std::map<uint64_t, std::optional<std::string>>> expected;
  const auto random_key = [&] {
    std::string key(1 + random() % 3, '\0');
    for (char& byte : key)
      byte =
          "\x00\x01"
          "abc\x7f\xfe"[random() % 7];
    return key;
  };
  constexpr uint64_t kCommits = 500;
  for (uint64_t commit = 1; commit <= kCommits; ++commit) {
    for (uint64_t writes = random() % 5; writes > 0; --writes) {
      const std::string key = random_key();
      std::optional<std::string> value;
      if (random() % 3 != 0) value = std::string(random() % 300, static_cast<char>(random()));
      table.add(commit, key, value);
      expected[key][commit] = value;
    }
  }
  for (int i = 0; i < 500; ++i) {
    const uint64_t commit = random() % (kCommits + 1);
    KeyRange range{random_key(), random_key()};
    if (range.high < range.low) std::swap(range.low, range.high);
    std::vector<std::string> forward;
    for (const auto& [key, versions] : expected) {
      auto at = versions.upper_bound(commit);
      const Memtable::Version* const found = table.find(key, commit);
      ASSERT_EQ(found != nullptr, at != versions.begin());
      if (found == nullptr) continue;
      const std::optional<std::string>& value = std::prev(at)->second;
      ASSERT_EQ(found->value(), value);
      if (key < range.low || key >= range.high) continue;
      forward.push_back(value ? fmt::format("{}={}", key, *value) : key + "-");
    }
    ASSERT_EQ(rows_of(table, commit, range), forward);
    const std::vector<std::string> backward(forward.rbegin(), forward.rend());
    ASSERT_EQ(rows_of(table, commit, range, Direction::kBackward), backward);
  }
}

TEST(Memtable, CanBeReadWhileAnotherThreadAddsRows) {
  // Commit n sets rows n, n/2, n/3 of a fixed list of shuffled keys to n, so a reader can compute
  // the expected value of each row at its commit.
  constexpr uint64_t kCommits = 3'000;
  std::vector<std::string> keys;
  for (uint64_t i = 0; i <= kCommits; ++i) keys.push_back(fmt::format("{:04}", i * 7919 % 10'000));
  Memtable table;
  std::atomic<uint64_t> committed = 0;
  std::vector<std::thread> readers;
  std::vector<std::string> wrong(2);
  std::vector<uint64_t> looks(2);
  for (size_t reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      for (uint64_t commit = 0; commit < kCommits;) {
        commit = committed.load(std::memory_order_acquire);
        std::map<std::string, std::string> expected;
        for (uint64_t n = commit; n > 0 && expected.size() < 50; --n) {
          for (uint64_t part = 1; part <= 3; ++part) {
            expected.emplace(keys[n / part], std::to_string(n));
          }
        }
        for (const auto& [key, value] : expected) {
          const Memtable::Version* const found = table.find(key, commit);
          if (found == nullptr || found->value() != value) wrong[reader] = key;
        }
        const size_t forward = rows_of(table, commit).size();
        const size_t backward = rows_of(table, commit, kAll, Direction::kBackward).size();
        if (forward != backward || forward < commit) wrong[reader] = "a walk";
        ++looks[reader];
      }
    });
  }
  for (uint64_t n = 1; n <= kCommits; ++n) {
    for (uint64_t part = 1; part <= 3; ++part) table.add(n, keys[n / part], std::to_string(n));
    committed.store(n, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_THAT(wrong, ElementsAre("", ""));
  EXPECT_THAT(looks, testing::Each(testing::Gt(0U)));
}

}  // namespace
}  // namespace millrace
