// The two tables below the listener index, each beside a plain model of it.
#include "matchers/hash_index.h"

#include <map>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "matchers/slab.h"

namespace millrace {
namespace {

TEST(HashIndexes, FindWhatWasAddedAndNotRemoved) {
  std::mt19937 random(1);
  HashIndex index;
  std::set<std::pair<uint32_t, uint32_t>> there;
  for (uint32_t id = 0; id < 20'000; ++id) {
    // Many share a hash, or a place: those at the end of the table go on at its beginning.
    const uint32_t hash = random() % 2 == 0 ? random() % 50 : 0xffffffff - random() % 50;
    index.add(hash, id);
    there.emplace(hash, id);
    while (there.size() > 300 || (random() % 3 == 0 && !there.empty())) {
      const auto gone = std::next(there.begin(), static_cast<ptrdiff_t>(random() % there.size()));
      index.remove(gone->first, gone->second);
      there.erase(gone);
    }
    std::set<std::pair<uint32_t, uint32_t>> found;
    index.find(hash, [&](uint32_t one) {
      EXPECT_TRUE(found.emplace(hash, one).second);
      return false;
    });
    const std::set<std::pair<uint32_t, uint32_t>> expected(there.lower_bound({hash, 0}),
                                                           there.upper_bound({hash, 0xffffffff}));
    ASSERT_EQ(found, expected) << id;
  }
}

TEST(HashIndexes, StopLookingWhenTold) {
  HashIndex index;
  for (uint32_t id = 0; id < 9; ++id) index.add(7, id);
  size_t seen = 0;
  EXPECT_TRUE(index.find(7, [&](uint32_t) { return ++seen == 3; }));
  EXPECT_EQ(seen, 3u);
  EXPECT_FALSE(index.find(8, [](uint32_t) { return true; }));
}

TEST(HashIndexes, HashBytesWithTheirLengthAndTheirPlace) {
  std::set<uint32_t> hashes;
  const std::string bytes = "order-00000000000001-order-00000000000001";
  for (size_t size = 0; size <= bytes.size(); ++size) {
    hashes.insert(HashIndex::hash_of(bytes.substr(0, size), 0));
    hashes.insert(HashIndex::hash_of(bytes.substr(0, size), 1));
    hashes.insert(HashIndex::hash_of(std::string(size, '\0'), 0));
  }
  // The empty text is both the first of `bytes` and of the zeros.
  EXPECT_EQ(hashes.size(), 3 * (bytes.size() + 1) - 1);
}

TEST(Slabs, GiveSlotsAgainAndKeepTheRestInPlace) {
  Slab<std::string> slab;
  std::map<uint32_t, const std::string*> places;
  for (uint32_t i = 0; i < 5'000; ++i) {
    const uint32_t slot = slab.add(std::to_string(i));
    ASSERT_EQ(slot, i);
    places[slot] = &slab[slot];
  }
  for (uint32_t slot = 0; slot < 5'000; slot += 2) slab.remove(slot);
  EXPECT_EQ(slab.size(), 2'500u);
  EXPECT_EQ(slab[0], "") << "what is removed is let go of";
  for (uint32_t i = 0; i < 2'500; ++i) EXPECT_LT(slab.add("again"), 5'000u);
  EXPECT_EQ(slab.size(), 5'000u);
  EXPECT_EQ(slab.end(), 5'000u);
  for (const auto& [slot, place] : places) ASSERT_EQ(&slab[slot], place);
  EXPECT_EQ(slab[4'999], "4999");
}

}  // namespace
}  // namespace millrace
