// The small rows that a Transaction keeps in memory: what it reads is always what is committed.
#include "orchestrator/store/hot_rows.h"

#include <gtest/gtest.h>

#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

std::string absolute(Table table, std::string_view key) {
  return std::string(AbsoluteKey(table, key).view());
}

class HotRowsTest : public testing::Test {
 protected:
  HotRowsTest() {
    environment =
        Environment::open(folder.path(), {.fails_commit = [this] { return commits_fail; }}).value();
    transaction.emplace(*environment);
  }

  std::optional<std::string_view> read(Table table = Table::kUsage) {
    return transaction->get(table, "a");
  }
  void commit(Table table, std::string value) {
    transaction->put(table, "a", std::move(value));
    ASSERT_TRUE(transaction->commit());
  }

  Folder folder;
  bool commits_fail = false;
  std::unique_ptr<Environment> environment;
  std::optional<Transaction> transaction;
};

TEST_F(HotRowsTest, HaveWhatWasCommittedLast) {
  for (const Table table : {Table::kMeta, Table::kUsage, Table::kCounts, Table::kLive}) {
    SCOPED_TRACE(table_name(table));
    EXPECT_EQ(read(table), std::nullopt);
    commit(table, "1");
    EXPECT_EQ(read(table), "1");
    commit(table, "2");
    EXPECT_EQ(read(table), "2");
    transaction->put(table, "a", "3");
    EXPECT_EQ(read(table), "3") << "what the batch writes comes first";
    transaction->drop();
    EXPECT_EQ(read(table), "2");
    transaction->erase(table, "a");
    ASSERT_TRUE(transaction->commit());
    EXPECT_EQ(read(table), std::nullopt);
  }
}

TEST_F(HotRowsTest, AreForgottenWhenTheyGetLongValues) {
  commit(Table::kUsage, "1");
  EXPECT_EQ(read(), "1");
  const std::string text(100'000, 'x');
  commit(Table::kUsage, text);
  EXPECT_EQ(read(), text);
  commit(Table::kUsage, "2");
  EXPECT_EQ(read(), "2");
}

TEST_F(HotRowsTest, StayAsTheyWereIfACommitFails) {
  commit(Table::kUsage, "1");
  EXPECT_EQ(read(), "1");
  commits_fail = true;
  transaction->put(Table::kUsage, "a", "2");
  EXPECT_FALSE(transaction->commit());
  EXPECT_EQ(read(), "1");
}

TEST_F(HotRowsTest, HaveWhatWasCommittedApart) {
  commit(Table::kMeta, "1");
  EXPECT_EQ(read(Table::kMeta), "1");
  ASSERT_TRUE(transaction->commit_apart({{absolute(Table::kMeta, "a"), "2"}}));
  transaction->drop();
  EXPECT_EQ(read(Table::kMeta), "2");
}

TEST_F(HotRowsTest, AreReadOnceFromTheStore) {
  HotRows rows;
  const std::string key = absolute(Table::kCounts, "a");
  EXPECT_EQ(rows.find(Table::kCounts, key), nullptr);
  rows.note(Table::kCounts, key, "1");
  ASSERT_NE(rows.find(Table::kCounts, key), nullptr);
  EXPECT_EQ(*rows.find(Table::kCounts, key), "1");
  WriteSet writes = {{key, std::nullopt}, {absolute(Table::kCounts, "b"), "2"}};
  rows.committed(writes);
  ASSERT_NE(rows.find(Table::kCounts, key), nullptr);
  EXPECT_EQ(*rows.find(Table::kCounts, key), std::nullopt);
  EXPECT_EQ(rows.find(Table::kCounts, absolute(Table::kCounts, "b")), nullptr)
      << "only rows that a batch has read are kept";
}

TEST_F(HotRowsTest, AreFewAndSmall) {
  HotRows rows;
  const auto is_kept = [&](Table table, const std::string& key, std::string_view value) {
    rows.note(table, absolute(table, key), value);
    return rows.find(table, absolute(table, key)) != nullptr;
  };
  EXPECT_FALSE(is_kept(Table::kLive, "a", "1"));
  EXPECT_FALSE(is_kept(Table::kMeta, std::string(kLogKey), "1")) << "the overlay writes it";
  EXPECT_TRUE(is_kept(Table::kMeta, "short", std::string(256, 'x')));
  EXPECT_FALSE(is_kept(Table::kMeta, "long", std::string(257, 'x')));
  for (int i = 1; i < 256; ++i) EXPECT_TRUE(is_kept(Table::kCounts, std::to_string(i), "1")) << i;
  EXPECT_FALSE(is_kept(Table::kCounts, "256", "1"));
  WriteSet writes;
  rows.committed(writes);
  EXPECT_EQ(rows.find(Table::kMeta, absolute(Table::kMeta, "short")), nullptr)
      << "at the limit a commit forgets all rows";
  EXPECT_TRUE(is_kept(Table::kCounts, "256", "1"));
}

}  // namespace
}  // namespace millrace
