// When a standby finds the log silent, and appends a `begin`.
#include "cluster/silence.h"

#include <gtest/gtest.h>

#include "tests/unit/cluster/role_play.h"

namespace millrace {
namespace {

constexpr const char* kBegins = "begin behind 7 unclean 1";

TEST(SilenceOfTheLog, IsTwoSecondsWithoutAMessage) {
  RolePlay()
      .play(caught_up())
      .play(
          {{1000, beat(8), ""}, {2000, says(0), ""}, {3000, passes(), "begin behind 8 unclean 1"}});
  Silence silence(Duration(2000));
  silence.opened();
  silence.message(false, 0, time_at(500));
  silence.broker_heard(0, time_at(2000));
  EXPECT_EQ(silence.next_time(), time_at(2500));
  EXPECT_FALSE(silence.is_silent(time_at(2499)));
  EXPECT_TRUE(silence.is_silent(time_at(2500)));
}

TEST(SilenceOfTheLog, NeedsThatTheBrokerIsHeard) {
  // The node was cut off, with the active or without it: what came meanwhile is not known.
  RolePlay()
      .play(caught_up())
      .play({{10'000, says(0), ""}, {11'000, says(0), ""}, {12'000, passes(), kBegins}});
  Silence silence(Duration(2000));
  silence.opened();
  silence.broker_heard(0, time_at(0));
  EXPECT_TRUE(silence.is_heard(time_at(1500)));
  EXPECT_FALSE(silence.is_heard(time_at(1501)));
}

TEST(SilenceOfTheLog, StartsAgainInAProcessThatWasStopped) {
  RolePlay()
      .play(caught_up())
      .sleep_until(9000)
      .play({{9000, passes(), ""},
             {9000, says(0), ""},
             {10'000, says(0), ""},
             {11'000, passes(), kBegins}});
}

TEST(SilenceOfTheLog, NeedsThatNothingIsPending) {
  RolePlay()
      .play(caught_up())
      .play({{1000, says(2), ""},
             {2000, says(2), ""},
             {3000, says(1), ""},
             {3500, says(0), ""},
             {4500, says(0), ""},
             {5500, passes(), kBegins}});
}

TEST(SilenceOfTheLog, NeedsThatTheFolderHasAllThatWasRead) {
  RolePlay()
      .play(caught_up())
      .play({{500, read({.what = LogHeard::What::kCommit, .sequence = 8}), ""},
             {1500, says(0), ""},
             {2500, says(0), ""},
             {3000, applied(8), "begin behind 8 unclean 1"}});
}

TEST(SilenceOfTheLog, IsThereAtOnceBehindAnEnd) {
  RolePlay().play(caught_up()).play({{500, end(8), "begin behind 8 unclean 0"}});
  // Another node may have its `begin` behind it.
  RolePlay().play(caught_up()).play({{500, end(8, 1), ""}, {510, begin(9), ""}});
  RolePlay()
      .play(caught_up())
      .play({{500, read({.what = LogHeard::What::kEnd, .sequence = 8}), ""},
             {510, applied(8), "begin behind 8 unclean 0"}});
  // A node that opens the reader again finds it as well.
  RolePlay()
      .play(caught_up())
      .play({{500, end(8, 1), ""},
             {600, closed(), "open"},
             {700, opened(), ""},
             {800, says(0), "begin behind 8 unclean 0"}});
}

TEST(SilenceOfTheLog, IsThereAtOnceForOneBeginOnly) {
  RolePlay()
      .play(caught_up())
      .play({{500, end(8), "begin behind 8 unclean 0"},
             {510, begin_failed(), "open"},
             {520, opened(), ""},
             {530, says(0), ""},
             {1500, says(0), ""},
             {2500, says(0), ""},
             {2530, passes(), "begin behind 8 unclean 0"}});
}

TEST(SilenceOfTheLog, StartsAgainWhenTheStreamHasAnotherLeader) {
  RolePlay()
      .play(caught_up())
      .play({{1000, says(0), ""},
             {1900, new_leader(), ""},
             {2000, says(0), ""},
             {3000, says(0), ""},
             {3900, passes(), kBegins}});
}

TEST(SilenceOfTheLog, StartsAgainWithEachOpeningOfTheReader) {
  RolePlay()
      .play(caught_up())
      .play({{1000, closed(), "open"},
             {1100, opened(), ""},
             {1200, says(0), ""},
             {2200, says(0), ""},
             {3200, passes(), kBegins}});
}

TEST(SilenceOfTheLog, IsNotBrokenByForeignMessages) {
  RolePlay()
      .play(caught_up())
      .play({{1000, foreign(8), ""},
             {1900, foreign(9), ""},
             {2000, passes(), "begin behind 9 unclean 1"}});
}

}  // namespace
}  // namespace millrace
