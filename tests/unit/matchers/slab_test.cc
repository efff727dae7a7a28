#include "matchers/slab.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Slab, ReusesFreeSlotsAndMovesNoValue) {
  Slab<std::string> slab;
  std::map<uint32_t, const std::string*> places;
  for (uint32_t i = 0; i < 5'000; ++i) {
    const uint32_t slot = slab.add(std::to_string(i));
    ASSERT_EQ(slot, i);
    places[slot] = &slab[slot];
  }
  for (uint32_t slot = 0; slot < 5'000; slot += 2) slab.remove(slot);
  EXPECT_EQ(slab.size(), 2'500u);
  EXPECT_EQ(slab[0], "") << "remove() clears the slot";
  for (uint32_t i = 0; i < 2'500; ++i) EXPECT_LT(slab.add("again"), 5'000u);
  EXPECT_EQ(slab.size(), 5'000u);
  EXPECT_EQ(slab.end(), 5'000u);
  for (const auto& [slot, place] : places) ASSERT_EQ(&slab[slot], place);
  EXPECT_EQ(slab[4'999], "4999");
}

}  // namespace
}  // namespace millrace
