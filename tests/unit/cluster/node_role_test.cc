// From standby to active and back: each rule, and the rows of failures that concern it.
// node_role_schedules_test.cc plays several nodes on one log at random.
#include "cluster/node_role.h"

#include <gtest/gtest.h>

#include "tests/unit/cluster/role_play.h"

namespace millrace {
namespace {

// How a `begin` ends.

TEST(NodeRoleBegin, ExpectsWhatTheFolderHasAndIsSentOnce) {
  RolePlay()
      .play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {3000, says(0), ""},
             {9000, says(0), ""}});
}

TEST(NodeRoleBegin, ThatIsTakenMakesTheNodeTheActive) {
  RolePlay play;
  play.play(leading());
  EXPECT_TRUE(play.may_serve(2600));
}

TEST(NodeRoleBegin, GivesALeadThatIsFreshForAWhileAfterTheLatestAppendWasSent) {
  RolePlay play;
  play.play(caught_up());
  EXPECT_FALSE(play.role().is_active());
  EXPECT_FALSE(play.role().node_lead());
  play.play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {3000, begin_failed(), "open"},
             {3010, opened(), ""},
             {3050, own_begin(8), "start, beat"}});
  EXPECT_TRUE(play.role().is_active());
  EXPECT_EQ(play.role().node_lead()->sent, time_at(2'000));
  EXPECT_EQ(play.role().node_lead()->fresh_until, time_at(3'600));
  play.play({{3100, loaded(), "serve"}, {3110, beat_taken(3050), ""}});
  EXPECT_EQ(play.role().node_lead()->sent, time_at(3'050));
  EXPECT_EQ(play.role().node_lead()->fresh_until, time_at(4'650));
}

TEST(NodeRoleBegin, ThatFailsMakesTheNodeOpenItsReaderAgain) {
  RolePlay()
      .play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {2010, begin_failed(), "open"},
             {2020, says(0), ""},  // of the former reader
             {2030, opened(), ""},
             {2040, says(0), ""},
             {3000, says(0), ""},
             {4000, says(0), ""},
             {4040, passes(), "begin behind 7 unclean 1"}});
  // Another node was first.
  RolePlay()
      .play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {2010, begin_failed(), "open"},
             {2020, opened(), ""},
             {2030, begin(8), ""},
             {3030, says(0), ""},
             {4030, passes(), "begin behind 8 unclean 1"}});
}

TEST(NodeRoleBegin, WithoutAnAnswerCountsWhenItIsReadInTheLog) {
  const std::vector<RoleRow> unanswered = {{1000, says(0), ""},
                                           {2000, passes(), "begin behind 7 unclean 1"},
                                           {3000, begin_failed(), "open"},
                                           {3010, opened(), ""}};
  RolePlay()
      .play(caught_up())
      .play(unanswered)
      .play({{3050, own_begin(8), "start, beat"},
             {3100, loaded(), "serve"},
             {3110, beat_taken(3050), ""}});
  // Read late: its lead is not fresh any more.
  RolePlay()
      .play(caught_up())
      .play(unanswered)
      .play({{3600, own_begin(8), "start, beat"},
             {3610, loaded(), ""},
             {3620, beat_taken(3600), "serve"}});
  // It may be read before its outcome is known.
  RolePlay()
      .play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {2020, own_begin(8), ""},
             {3000, begin_failed(), "open"},
             {3010, opened(), ""},
             {3020, says(0), "start, beat"}});
}

TEST(NodeRoleBegin, LeadsFromTheFirstOfThoseThatExpectTheSameMessage) {
  // The log has one of them, which may be the first.
  RolePlay()
      .play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {3000, begin_failed(), "open"},
             {3010, opened(), ""},
             {3010, says(0), ""},
             {4010, says(0), ""},
             {5010, passes(), "begin behind 7 unclean 1"},
             {6010, begin_failed(), "open"},
             {6020, opened(), ""},
             {6050, own_begin(8), "start, beat"},
             {6060, loaded(), ""},
             {6070, beat_taken(6050), "serve"}});
}

TEST(NodeRoleBegin, BehindWhichIsTheBeginOfAnotherNodeIsOfNoUse) {
  RolePlay()
      .play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {3000, begin_failed(), "open"},
             {3010, opened(), ""},
             {9000, own_begin(8, 1, 1), ""},
             {9010, begin(9), "replace"},
             {9020, passes(), ""}});
}

