#include "orchestrator/store/transaction.h"

#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/folder.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Rows = std::vector<std::pair<std::string, std::string>>;

Rows rows_of(const View& view, Table table, std::string_view prefix = {},
             std::string_view from = {}, Direction direction = Direction::kForward) {
  Rows rows;
  view.scan(table, prefix, from, direction, [&](std::string_view key, std::string_view value) {
    rows.emplace_back(key, value);
    return true;
  });
  return rows;
}

std::string keys_of(const View& view, std::string_view prefix = {}, std::string_view from = {},
                    Direction direction = Direction::kForward) {
  std::string keys;
  for (const auto& [key, value] : rows_of(view, Table::kLive, prefix, from, direction)) {
    keys += keys.empty() ? key : " " + key;
  }
  return keys;
}

class TransactionTest : public testing::Test {
 protected:
  TransactionTest() { open(); }

  void open() {
    transaction.reset();
    environment.reset();
    auto opened = Environment::open(folder.path());
    ASSERT_TRUE(opened) << opened.error().message;
    environment = std::move(*opened);
    transaction.emplace(*environment);
  }

  void put_all(std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) transaction->put(Table::kLive, key, std::string(key));
  }

  Folder folder;
  std::unique_ptr<Environment> environment;
  std::optional<Transaction> transaction;
};

TEST_F(TransactionTest, CommitsWritesApartFromTheBatch) {
  put_all({"a", "b"});
  ASSERT_TRUE(transaction->commit());
  const std::string_view read = *transaction->get(Table::kLive, "a");
  transaction->put(Table::kLive, "c", "c");
  std::string visited;
  transaction->scan(Table::kLive, "", [&](std::string_view key, auto) {
    visited += key;
    if (key != "a") return true;
    const WriteSet apart = {{std::string(AbsoluteKey(Table::kMeta, "note").view()), "1"}};
    EXPECT_TRUE(transaction->commit_apart(apart));
    return true;
  });
  EXPECT_EQ(visited, "abc");
  EXPECT_EQ(read, "a") << "what the batch has read stays valid";
  EXPECT_EQ(keys_of(*Snapshot::take(*environment)), "a b") << "the batch is not committed";
  EXPECT_EQ(Snapshot::take(*environment)->get(Table::kMeta, "note"), "1");

  transaction->drop();
  open();
  EXPECT_EQ(keys_of(*transaction), "a b");
  EXPECT_EQ(transaction->get(Table::kMeta, "note"), "1") << "it is on disk";
}

TEST_F(TransactionTest, ReadsItsOwnWritesFirst) {
  transaction->put(Table::kLive, "a", "1");
  transaction->put(Table::kLive, "b", "1");
  ASSERT_TRUE(transaction->commit());
  transaction->put(Table::kLive, "a", "2");
  transaction->erase(Table::kLive, "b");
  transaction->put(Table::kEnded, "b", "3");
  EXPECT_EQ(transaction->get(Table::kLive, "a"), "2");
  EXPECT_EQ(transaction->get(Table::kLive, "b"), std::nullopt);
  EXPECT_EQ(transaction->get(Table::kEnded, "b"), "3");
  EXPECT_EQ(transaction->get(Table::kEnded, "a"), std::nullopt);
}

TEST_F(TransactionTest, KeepsOnlyCommittedRowsWhenTheStoreIsOpenedAgain) {
  const std::string big(3'000'000, 'x');
  transaction->put(Table::kLive, std::string(kMaxKeySize, 'k'), big);
  transaction->put(Table::kLive, "empty", "");
  ASSERT_TRUE(transaction->commit());
  transaction->put(Table::kLive, "lost", "never committed");
  open();
  EXPECT_EQ(transaction->get(Table::kLive, std::string(kMaxKeySize, 'k')), big);
  EXPECT_EQ(transaction->get(Table::kLive, "empty"), "");
  EXPECT_EQ(transaction->get(Table::kLive, "lost"), std::nullopt);
}

