#include "tests/support/outage_bounds.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

struct BoundsCase {
  OutageBounds bounds;
  std::vector<Duration> outages;
  std::string beyond;
};

TEST(OutageBounds, NameWhatIsLonger) {
  const OutageBounds both{.median = Duration(30), .most = Duration(40)};
  const OutageBounds most{.median = std::nullopt, .most = Duration(40)};
  const BoundsCase cases[] = {
      {both, {}, ""},
      {both, {Duration(40), Duration(30), Duration(1)}, ""},
      {both,
       {Duration(1), Duration(31), Duration(40)},
       "the median of 3 outages is 31 ms; expected at most 30 ms"},
      {both,
       {Duration(31), Duration(1)},
       "the median of 2 outages is 31 ms; expected at most 30 ms"},
      {both,
       {Duration(50), Duration(1), Duration(2), Duration(3), Duration(41)},
       "2 of 5 outages are longer than 40 ms; the longest one is 50 ms"},
      {most, {Duration(40), Duration(40)}, ""},
      {most, {Duration(41)}, "1 of 1 outages are longer than 40 ms; the longest one is 41 ms"},
  };
  for (const BoundsCase& one : cases) {
    EXPECT_EQ(beyond_bounds(one.bounds, one.outages), one.beyond);
  }
}

}  // namespace
}  // namespace millrace
