// The sealing of data that was made from other data.
#include "model/sealing.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(Sealing, OfCombinedDataIsTheStricterOne) {
  constexpr Sealing::Level kLevels[] = {Sealing::kNone, Sealing::kMasked, Sealing::kHidden};
  for (const Sealing::Level a : kLevels) {
    for (const Sealing::Level b : kLevels) {
      EXPECT_EQ((Sealing(a) | Sealing(b)).level(), std::max(a, b));
      Sealing both = a;
      both |= b;
      EXPECT_EQ(both.level(), std::max(a, b));
    }
  }
}

TEST(Sealing, HidesDataThatIsOnlyKnownToBeSealed) {
  EXPECT_EQ(Sealing(true).level(), Sealing::kHidden);
  EXPECT_EQ(Sealing(false).level(), Sealing::kNone);
  EXPECT_FALSE(Sealing());
  EXPECT_TRUE(Sealing(Sealing::kMasked));
}

}  // namespace
}  // namespace millrace