TEST_F(TransactionTest, DropsABatchCompletely) {
  put_all({"a", "b"});
  ASSERT_TRUE(transaction->commit());
  transaction->put(Table::kLive, "c", "c");
  transaction->erase(Table::kLive, "a");
  transaction->drop();
  EXPECT_THAT(transaction->write_set(), IsEmpty());
  EXPECT_EQ(keys_of(*transaction), "a b");
  ASSERT_TRUE(transaction->commit());
  EXPECT_EQ(keys_of(*transaction), "a b");
}

TEST_F(TransactionTest, ScansTheKeysOfAPrefixFromAnyKeyInBothDirections) {
  // Half of the rows are committed, the others are in the batch; the batch erases two rows.
  put_all({"a", "b1", "b2", "b4", "b5", "c", "b3x"});
  ASSERT_TRUE(transaction->commit());
  put_all({"b", "b3", "b6", "b5", "\xff\xff"});
  transaction->erase(Table::kLive, "b2");
  transaction->erase(Table::kLive, "b3x");
  transaction->put(Table::kInbox, "b7", "");
  transaction->put(Table::kLive, "never", "");
  transaction->erase(Table::kLive, "never");

  const Direction forward = Direction::kForward;
  const Direction backward = Direction::kBackward;
  const struct {
    std::string_view prefix;
    std::string_view from;
    Direction direction;
    std::string_view keys;
  } table[] = {
      {"", "", forward, "a b b1 b3 b4 b5 b6 c \xff\xff"},
      {"", "", backward, "\xff\xff c b6 b5 b4 b3 b1 b a"},
      {"b", "", forward, "b b1 b3 b4 b5 b6"},
      {"b", "", backward, "b6 b5 b4 b3 b1 b"},
      {"b", "b3", forward, "b3 b4 b5 b6"},
      {"b", "b2", forward, "b3 b4 b5 b6"},
      {"b", "b3", backward, "b1 b"},
      {"b", "b4", backward, "b3 b1 b"},
      {"b", "a", forward, "b b1 b3 b4 b5 b6"},
      {"b", "c", backward, "b6 b5 b4 b3 b1 b"},
      {"b", "c", forward, ""},
      {"b", "a", backward, ""},
      {"b", "b7", forward, ""},
      {"b", "b", backward, ""},
      {"", "b6", forward, "b6 c \xff\xff"},
      {"", "b1", backward, "b a"},
      {"b2", "", forward, ""},
      {"d", "", backward, ""},
      {"\xff", "", forward, "\xff\xff"},
      {"\xff", "", backward, "\xff\xff"},
  };
  for (const auto& row : table) {
    EXPECT_EQ(keys_of(*transaction, row.prefix, row.from, row.direction), row.keys)
        << "'" << row.prefix << "' from '" << row.from << "' in the batch";
  }
  ASSERT_TRUE(transaction->commit());
  const auto snapshot = Snapshot::take(*environment);
  ASSERT_TRUE(snapshot);
  for (const auto& row : table) {
    EXPECT_EQ(keys_of(*transaction, row.prefix, row.from, row.direction), row.keys)
        << "'" << row.prefix << "' from '" << row.from << "' after the commit";
    EXPECT_EQ(keys_of(*snapshot, row.prefix, row.from, row.direction), row.keys)
        << "'" << row.prefix << "' from '" << row.from << "' in a snapshot";
  }
  EXPECT_THAT(rows_of(*snapshot, Table::kInbox), ElementsAre(testing::Pair("b7", "")));
  EXPECT_THAT(rows_of(*snapshot, Table::kMeta), IsEmpty());
}

