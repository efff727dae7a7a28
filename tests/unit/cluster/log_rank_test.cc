// Which node has more of the log.
#include "cluster/log_rank.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

/// The id of the node; empty: there is none.
std::string id_of_ranked(const std::optional<RankedNode>& node) { return node ? node->node : ""; }

TEST(LogRank, GoesByTheEpochFirst) {
  EXPECT_LT((LogRank{1, 200}), (LogRank{2, 100}));
  EXPECT_LT((LogRank{2, 100}), (LogRank{2, 101}));
  EXPECT_EQ((LogRank{2, 100}), (LogRank{2, 100}));
}

TEST(LogRank, FindsTheNodeThatHasMost) {
  struct Row {
    const char* what;
    LogRank own;
    std::vector<RankedNode> answers;
    std::string more;   ///< of a standby
    std::string later;  ///< of an active
  };
  const std::vector<Row> rows = {
      {"no answer", {1, 100}, {}, "", ""},
      {"its own answer", {1, 100}, {{"own", {9, 900}}}, "", ""},
      {"as much", {1, 100}, {{"a", {1, 100}}}, "", ""},
      {"less", {2, 100}, {{"a", {2, 99}}, {"b", {1, 500}}}, "", ""},
      {"more in its epoch", {2, 100}, {{"a", {2, 101}}}, "a", ""},
      {"a later epoch", {2, 100}, {{"a", {3, 50}}}, "a", "a"},
      {"the most", {2, 100}, {{"a", {2, 101}}, {"b", {4, 10}}, {"c", {3, 900}}}, "b", "b"},
      {"a history of its own",
       {2, 100},
       {{.node = "a", .rank = {3, 200}, .is_diverged = true}, {"b", {2, 102}}},
       "b",
       ""},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(id_of_ranked(node_with_more("own", row.own, row.answers)), row.more) << row.what;
    EXPECT_EQ(id_of_ranked(node_of_later_epoch("own", row.own.epoch, row.answers)), row.later)
        << row.what;
  }
}

TEST(LogRank, ChoosesTheFirstOfTheNodesThatHaveAsMuch) {
  struct Row {
    const char* what;
    std::vector<RankedNode> answers;
    bool is_first;
  };
  const LogRank own{2, 100};
  const std::vector<Row> rows = {
      {"no answer", {}, true},
      {"its own answer", {{"m", own}}, true},
      {"a later id", {{"n", own}}, true},
      {"an earlier id", {{"n", own}, {"b", own}}, false},
      {"an earlier id with less", {{"b", {2, 99}}}, true},
      {"an earlier id with a history of its own",
       {{.node = "b", .rank = own, .is_diverged = true}},
       true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(is_first_of_equals("m", own, row.answers), row.is_first) << row.what;
  }
}

}  // namespace
}  // namespace millrace
