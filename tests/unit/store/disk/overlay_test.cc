// Overlay: the layers under a Transaction while a checkpoint moves rows between them. A reader sees
// whole commits only, and each completed commit survives a restart and a power cut.
#include "orchestrator/store/disk/overlay.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/folder.h"
#include "tests/support/power_cut.h"

namespace millrace {
namespace {

using testing::Each;
using testing::Gt;
using testing::IsEmpty;

using Rows = std::map<std::string, std::string>;

constexpr Table kUsedTables[] = {Table::kMeta, Table::kLive, Table::kHistory};
constexpr std::string_view kNumber = "number";  ///< row of kMeta: the number of the batch

/// The rows by absolute key.
Rows rows_of(const View& view, Direction direction = Direction::kForward) {
  Rows rows;
  for (const Table table : kUsedTables) {
    std::string last;
    view.scan(table, {}, {}, direction, [&](std::string_view key, std::string_view value) {
      EXPECT_TRUE(last.empty() || (last < key) == (direction == Direction::kForward)) << "in order";
      last = key;
      rows.emplace(std::string(1, static_cast<char>(table)).append(key), value);
      return true;
    });
  }
  EXPECT_TRUE(view.status());
  return rows;
}

/// Random batches and the expected rows after each of them.
class Batches {
 public:
  explicit Batches(uint64_t seed) : random_(seed) { states_.emplace_back(); }

  /// Writes the next batch. After its commit call committed(); after a drop call nothing.
  void write(Transaction& tx) {
    next_ = state(last());
    put(tx, Table::kMeta, kNumber, std::to_string(last() + 1));
    for (uint64_t writes = below(20); writes > 0; --writes) {
      const Table table = below(4) == 0 ? Table::kHistory : Table::kLive;
      // Rows that are set and erased, rows in ascending order, and a few large ones.
      const std::string key = below(3) == 0 ? "new " + std::to_string(1'000'000 + ++appended_)
                                            : std::to_string(below(300));
      if (below(3) == 0) {
        tx.erase(table, key);
        next_.erase(std::string(1, static_cast<char>(table)).append(key));
      } else {
        const uint64_t size = below(30) == 0 ? below(20'000) : below(200);
        put(tx, table, key, std::string(size, static_cast<char>('a' + below(26))));
      }
    }
  }

  void committed() {
    const std::lock_guard lock(mutex_);
    states_.push_back(std::move(next_));
  }

  uint64_t below(uint64_t bound) { return random_() % bound; }

  /// The number of the last committed batch, from 0. For any thread.
  uint64_t last() const {
    const std::lock_guard lock(mutex_);
    return states_.size() - 1;
  }

  /// The rows after that batch. For any thread.
  const Rows& state(uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return states_.at(number);
  }

  /// The number of the batch that left these rows; fails if no batch did.
  uint64_t number_of(const Rows& rows) const {
    const auto found = rows.find("m" + std::string(kNumber));
    const uint64_t number = found == rows.end() ? 0 : std::stoull(found->second);
    EXPECT_LE(number, last());
    EXPECT_TRUE(number <= last() && rows == state(number))
        << "not as batch " << number << " left it";
    return number;
  }

 private:
  void put(Transaction& tx, Table table, std::string_view key, std::string value) {
    next_[std::string(1, static_cast<char>(table)).append(key)] = value;
    tx.put(table, key, std::move(value));
  }

  std::mt19937_64 random_;
  uint64_t appended_ = 0;
  Rows next_;
  mutable std::mutex mutex_;
  std::deque<Rows> states_;
};

class OverlayTest : public testing::Test {
 protected:
  void open(EnvironmentOptions options) {
    close();
    auto opened = Environment::open(folder_.path(), options);
    ASSERT_TRUE(opened) << opened.error().message;
    environment_ = std::move(*opened);
    tx_.emplace(*environment_);
  }
  void close() {
    tx_.reset();
    environment_.reset();
  }

