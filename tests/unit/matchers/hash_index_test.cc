// HashIndex is compared with a std::set.
#include "matchers/hash_index.h"

#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(HashIndex, FindsTheIdsThatWereAddedAndNotRemoved) {
  std::mt19937 random(1);
  HashIndex index;
  std::set<std::pair<uint32_t, uint32_t>> present;
  for (uint32_t id = 0; id < 20'000; ++id) {
    // Many ids share a hash or a place. High hashes wrap around from the end of the table.
    const uint32_t hash = random() % 2 == 0 ? random() % 50 : 0xffffffff - random() % 50;
    index.add(hash, id);
    present.emplace(hash, id);
    while (present.size() > 300 || (random() % 3 == 0 && !present.empty())) {
      const auto removed =
          std::next(present.begin(), static_cast<ptrdiff_t>(random() % present.size()));
      index.remove(removed->first, removed->second);
      present.erase(removed);
    }
    std::set<std::pair<uint32_t, uint32_t>> found;
    index.find(hash, [&](uint32_t one) {
      EXPECT_TRUE(found.emplace(hash, one).second);
      return false;
    });
    const std::set<std::pair<uint32_t, uint32_t>> expected(present.lower_bound({hash, 0}),
                                                           present.upper_bound({hash, 0xffffffff}));
    ASSERT_EQ(found, expected) << id;
  }
}

TEST(HashIndex, StopsTheSearchWhenTheCallerFoundAnId) {
  HashIndex index;
  for (uint32_t id = 0; id < 9; ++id) index.add(7, id);
  size_t seen = 0;
  EXPECT_TRUE(index.find(7, [&](uint32_t) { return ++seen == 3; }));
  EXPECT_EQ(seen, 3u);
  EXPECT_FALSE(index.find(8, [](uint32_t) { return true; }));
}

TEST(HashIndex, FindsNothingWhileItIsEmpty) {
  EXPECT_FALSE(HashIndex().find(7, [](uint32_t) { return true; }));
}

TEST(HashIndex, HashesEachByte) {
  for (size_t size = 1; size <= 20; ++size) {
    const std::string bytes(size, 'a');
    for (size_t at = 0; at < size; ++at) {
      std::string other = bytes;
      other[at] = 'b';
      EXPECT_NE(HashIndex::hash_of(other, 0), HashIndex::hash_of(bytes, 0)) << at << " of " << size;
    }
  }
}

TEST(HashIndex, HashesBytesWithTheirLengthAndTheSeed) {
  std::set<uint32_t> hashes;
  const std::string bytes = "order-00000000000001-order-00000000000001";
  for (size_t size = 0; size <= bytes.size(); ++size) {
    hashes.insert(HashIndex::hash_of(bytes.substr(0, size), 0));
    hashes.insert(HashIndex::hash_of(bytes.substr(0, size), 1));
    hashes.insert(HashIndex::hash_of(std::string(size, '\0'), 0));
  }
  // The empty text is hashed twice with seed 0: as a prefix of `bytes`, and as zero NUL bytes.
  EXPECT_EQ(hashes.size(), 3 * (bytes.size() + 1) - 1);
}

}  // namespace
}  // namespace millrace
