#include "orchestrator/store/rows/identity.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/found_store.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

class IdentityTest : public testing::Test {
 protected:
  /// The identity at the next start in that folder.
  StoreIdentity open(const fs::path& path, const std::optional<std::string>& mark = std::nullopt) {
    auto environment = Environment::open(path);
    EXPECT_TRUE(environment) << environment.error().message;
    auto found = identify(
        **environment,
        [this] {
          std::array<uint8_t, 16> id{};
          id[0] = ++made_;
          return id;
        },
        mark);
    EXPECT_TRUE(found) << found.error().message;
    return *found;
  }

  Folder folder_;
  uint8_t made_ = 0;
};

TEST_F(IdentityTest, IsCreatedAtTheFirstOpenAndKept) {
  const StoreIdentity first = open(folder_.path() / "a");
  EXPECT_EQ(first.id[0], 1);
  EXPECT_FALSE(first.folder.empty());
  EXPECT_EQ(open(folder_.path() / "a"), first);
  EXPECT_EQ(made_, 1);
}

TEST_F(IdentityTest, IsKeptWhenTheFolderIsRenamed) {
  const StoreIdentity first = open(folder_.path() / "a");
  fs::rename(folder_.path() / "a", folder_.path() / "b");
  EXPECT_EQ(open(folder_.path() / "b"), first);
}

TEST_F(IdentityTest, IsCreatedAgainInACopyOfTheFolder) {
  const StoreIdentity first = open(folder_.path() / "a");
  fs::copy(folder_.path() / "a", folder_.path() / "b", fs::copy_options::recursive);
  const StoreIdentity copy = open(folder_.path() / "b");
  EXPECT_NE(copy.id, first.id);
  EXPECT_NE(copy.folder, first.folder);
  EXPECT_EQ(open(folder_.path() / "b"), copy);
  EXPECT_EQ(open(folder_.path() / "a"), first);
}

TEST_F(IdentityTest, IsTheSameOnAllNodesOfACluster) {
  const std::string mark = cluster_mark("shop");
  const StoreIdentity first = open(folder_.path() / "a", mark);
  EXPECT_EQ(first.folder, "cluster shop");
  fs::copy(folder_.path() / "a", folder_.path() / "b", fs::copy_options::recursive);
  EXPECT_EQ(open(folder_.path() / "b", mark), first);
  EXPECT_EQ(open(folder_.path() / "a", mark), first);
  EXPECT_EQ(made_, 1);
}

TEST_F(IdentityTest, IsThatOfOneCluster) {
  const auto check = [&](const char* folder, std::string_view cluster, const fs::path& key = {}) {
    auto environment = Environment::open(folder_.path() / folder, {.key_file = key});
    EXPECT_TRUE(environment) << environment.error().message;
    Transaction tx(**environment);
    const Status checked = check_store_of_cluster(tx, cluster);
    return checked ? "" : checked.error().code + ": " + checked.error().message;
  };
  EXPECT_EQ(check("new", "shop"), "");
  open(folder_.path() / "alone");
  EXPECT_EQ(check("alone", "shop"), "") << "LogFollower refuses it, if it is no node that founds";
  open(folder_.path() / "a", cluster_mark("shop"));
  EXPECT_EQ(check("a", "shop2"), "") << "it has no position in a log: it has left its cluster";
  {
    const auto environment = Environment::open(folder_.path() / "a").value();
    ASSERT_TRUE(found_with(*environment, base_position({1}, {2})));
  }
  EXPECT_EQ(check("a", "shop"), "");
  const std::string other = check("a", "shop2");
  EXPECT_TRUE(other.starts_with("store.cluster: ")) << other;
  EXPECT_NE(other.find("a node of the cluster shop, and --cluster names shop2"), std::string::npos)
      << other;

  {
    const auto environment = Environment::open(folder_.path() / "a").value();
    Transaction tx(*environment);
    tx.put(Table::kMeta, "minor", rows::key_of(kStoreMinor + 1));
    EXPECT_EQ(check_store_of_cluster(tx, "shop").error().code, "store.version");
  }

  std::ofstream(folder_.path() / "key") << std::string(64, 'a');
  fs::permissions(folder_.path() / "key", fs::perms::owner_read);
  const std::string foreign = check("a", "shop", folder_.path() / "key");
  EXPECT_TRUE(foreign.starts_with("store.key: ")) << foreign;
}

TEST_F(IdentityTest, IsCreatedAgainWhenTheStoreEntersOrLeavesACluster) {
  const fs::path path = folder_.path() / "a";
  const StoreIdentity alone = open(path);
  const StoreIdentity in_shop = open(path, cluster_mark("shop"));
  const StoreIdentity in_stock = open(path, cluster_mark("stock"));
  const StoreIdentity again = open(path);
  EXPECT_EQ(in_shop.id[0], alone.id[0] + 1);
  EXPECT_EQ(in_stock.id[0], in_shop.id[0] + 1);
  EXPECT_EQ(again.id[0], in_stock.id[0] + 1);
  EXPECT_EQ(again.folder, alone.folder);
}

TEST_F(IdentityTest, CanBeReadAndWritten) {
  const fs::path path = folder_.path() / "a";
  const StoreIdentity first = open(path);
  const auto environment = Environment::open(path).value();
  EXPECT_EQ(read_store_identity(Snapshot::take(*environment).value()).value(), first);
  Transaction tx(*environment);
  const StoreIdentity other{.id = {7}, .folder = "elsewhere"};
  write_store_identity(tx, other);
  ASSERT_TRUE(tx.commit());
  EXPECT_EQ(read_store_identity(tx).value(), other);
}

TEST_F(IdentityTest, IsMissingInANewStore) {
  const auto environment = Environment::open(folder_.path() / "a").value();
  EXPECT_EQ(read_store_identity(Snapshot::take(*environment).value()).value(), std::nullopt);
}

TEST_F(IdentityTest, IsNotReturnedIfItCannotBeStored) {
  const fs::path path = folder_.path() / "a";
  const StoreIdentity first = open(path);
  {
    EnvironmentOptions options;
    options.fails_commit = [] { return true; };
    const auto environment = Environment::open(path, options).value();
    const auto make_id = [] { return std::array<uint8_t, 16>{7}; };
    const auto lost = identify(*environment, make_id, cluster_mark("shop"));
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, "store.io");
  }
  EXPECT_EQ(open(path), first);
}

}  // namespace
}  // namespace millrace