  Folder folder_{fast_folder()};
  std::unique_ptr<Environment> environment_;
  std::optional<Transaction> tx_;
};

TEST_F(OverlayTest, BehavesLikeAMapAcrossCheckpointsAndRestarts) {
  constexpr uint64_t kSeed = 12;
  Batches batches(kSeed);
  const auto reopen = [&] {
    constexpr uint64_t kThresholds[] = {1, 5'000, 50'000, 1 << 20};
    open({.checkpoint_bytes = kThresholds[batches.below(4)],
          .checkpoints_at_close = batches.below(2) == 0});
  };
  reopen();
  for (int i = 0; i < 2'000; ++i) {
    SCOPED_TRACE(i);
    batches.write(*tx_);
    switch (batches.below(40)) {
      case 0:
        tx_->drop();
        break;
      case 1:
        reopen();
        break;
      case 2:
        ASSERT_TRUE(tx_->commit());
        batches.committed();
        ASSERT_TRUE(environment_->checkpoint());
        break;
      default:
        ASSERT_TRUE(tx_->commit());
        batches.committed();
    }
    if (i % 10 != 0) continue;
    const Rows& expected = batches.state(batches.last());
    ASSERT_TRUE(rows_of(*tx_) == expected);
    ASSERT_TRUE(rows_of(*tx_, Direction::kBackward) == expected);
    for (int looks = 0; looks < 20; ++looks) {
      const std::string key = std::to_string(batches.below(300));
      const auto found = expected.find("l" + key);
      ASSERT_EQ(tx_->get(Table::kLive, key), found == expected.end()
                                                 ? std::nullopt
                                                 : std::optional<std::string_view>(found->second));
    }
    tx_->drop();
  }
  EXPECT_GT(batches.last(), 1'500U);
}

TEST_F(OverlayTest, ShowsOnlyWholeCommitsToConcurrentReaders) {
  Batches batches(5);
  open({.checkpoint_bytes = 4'000});
  std::atomic<uint64_t> committed = 0;
  std::atomic<bool> is_over = false;
  std::vector<std::thread> readers;
  std::vector<int> looks(3);
  for (size_t reader = 0; reader < looks.size(); ++reader) {
    readers.emplace_back([&, reader] {
      std::optional<Snapshot> kept;
      uint64_t kept_number = 0;
      do {
        const uint64_t before = committed;
        Result<Snapshot> snapshot = Snapshot::take(*environment_);
        ASSERT_TRUE(snapshot) << snapshot.error().message;
        const Rows rows = rows_of(*snapshot);
        const uint64_t number = batches.number_of(rows);
        EXPECT_GE(number, before);
        EXPECT_TRUE(rows_of(*snapshot, Direction::kBackward) == rows);
        EXPECT_TRUE(environment_->size()) << "any thread may measure the store";
        // An old snapshot does not change.
        EXPECT_TRUE(!kept || batches.number_of(rows_of(*kept)) == kept_number);
        if (looks[reader] % 5 == 0) {
          kept = std::move(*snapshot);
          kept_number = number;
        }
        ++looks[reader];
      } while (!is_over);
    });
  }
  for (int i = 0; i < 1'000; ++i) {
    batches.write(*tx_);
    batches.committed();  // a reader may see the commit before the call returns
    ASSERT_TRUE(tx_->commit());
    committed = batches.last();
  }
  is_over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_THAT(looks, Each(Gt(0)));
  EXPECT_TRUE(rows_of(*tx_) == batches.state(batches.last()));
}

TEST_F(OverlayTest, LosesNoCompletedCommitInAPowerCut) {
  constexpr uint64_t kSeed = 8;
  Batches batches(kSeed);
  open({.checkpoints_at_close = false});
  close();
  PowerCuts cuts(folder_.path(), kSeed);
  open({.checkpoint_bytes = 3'000, .checkpoints_at_close = false});
  for (int i = 0; i < 300; ++i) {
    batches.write(*tx_);
    ASSERT_TRUE(tx_->commit());
    batches.committed();
    cuts.promise(batches.last());
    if (i % 50 == 49) open({.checkpoint_bytes = 3'000, .checkpoints_at_close = i % 100 == 99});
  }
  close();
  const std::vector<PowerCuts::Cut> all = cuts.stop();
  EXPECT_GT(all.size(), 500U);
  for (const PowerCuts::Cut& cut : all) {
    const Folder after(fast_folder());
    cut.write_to(after.path());
    const auto environment = Environment::open(after.path(), {.checkpoints_at_close = false});
    ASSERT_TRUE(environment) << environment.error().message;
    const Transaction tx(**environment);
    const uint64_t number = batches.number_of(rows_of(tx));
    ASSERT_GE(number, cut.promised);
    ASSERT_LE(number, cut.promised + 1) << "the commit that was being written may be there";
  }
}

TEST_F(OverlayTest, KeepsShortLivedRowsOutOfLmdb) {
  open({});
  const auto pages = [&] { return std::filesystem::file_size(folder_.path() / "data.mdb"); };
  const auto before = pages();
  for (int i = 0; i < 200; ++i) {
    const std::string key = std::to_string(i);
    tx_->put(Table::kOutbox, key, std::string(10'000, 'x'));
    if (i > 0) tx_->erase(Table::kOutbox, std::to_string(i - 1));
    ASSERT_TRUE(tx_->commit());
  }
  tx_->erase(Table::kOutbox, "199");
  ASSERT_TRUE(tx_->commit());
  ASSERT_TRUE(environment_->checkpoint());
  EXPECT_EQ(environment_->used_bytes(), 0U);
  // The reserve of 4 MiB is allocated, and as much again; two million bytes of rows are not.
  EXPECT_LE(pages() - before, 9U << 20);
  EXPECT_THAT(rows_of(*tx_), IsEmpty());
}

TEST_F(OverlayTest, LimitsTheSizeOfTheJournals) {
  constexpr uint64_t kCheckpoint = 200'000;
  constexpr uint64_t kStep = 1 << 20;  // the allocation step of the journals
  open({.checkpoint_bytes = kCheckpoint});
  std::mt19937_64 random(1);
  for (int i = 0; i < 3'000; ++i) {
    for (int row = 0; row < 10; ++row) {
      tx_->put(Table::kLive, std::to_string(random()), std::string(500, 'x'));
    }
    ASSERT_TRUE(tx_->commit());
  }
  for (const char* const journal : {"journal-0", "journal-1"}) {
    EXPECT_LE(std::filesystem::file_size(folder_.path() / journal), 2 * kCheckpoint + kStep);
  }
}

TEST_F(OverlayTest, IsBehindIfCommitsWriteMuchMoreThanTheCheckpoint) {
  std::promise<void> permission;
  const std::shared_future<void> permitted = permission.get_future().share();
  // Each look at the clock is a second after the one before; the first one begins the checkpoint.
  open({.checkpoint_bytes = 10'000,
        .checkpoint_clock = [permitted, looks = std::make_shared<int>(0)] {
          permitted.wait();
          return std::chrono::seconds(++*looks);
        }});
  const auto commit = [&](size_t bytes) {
    tx_->put(Table::kLive, "key", std::string(bytes, 'x'));
    return tx_->commit();
  };
  std::string behind;
  for (const size_t bytes : {12'000, 1'000, 3'000, 3'000}) {
    EXPECT_TRUE(commit(bytes));
    behind += environment_->is_behind() ? "yes " : "no ";
  }
  permission.set_value();
  EXPECT_EQ(behind, "no no no yes ") << "half of the bytes with which the next checkpoint begins";
  ASSERT_TRUE(environment_->checkpoint());
  EXPECT_FALSE(environment_->is_behind());
}

TEST_F(OverlayTest, MeasuresHowLongCommitsWaitForTheCheckpoint) {
  std::promise<void> permission;
  const std::shared_future<void> permitted = permission.get_future().share();
  open({.checkpoint_bytes = 10'000,
        .checkpoint_clock = [permitted, looks = std::make_shared<int>(0)] {
          permitted.wait();
          return std::chrono::seconds(++*looks);
        }});
  const auto commit = [&] {
    tx_->put(Table::kLive, "key", std::string(12'000, 'x'));
    return tx_->commit();
  };
  EXPECT_TRUE(commit());
  EXPECT_TRUE(commit()) << "begins the checkpoint, and fills the next memtable";
  EXPECT_EQ(environment_->commit_waits().commits, 0U);
  EXPECT_EQ(environment_->commit_waits().time, std::chrono::nanoseconds(0));
  std::atomic<bool> is_over = false;
  std::thread permits([&] {
    while (environment_->commit_waits().commits == 0 && !is_over) std::this_thread::yield();
    permission.set_value();
  });
  EXPECT_TRUE(commit());
  is_over = true;
  permits.join();
  EXPECT_EQ(environment_->commit_waits().commits, 1U);
  EXPECT_GT(environment_->commit_waits().time, std::chrono::nanoseconds(0));
}

TEST_F(OverlayTest, MovesAllRowsIntoLmdbWhenItIsClosed) {
  open({});
  tx_->put(Table::kLive, "key", "value");
  ASSERT_TRUE(tx_->commit());
  close();
  const auto file = LmdbFile::open(folder_.path(), EnvironmentOptions().map_bytes);
  ASSERT_TRUE(file);
  EXPECT_EQ((*file)->checkpointed().value(), 1U);
  LmdbReader reader(**file);
  ASSERT_TRUE(reader.begin());
  EXPECT_EQ(reader.get(Table::kLive, "key"), "value");
}

TEST_F(OverlayTest, OpensAFolderWithoutAJournal) {
  {
    const auto file = LmdbFile::open(folder_.path(), EnvironmentOptions().map_bytes);
    ASSERT_TRUE(file);
    auto writer = LmdbWriter::begin(**file);
    ASSERT_TRUE(writer && writer->write("lkey", "value") && writer->commit());
  }
  open({});
  EXPECT_EQ(tx_->get(Table::kLive, "key"), "value");
  tx_->put(Table::kLive, "other", "value");
  ASSERT_TRUE(tx_->commit());
  open({.checkpoints_at_close = false});
  EXPECT_EQ(tx_->get(Table::kLive, "key"), "value");
  EXPECT_EQ(tx_->get(Table::kLive, "other"), "value");
}

}  // namespace
}  // namespace millrace
