// How many takeovers came without an `end`.
#include "cluster/takeover_count.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/cluster/role_play.h"

namespace millrace {
namespace {

using std::chrono::minutes;

struct TakeoverStep {
  int minute;
  bool is_after_end;
  uint64_t expected;  ///< the count of the `begin`
};

TEST(TakeoverCounting, CountsTakeoversWithoutAnEndInTenMinutes) {
  const std::vector<std::vector<TakeoverStep>> tables = {
      {{0, false, 0}},  // the first of a log
      {{0, false, 0}, {1, false, 1}, {2, false, 2}, {3, false, 3}},
      {{0, false, 0}, {1, true, 0}, {2, true, 0}},  // handed over
      {{0, false, 0}, {1, false, 1}, {5, true, 1}, {6, false, 2}},
      {{0, false, 0}, {1, false, 1}, {5, true, 1}, {12, false, 1}},  // eleven minutes after it
      {{0, false, 0}, {1, false, 1}, {11, false, 2}},
      {{0, false, 0}, {1, false, 1}, {12, false, 1}, {13, false, 2}},
  };
  for (const auto& table : tables) {
    TakeoverCount count(false);
    for (const TakeoverStep& step : table) {
      const RoleTime now = RoleTime(minutes(step.minute));
      if (step.is_after_end) count.saw_end();
      EXPECT_EQ(count.next(now), step.expected) << "at minute " << step.minute;
      count.saw_begin(step.expected, now);
    }
  }
}

TEST(TakeoverCounting, CountsATakeoverFromAnActiveOfWhichOnlyCommitsWereRead) {
  EXPECT_EQ(TakeoverCount(true).next(RoleTime(minutes(1))), 1U);
  EXPECT_EQ(TakeoverCount(false).next(RoleTime(minutes(1))), 0U);
}

TEST(TakeoverCounting, MakesTheNextActiveCarefulFromTheSecondOn) {
  const auto table = [](LogHeard first, const std::string& begins, const std::string& starts) {
    first.what = LogHeard::What::kBegin;
    first.sequence = 8;
    RolePlay()
        .play(caught_up())
        .play({{100, heard(first), ""},
               {1000, says(0), ""},
               {2000, says(0), ""},
               {2100, passes(), begins},
               {2110, begin_taken(2100), starts}});
  };
  table({.unclean = 0}, "begin behind 8 unclean 1", "start");
  table({.unclean = 1}, "begin behind 8 unclean 2", "start carefully");
  // The log stored it nine or eleven minutes ago.
  table({.age = minutes(9), .unclean = 1}, "begin behind 8 unclean 2", "start carefully");
  table({.age = minutes(11), .unclean = 1}, "begin behind 8 unclean 1", "start");
}

TEST(TakeoverCounting, KnowsTheBeginBeforeThePositionOfTheFolder) {
  RolePlay().play({{0, read({.what = LogHeard::What::kBegin, .sequence = 3, .unclean = 1}), "open"},
                   {0, clock_is_off(Duration(0)), ""},
                   {0, opened(), ""},
                   {0, says(0), ""},
                   {1000, says(0), ""},
                   {2000, passes(), "begin behind 6 unclean 2"}});
}

}  // namespace
}  // namespace millrace
