// Why a node of a cluster is not ready.
#include <string>

#include <gtest/gtest.h>

#include "cluster/node_role.h"
#include "tests/unit/cluster/role_play.h"

namespace millrace {
namespace {

TEST(NodeRoleReady, OfAStandbyThatHasAllAndKnowsAnActive) {
  RolePlay play;
  EXPECT_EQ(play.not_ready(0), "log.unreachable");
  play.play({{0, clock_is_off(Duration(0)), "open"}, {0, opened(), ""}});
  EXPECT_EQ(play.not_ready(0), "log.unreachable");
  play.play({{100, says(1), ""}});
  EXPECT_EQ(play.not_ready(100), "cluster.behind");
  play.play({{200, commit(7), ""}});
  EXPECT_EQ(play.not_ready(200), "");
  EXPECT_EQ(play.not_ready(1700), "");
  EXPECT_EQ(play.not_ready(1701), "log.unreachable") << "the node is cut off";
  play.play({{1800, read({.what = LogHeard::What::kBeat, .sequence = 8}), ""}});
  EXPECT_EQ(play.not_ready(1800), "cluster.behind");
  play.play({{1900, applied(8), ""}, {2500, says(0), ""}});
  EXPECT_EQ(play.not_ready(3799), "");
  EXPECT_EQ(play.not_ready(3800), "cluster.no_active");
  play.play({{3000, clock_is_off(Duration(-1001)), ""}});
  EXPECT_EQ(play.not_ready(3000), "cluster.clock");
}

TEST(NodeRoleReady, OfAStandbyNeedsAMessageThatIsNotOld) {
  RolePlay play;
  play.play(caught_up()).play({{100, heard({.sequence = 8, .age = std::chrono::minutes(1)}), ""}});
  EXPECT_EQ(play.not_ready(100), "cluster.no_active");
  // A clock that is behind makes it no younger.
  play.play({{200, heard({.sequence = 9, .age = Duration(-900)}), ""}, {1000, says(0), ""}});
  EXPECT_EQ(play.not_ready(2199), "");
  EXPECT_EQ(play.not_ready(2200), "cluster.no_active");
}

TEST(NodeRoleReady, OfAStandbyNotBehindAnEnd) {
  RolePlay play;
  play.play(caught_up()).play({{100, clock_is_off(Duration(2000)), ""}, {200, end(8), ""}});
  EXPECT_EQ(play.not_ready(200), "cluster.clock");
  play.play({{300, clock_is_off(Duration(0)), "begin behind 8 unclean 0"}});
  EXPECT_EQ(play.not_ready(300), "cluster.no_active");
}

TEST(NodeRoleReady, OfAClusterThatWasNotFounded) {
  RolePlay play({}, 0);
  play.play({{0, clock_is_off(Duration(0)), "open"}, {0, opened(), ""}, {0, says(0), ""}});
  EXPECT_EQ(play.not_ready(0), "cluster.not_founded");
  play.play({{500, begin(1), ""}});
  EXPECT_EQ(play.not_ready(500), "");
}

TEST(NodeRoleReady, OfANodeThatCannotFollow) {
  RolePlay play;
  play.play(caught_up());
  play.role().follow_failed({"store.version", "the rows are of format 9"});
  EXPECT_EQ(play.role().not_ready(time_at(0)),
            (Error{"store.version", "the rows are of format 9"}));
}

TEST(NodeRoleReady, OfAnActiveWithAFreshLead) {
  RolePlay play;
  play.play(caught_up())
      .play({{1000, says(0), ""},
             {2000, passes(), "begin behind 7 unclean 1"},
             {2010, begin_taken(2000), "start"}});
  EXPECT_EQ(play.not_ready(2010), "cluster.loading");
  play.play({{2100, loaded(), "serve"}});
  EXPECT_EQ(play.not_ready(3599), "");
  EXPECT_EQ(play.not_ready(3600), "log.unreachable");
  play.play({{2200, stop_asked(), "drain"}});
  EXPECT_EQ(play.not_ready(2200), "stopping");
}

TEST(NodeRoleReady, OfADeposedActiveNotAtAll) {
  RolePlay play;
  play.play(leading());
  play.role().epoch_lost();
  EXPECT_EQ(play.not_ready(2600), "stopping");
}

}  // namespace
}  // namespace millrace