TEST(NodeRoleBegin, OfAnEmptyLogNeedsThatTheNodeFoundsTheCluster) {
  const std::vector<RoleRow> empty = {{0, clock_is_off(Duration(0)), "open"},
                                      {0, opened(), ""},
                                      {0, says(0), ""},
                                      {1000, says(0), ""}};
  RolePlay({}, 0).play(empty).play({{2000, says(0), ""}, {3000, says(0), ""}});
  RolePlay({.founds = true}, 0).play(empty).play({{2000, passes(), "begin behind 0 unclean 0"}});
  // Another node has founded it.
  RolePlay({}, 0).play(empty).play(
      {{1500, begin(1), ""}, {2500, says(0), ""}, {3500, passes(), "begin behind 1 unclean 1"}});
}

TEST(NodeRoleBegin, IsNotMadeByANodeThatCannotFollow) {
  RolePlay()
      .play(caught_up())
      .play({{500,
              [](NodeRole& role, RoleTime) {
                role.follow_failed({"log.diverged", "differs"});
              },
              ""},
             {1000, says(0), ""},
             {2000, says(0), ""},
             {3000, says(0), ""}});
  RolePlay()
      .play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {2005,
              [](NodeRole& role, RoleTime) {
                role.follow_failed({"store.io", "disk"});
              },
              ""},
             {2010, begin_taken(2000), "end"},
             {2020, end_taken(), "replace"}});
}

// The lead of an active.

TEST(NodeRoleLead, SendsABeatHalfASecondAfterTheLatestConfirmedAppendWasSent) {
  RolePlay().play(leading()).play({{2700, commit_started(), ""},
                                   {2720, commit_taken(2700), ""},
                                   {3200, passes(), "beat"},
                                   {3210, beat_taken(3200), ""},
                                   {3700, passes(), "beat"}});
}

TEST(NodeRoleLead, IsFreshOnlyByAnAcknowledgement) {
  RolePlay play;
  play.play(leading()).play({{2700, commit_started(), ""}});
  // The commit is sent and not acknowledged: the lead is that of the beat at 2500.
  EXPECT_TRUE(play.may_serve(4099));
  EXPECT_FALSE(play.may_serve(4100));
  play.play({{4100, passes(), "stop serving"},
             {8000, commit_taken(2700), "beat"},
             {8010, beat_taken(8000), "serve"}});
  EXPECT_TRUE(play.may_serve(9599));
  EXPECT_FALSE(play.may_serve(9600));
}

TEST(NodeRoleLead, IsNotFreshBeforeTheEngineIsLoaded) {
  RolePlay play;
  play.play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {2010, begin_taken(2000), "start"}});
  EXPECT_FALSE(play.may_serve(2010));
}

