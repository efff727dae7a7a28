// A store that leaves its cluster: what it keeps, and who may open it afterwards.
#include "orchestrator/store/rows/leave_cluster.h"

#include <array>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/found_store.h"
#include "orchestrator/store/log_follower.h"
#include "orchestrator/store/rows/crash_row.h"
#include "orchestrator/store/rows/identity.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/node_rows.h"
#include "tests/support/all_rows.h"
#include "tests/support/folder.h"
#include "tests/unit/store/recording_log.h"

namespace millrace {
namespace {

class LeaveCluster : public testing::Test {
 protected:
  std::filesystem::path data() const { return folder_.path() / "data"; }
  std::unique_ptr<Environment> open() const { return Environment::open(data()).value(); }

  static std::array<uint8_t, 16> make_id() { return {7}; }

  /// Makes the store of an active of the cluster shop, with some rows.
  void lead() {
    const auto environment = open();
    environment->lead(log_);
    ASSERT_TRUE(identify(*environment, make_id, cluster_mark("shop")));
    Transaction tx(*environment);
    tx.put(Table::kDedupe, "an event", "applied");
    ASSERT_TRUE(tx.commit());
  }
  /// The code of the error with which a store is not left.
  static std::string refusal(Environment& environment) {
    const auto left = leave_cluster(environment);
    return left ? "" : left.error().code;
  }
  static void put(Environment& environment, std::string_view key, std::string value) {
    Transaction tx(environment);
    tx.put(Table::kMeta, key, std::move(value));
    ASSERT_TRUE(tx.commit());
  }

  Folder folder_;
  RecordingLog log_;
};

TEST_F(LeaveCluster, ErasesWhatOnlyAClusterHasAndNothingElse) {
  lead();
  const auto environment = open();
  const auto kept = all_rows(Snapshot::take(*environment).value());
  {
    Transaction tx(*environment);
    write_node(tx, {1}, {.first_seen = TimePoint(Duration(5)), .address = "http://db1:8780"});
    write_node(tx, {2}, {.first_seen = TimePoint(Duration(6)), .address = "http://db2:8780"});
    tx.replay(crash_row_writes({.deaths = 1, .sequence = 7}));
    ASSERT_TRUE(tx.commit());
  }
  auto rows = kept;
  const auto left = leave_cluster(*environment);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(left->cluster, "shop");
  EXPECT_EQ(left->position, log_.last());
  EXPECT_EQ(rows.erase({Table::kMeta, std::string(kLogKey)}), 1U);
  EXPECT_EQ(all_rows(Snapshot::take(*environment).value()) == rows, true);
}

TEST_F(LeaveCluster, MakesAStoreThatAServerWithoutAClusterOpensAsACopy) {
  lead();
  {
    const auto node = open();
    Transaction tx(*node);
    EXPECT_EQ(check_format(tx).error().code, "store.cluster");
  }
  ASSERT_TRUE(leave_cluster(*open()));
  const auto alone = open();
  const StoreIdentity known = read_store_identity(Snapshot::take(*alone).value()).value().value();
  EXPECT_EQ(known.folder, cluster_mark("shop")) << "find_restored_streams() sees another mark";
  const auto identity = identify(*alone, [] { return std::array<uint8_t, 16>{8}; });
  ASSERT_TRUE(identity) << identity.error().message;
  EXPECT_EQ(identity->id[0], 8) << "another store than that of the cluster";
}

TEST_F(LeaveCluster, MakesAStoreThatOnlyFoundsAnotherCluster) {
  lead();
  const auto environment = open();
  ASSERT_TRUE(leave_cluster(*environment));
  for (const char* const cluster : {"shop", "stock"}) {
    Transaction tx(*environment);
    EXPECT_TRUE(check_store_of_cluster(tx, cluster)) << cluster;
  }
  EXPECT_EQ(LogFollower::open(*environment).error().code, "store.cluster") << "no log has its rows";
}

TEST_F(LeaveCluster, WorksForAStoreWithWhichAClusterWasFounded) {
  const LogPosition base = base_position({1}, {2});
  const auto environment = open();
  ASSERT_TRUE(identify(*environment, make_id));
  ASSERT_TRUE(found_with(*environment, base));
  const auto left = leave_cluster(*environment);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(left->cluster, "");
  EXPECT_EQ(left->position, base);
  EXPECT_EQ(identify(*environment, [] { return std::array<uint8_t, 16>{8}; }).value().id[0], 7)
      << "nothing was committed since";
}

TEST_F(LeaveCluster, IsRefusedForAStoreOfNoClusterOrOneThatLacksRows) {
  const auto environment = open();
  EXPECT_EQ(refusal(*environment), "store.cluster") << "it has no rows";
  ASSERT_TRUE(identify(*environment, make_id));
  EXPECT_EQ(refusal(*environment), "store.cluster");
  put(*environment, kLogKey, "damaged");
  EXPECT_EQ(refusal(*environment), "store.corrupt");
  put(*environment, kLogKey, encode(log_.last()));
  put(*environment, kLoadingKey, encode(log_.last()));
  EXPECT_EQ(refusal(*environment), "store.joining");
}

TEST_F(LeaveCluster, ChangesNothingIfTheCommitFails) {
  lead();
  {
    const auto environment =
        Environment::open(data(), {.fails_commit = [] { return true; }}).value();
    EXPECT_EQ(refusal(*environment), "store.io");
  }
  EXPECT_EQ(read_cluster_of_store(Snapshot::take(*open()).value()).value().cluster, "shop");
}

}  // namespace
}  // namespace millrace