TEST_F(TransactionTest, ScansInPagesWithoutGapOrRepetition) {
  const std::string longest(kMaxKeySize, 'b');
  put_all({"a", longest});
  ASSERT_TRUE(transaction->commit());
  put_all({"c"});
  const auto page = [&](std::string_view from, Direction direction) {
    std::string key;
    transaction->scan(Table::kLive, {}, from, direction, [&](std::string_view k, std::string_view) {
      key = k;
      return false;
    });
    return key;
  };
  EXPECT_EQ(page("", Direction::kForward), "a");
  EXPECT_EQ(page(std::string("a") + '\0', Direction::kForward), longest);
  EXPECT_EQ(page(longest + '\0', Direction::kForward), "c");
  EXPECT_EQ(page("c", Direction::kBackward), longest);
  EXPECT_EQ(page(longest, Direction::kBackward), "a");
}

TEST_F(TransactionTest, LetsAVisitorWriteDuringAScan) {
  put_all({"a", "b", "c", "d"});
  ASSERT_TRUE(transaction->commit());
  put_all({"e"});
  std::string seen;
  transaction->scan(Table::kLive, "", [&](std::string_view key, std::string_view) {
    seen += key;
    transaction->erase(Table::kLive, key);
    if (key == "a") put_all({"b1", "A"});
    if (key == "b1") transaction->erase(Table::kLive, "c");
    return true;
  });
  EXPECT_EQ(seen, "abb1de") << "writes ahead of the scan are visited, writes behind it are not";
  EXPECT_EQ(keys_of(*transaction), "A");
}

TEST_F(TransactionTest, EndsAScanWhenTheVisitorReturnsFalse) {
  put_all({"a", "c"});
  ASSERT_TRUE(transaction->commit());
  put_all({"b"});
  std::string seen;
  transaction->scan(Table::kLive, "", [&](std::string_view key, std::string_view) {
    seen += key;
    return key != "b";
  });
  EXPECT_EQ(seen, "ab");
}

TEST_F(TransactionTest, ReplaysAWriteSet) {
  put_all({"a", "b"});
  ASSERT_TRUE(transaction->commit());
  transaction->put(Table::kLive, "a", "2");
  transaction->erase(Table::kLive, "b");
  transaction->put(Table::kMeta, "c", "3");
  const WriteSet writes = transaction->write_set();
  EXPECT_THAT(writes, ElementsAre(testing::Pair("la", std::optional<std::string>("2")),
                                  testing::Pair("lb", std::nullopt),
                                  testing::Pair("mc", std::optional<std::string>("3"))));
  transaction->drop();

  transaction->replay(writes);
  ASSERT_TRUE(transaction->commit());
  EXPECT_THAT(rows_of(*transaction, Table::kLive), ElementsAre(testing::Pair("a", "2")));
  EXPECT_EQ(transaction->get(Table::kMeta, "c"), "3");
}

TEST_F(TransactionTest, DoesNotChangeASnapshot) {
  put_all({"a"});
  ASSERT_TRUE(transaction->commit());
  const auto before = Snapshot::take(*environment);
  ASSERT_TRUE(before);
  put_all({"b"});
  const auto uncommitted = Snapshot::take(*environment);
  ASSERT_TRUE(uncommitted);
  ASSERT_TRUE(transaction->commit());
  const auto after = Snapshot::take(*environment);
  ASSERT_TRUE(after);
  EXPECT_EQ(keys_of(*before), "a");
  EXPECT_EQ(keys_of(*uncommitted), "a");
  EXPECT_EQ(keys_of(*after), "a b");
  EXPECT_EQ(before->get(Table::kLive, "b"), std::nullopt);
  EXPECT_EQ(after->get(Table::kLive, "b"), "b");
}

TEST_F(TransactionTest, ReportsTooManySnapshotsAsAnError) {
  std::vector<Snapshot> snapshots;
  Result<Snapshot> taken = Snapshot::take(*environment);
  for (; taken && snapshots.size() < 10'000; taken = Snapshot::take(*environment)) {
    snapshots.push_back(std::move(*taken));
  }
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, "store.readers");
  EXPECT_GE(snapshots.size(), 500U);
  EXPECT_EQ(transaction->get(Table::kLive, "a"), std::nullopt);
  ASSERT_FALSE(transaction->status());
  EXPECT_EQ(transaction->status().error().code, "store.readers");

  snapshots.clear();
  EXPECT_FALSE(transaction->commit()) << "a read of this batch failed";
  put_all({"a"});
  EXPECT_TRUE(transaction->commit());
}