TEST(NodeRoleLead, OfAPausedActiveEndsWithoutAnEffect) {
  RolePlay play;
  play.play(leading()).sleep_until(12'000);
  EXPECT_FALSE(play.may_serve(12'000));
  play.play({{12'000, passes(), "stop serving, beat"}, {12'010, epoch_lost(), "replace"}});
  EXPECT_FALSE(play.may_serve(12'010));
}

TEST(NodeRoleLead, OutlastsAnElectionOfTheBroker) {
  // No other node has started an epoch meanwhile.
  RolePlay().play(leading()).play({{3000, passes(), "beat"},
                                   {4100, passes(), "stop serving"},
                                   {11'000, beat_taken(3000), "beat"},
                                   {11'010, beat_taken(11'000), "serve"}});
}

TEST(NodeRoleLead, HasBeatsWhileTheEngineMakesTurns) {
  RolePlay({.engine_limit = Duration(1000)})
      .play(leading())
      .play({{3000, passes(), "beat"},
             {3000, beat_taken(3000), ""},
             {3500, passes(), "beat"},
             {3500, beat_taken(3500), ""},
             {5100, passes(), "stop serving"},  // the turn of 2600 was the latest
             {6000, turn(), "beat"},
             {6010, beat_taken(6000), "serve"},
             {6500, passes(), "beat"}});
}

TEST(NodeRoleLead, HasBeatsWhileTheEngineLoads) {
  RolePlay({.engine_limit = Duration(100)})
      .play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {2010, begin_taken(2000), "start"},
             {2500, passes(), "beat"},
             {2500, beat_taken(2500), ""},
             {3000, passes(), "beat"}});
}

TEST(NodeRoleLead, HasBeatsAfterTheEngineHasWaitedForTheLog) {
  RolePlay({.engine_limit = Duration(1000)})
      .play(leading())
      .play({{2700, commit_started(), ""},
             {4100, passes(), "stop serving"},
             {60'000, commit_taken(2700), "beat"},
             {60'010, beat_taken(60'000), "serve"}});
}

TEST(NodeRoleLead, EndsWhenAnAppendIsRefusedOrAnotherBeginIsRead) {
  RolePlay play;
  play.play(leading()).play({{2700, commit_started(), ""},
                             {2710, epoch_lost(), "stop serving, replace"},
                             {2720, passes(), ""}});
  EXPECT_FALSE(play.may_serve(2710)) << "a deposed active answers nothing";
  RolePlay reads;
  reads.play(leading()).play(
      {{2700, own_begin(8), ""}, {2710, beat(9), ""}, {2720, begin(10), "stop serving, replace"}});
  EXPECT_FALSE(reads.may_serve(2720));
}

TEST(NodeRoleLead, IsOverBeforeTheActionsAreTaken) {
  RolePlay play;
  play.play(leading());
  play.role().epoch_lost();
  EXPECT_FALSE(play.may_serve(2600));
}

// Clocks.

TEST(NodeRoleClock, ThatIsOffKeepsANodeFromTakingOver) {
  for (const int offset : {1001, -1001}) {
    RolePlay().play({{0, clock_is_off(Duration(offset)), "open"},
                     {0, opened(), ""},
                     {0, commit(7), ""},
                     {1000, says(0), ""},
                     {2000, says(0), ""},
                     {3000, clock_is_off(Duration(1000)), "begin behind 7 unclean 1"}});
  }
}

TEST(NodeRoleClock, MustBeKnown) {
  RolePlay().play({{0, opened(), "open"},
                   {0, commit(7), ""},
                   {1000, says(0), ""},
                   {2000, says(0), ""},
                   {3000, clock_is_off(Duration(-1000)), "begin behind 7 unclean 1"}});
}

TEST(NodeRoleClock, ThatDriftsEndsTheEpoch) {
  RolePlay play;
  play.play(leading()).play({{2700, clock_is_off(Duration(1001)), "stop serving, drain"}});
  EXPECT_FALSE(play.may_serve(2700));
  play.play({{2750, clock_is_off(Duration(0)), ""},
             {2800, drained(), "end"},
             {2810, end_taken(), "replace"}});
}

// The end of a process.

TEST(NodeRoleStop, EndsAStandbyAtOnce) {
  RolePlay().play(caught_up()).play({{100, stop_asked(), "exit"}, {3000, says(0), ""}});
}

TEST(NodeRoleStop, DrainsTheEngineAndStopsItsEffectsBeforeTheEnd) {
  RolePlay play;
  play.play(leading()).play({{2700, stop_asked(), "drain"}});
  EXPECT_TRUE(play.may_serve(2700));
  play.play({{2800, drained(), "stop serving, end"}});
  EXPECT_FALSE(play.may_serve(2800));
  play.play({{2810, end_taken(), "exit"}, {2820, passes(), ""}});
}

TEST(NodeRoleStop, WaitsHalfASecondForTheEngine) {
  RolePlay().play(leading()).play({{2600, stop_asked(), "drain"},
                                   {3000, passes(), "beat"},
                                   {3010, beat_taken(3000), ""},
                                   {3100, passes(), "stop serving, end"},
                                   {3110, end_taken(), "exit"}});
}

TEST(NodeRoleStop, WaitsForAnAppendThatIsUnderWay) {
  RolePlay().play(leading()).play({{2700, commit_started(), ""},
                                   {2710, stop_asked(), "drain"},
                                   {2720, drained(), ""},
                                   {3500, commit_taken(2700), "stop serving, end"}});
}

TEST(NodeRoleStop, EndsTheProcessAlsoWithoutTheLog) {
  RolePlay().play(leading()).play({{2700, stop_asked(), "drain"},
                                   {2720, drained(), "stop serving, end"},
                                   {12'700, passes(), "exit"}});
  RolePlay().play(leading()).play({{2700, commit_started(), ""},
                                   {2710, stop_asked(), "drain"},
                                   {2720, drained(), ""},
                                   {4100, passes(), "stop serving"},
                                   {12'710, passes(), "exit"}});
  // Another node has deposed it.
  RolePlay().play(leading()).play({{2700, stop_asked(), "drain"},
                                   {2720, drained(), "stop serving, end"},
                                   {2730, epoch_lost(), "exit"}});
}

TEST(NodeRoleStop, WaitsForTheOutcomeOfABegin) {
  const std::vector<RoleRow> stopped = {
      {1000, says(0), ""}, {2000, passes(), "begin behind 7 unclean 1"}, {2005, stop_asked(), ""}};
  RolePlay()
      .play(caught_up())
      .play(stopped)
      .play({{2010, begin_taken(2000), "end"}, {2020, end_taken(), "exit"}});
  RolePlay().play(caught_up()).play(stopped).play({{2010, begin_failed(), "exit"}});
}

TEST(NodeRoleStop, EndsALoad) {
  RolePlay()
      .play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {2010, begin_taken(2000), "start"},
             {2100, stop_asked(), "drain"},
             {2200, drained(), "end"},
             {2210, end_taken(), "exit"}});
}

}  // namespace
}  // namespace millrace