TEST_F(TransactionTest, CommitsWholeBatchesWhileSnapshotsAreRead) {
  // Each batch changes both rows together. No reader may see them differ.
  const auto move_to = [&](int i) {
    transaction->put(Table::kLive, "x", std::to_string(i));
    transaction->put(Table::kEnded, "y", std::to_string(i));
    return transaction->commit();
  };
  ASSERT_TRUE(move_to(0));
  std::atomic<bool> is_over = false;
  std::vector<std::thread> readers;
  std::vector<int> torn(2);
  std::vector<int> reads(2);
  for (size_t reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      do {
        const auto snapshot = Snapshot::take(*environment);
        if (!snapshot || snapshot->get(Table::kLive, "x") != snapshot->get(Table::kEnded, "y")) {
          ++torn[reader];
        }
        ++reads[reader];
      } while (!is_over);
    });
  }
  bool all_committed = true;
  for (int i = 1; i <= 200; ++i) all_committed = move_to(i).has_value() && all_committed;
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(all_committed);
  EXPECT_THAT(torn, ElementsAre(0, 0));
  EXPECT_THAT(reads, testing::Each(testing::Gt(0)));
}

// Pages that one checkpoint frees are used by later ones. A reader that held an old version between
// batches would make the file grow with every change.
TEST_F(TransactionTest, ReusesFreedPages) {
  const std::filesystem::path file = folder.path() / "data.mdb";
  uintmax_t early = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(transaction->get(Table::kLive, "none"), std::nullopt);
    transaction->put(Table::kLive, "row", std::string(50'000, static_cast<char>('a' + i % 26)));
    ASSERT_TRUE(transaction->commit());
    ASSERT_TRUE(environment->checkpoint());
    if (i == 30) early = std::filesystem::file_size(file);
  }
  EXPECT_EQ(std::filesystem::file_size(file), early);
}

// Random batches, committed or dropped at random, are compared with a std::map.
TEST_F(TransactionTest, BehavesLikeAMap) {
  constexpr uint64_t kSeed = 77;
  std::mt19937_64 random(kSeed);
  std::map<std::string, std::string> committed;
  std::map<std::string, std::string> expected;
  const auto random_key = [&] {
    std::string key(1 + random() % 3, '\0');
    for (char& byte : key)
      byte =
          "\x00\x01"
          "abc\xfe\xff"[random() % 7];
    if (random() % 8 == 0) key += std::string(random() % 400, 'k');
    return key;
  };
  for (int batch = 0; batch < 400; ++batch) {
    SCOPED_TRACE(fmt::format("batch {} of seed {}", batch, kSeed));
    const size_t writes = random() % 60;
    for (size_t i = 0; i < writes; ++i) {
      const std::string key = random_key();
      if (random() % 3 == 0) {
        transaction->erase(Table::kLive, key);
        expected.erase(key);
      } else {
        const size_t size = random() % 20 == 0 ? random() % 20'000 : random() % 200;
        transaction->put(Table::kLive, key, std::string(size, static_cast<char>(random())));
        expected[key] = std::string(*transaction->get(Table::kLive, key));
      }
    }
    const std::string prefix = random() % 2 == 0 ? "" : random_key().substr(0, 1);
    const std::string from = random() % 2 == 0 ? "" : random_key();
    Rows forward;
    Rows backward;
    for (const auto& [key, value] : expected) {
      if (!key.starts_with(prefix)) continue;
      if (key >= from) forward.emplace_back(key, value);
      if (from.empty() || key < from) backward.emplace(backward.begin(), key, value);
    }
    ASSERT_EQ(rows_of(*transaction, Table::kLive, prefix, from), forward);
    ASSERT_EQ(rows_of(*transaction, Table::kLive, prefix, from, Direction::kBackward), backward);
    const std::string key = random_key();
    const auto found = expected.find(key);
    ASSERT_EQ(
        transaction->get(Table::kLive, key),
        found == expected.end() ? std::nullopt : std::optional<std::string_view>(found->second));
    switch (random() % 8) {
      case 0:
        transaction->drop();
        expected = committed;
        break;
      case 1:
        open();
        expected = committed;
        break;
      default:
        ASSERT_TRUE(transaction->commit());
        committed = expected;
    }
  }
  EXPECT_EQ(rows_of(*transaction, Table::kLive), Rows(committed.begin(), committed.end()));
  EXPECT_GT(committed.size(), 100U);
}

using TransactionDeathTest = TransactionTest;

TEST_F(TransactionDeathTest, EndsTheProcessOnAKeyOfWrongSize) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(transaction->put(Table::kLive, "", ""), "a key of the table live has 0 bytes");
  EXPECT_DEATH(transaction->put(Table::kLive, std::string(512, 'k'), ""),
               "a key of the table live has 512 bytes");
  EXPECT_DEATH(transaction->get(Table::kLive, ""), "a key of the table live has 0 bytes");
}

TEST_F(TransactionDeathTest, EndsTheProcessOnASecondTransaction) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(Transaction second(*environment), "a second Transaction");
}

TEST_F(TransactionTest, DoesNotSearchForAscendingKeysOfEachTable) {
  const auto key_of_row = [](int number) { return std::to_string(1'000 + number); };
  for (int i = 0; i < 100; ++i) {
    transaction->put(Table::kHistory, key_of_row(i), "h");
    transaction->put(Table::kOutbox, key_of_row(i), "o");
    transaction->erase(Table::kLive, key_of_row(i));
  }
  EXPECT_EQ(transaction->searches(), 3U) << "for the first key of each table";
  transaction->put(Table::kHistory, key_of_row(99), "again");
  EXPECT_EQ(transaction->searches(), 3U);
  transaction->put(Table::kHistory, key_of_row(50), "again");
  transaction->put(Table::kHistory, key_of_row(52), "behind another one");
  EXPECT_EQ(transaction->searches(), 5U);
  EXPECT_EQ(transaction->write_set().size(), 300U);
  ASSERT_TRUE(transaction->commit());
  transaction->put(Table::kHistory, key_of_row(100), "of the next batch");
  EXPECT_EQ(transaction->searches(), 6U);
  EXPECT_EQ(transaction->get(Table::kHistory, key_of_row(50)), "again");
  EXPECT_EQ(transaction->get(Table::kHistory, key_of_row(51)), "h");
}

TEST_F(TransactionTest, EstimatesTheNumberOfRows) {
  EXPECT_EQ(transaction->about_rows(Table::kLive), 0U);
  put_all({"a", "b", "c"});
  ASSERT_TRUE(transaction->commit());
  ASSERT_TRUE(environment->checkpoint());
  ASSERT_TRUE(transaction->commit()) << "the transaction now reads the new checkpoint";
  EXPECT_EQ(transaction->about_rows(Table::kLive), 3U);
  EXPECT_EQ(transaction->about_rows(Table::kEnded), 0U);
}

TEST_F(TransactionTest, NumbersItsCommitsForSnapshots) {
  const uint64_t before = Snapshot::take(*environment).value().commit();
  transaction->put(Table::kLive, "a", "1");
  ASSERT_TRUE(transaction->commit());
  const Snapshot view = Snapshot::take(*environment).value();
  transaction->put(Table::kLive, "a", "2");
  ASSERT_TRUE(transaction->commit());
  EXPECT_EQ(view.commit(), before + 1);
  EXPECT_EQ(view.get(Table::kLive, "a"), "1");
  EXPECT_EQ(Snapshot::take(*environment).value().commit(), before + 2);
}

}  // namespace
}  // namespace millrace
