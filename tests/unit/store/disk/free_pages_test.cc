// The free pages of data.mdb are used again: a store in which rows come and go at one rate stays of
// one size. A Snapshot delays that until it ends, and not longer.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

class FreePages : public testing::Test {
 protected:
  struct Size {
    uint64_t used = 0;  ///< bytes of the pages with rows
    uint64_t file = 0;  ///< bytes of data.mdb
  };

  FreePages() {
    // Without a reserve, no bytes are allocated in advance, so the file has its pages only.
    auto opened = Environment::open(folder_.path(), {.reserve_bytes = 0});
    EXPECT_TRUE(opened) << opened.error().message;
    environment_ = std::move(*opened);
    tx_.emplace(*environment_);
  }

  /// Runs one round: `instances` instances start, and end; those of the round before the last are
  /// deleted. A checkpoint follows each of these, so that all rows reach data.mdb.
  void run_round(int instances) {
    const int round = rounds_++;
    const auto each = [&](int of, const auto& act) {
      for (int i = 0; i < instances; ++i) act(fmt::format("{:06}/{:04}", of, i), i);
      ASSERT_TRUE(tx_->commit());
      ASSERT_TRUE(environment_->checkpoint());
    };
    each(round, [&](const std::string& id, int i) {
      tx_->put(Table::kLive, id + "/head", std::string(150, 'h'));
      tx_->put(Table::kLive, id + "/input", std::string(data_bytes(i), 'i'));
      tx_->put(Table::kByStatus, "waiting/" + id, "");
      tx_->put(Table::kHistory, id + "/1", std::string(120, 's'));
    });
    each(round, [&](const std::string& id, int i) {
      tx_->erase(Table::kLive, id + "/head");
      tx_->erase(Table::kLive, id + "/input");
      tx_->put(Table::kEnded, id + "/head", std::string(170, 'h'));
      tx_->put(Table::kEnded, id + "/input", std::string(data_bytes(i), 'i'));
      tx_->erase(Table::kByStatus, "waiting/" + id);
      tx_->put(Table::kByStatus, "complete/" + id, "");
      tx_->put(Table::kHistory, id + "/2", std::string(250, 'e'));
    });
    if (round < 2) return;
    each(round - 2, [&](const std::string& id, int) {
      tx_->erase(Table::kEnded, id + "/head");
      tx_->erase(Table::kEnded, id + "/input");
      tx_->erase(Table::kByStatus, "complete/" + id);
      tx_->erase(Table::kHistory, id + "/1");
      tx_->erase(Table::kHistory, id + "/2");
    });
  }
  void run_rounds(int count, int instances) {
    for (int i = 0; i < count && !HasFatalFailure(); ++i) run_round(instances);
  }

  Size size() const {
    return {.used = environment_->used_bytes(),
            .file = std::filesystem::file_size(folder_.path() / "data.mdb")};
  }

  /// Most instances have little data; the data of some has pages of its own.
  static size_t data_bytes(int instance) {
    return instance % 20 == 0 ? 6'000 : 40 + 10 * static_cast<size_t>(instance % 13);
  }

  Folder folder_{fast_folder()};
  std::unique_ptr<Environment> environment_;
  std::optional<Transaction> tx_;
  int rounds_ = 0;
};

/// The most that a size may change by chance: the rows have other places in the pages.
uint64_t about(uint64_t bytes) { return bytes + bytes / 20; }

TEST_F(FreePages, KeepAStoreInWhichInstancesComeAndGoAtOneSize) {
  constexpr int kInstances = 1'000;
  run_rounds(100, kInstances);
  const Size early = size();
  run_rounds(100, kInstances);
  const Size late = size();
  EXPECT_GT(early.used, 1'000'000U);
  EXPECT_LE(late.used, about(early.used));
  EXPECT_LE(late.file, about(early.file));
}

TEST_F(FreePages, AreNotUsedWhileASnapshotExistsAndAreUsedWhenItHasEnded) {
  constexpr int kInstances = 200;
  run_rounds(30, kInstances);
  const Size before = size();
  Size held;
  {
    const Snapshot snapshot = Snapshot::take(*environment_).value();
    run_rounds(30, kInstances);
    held = size();
    EXPECT_TRUE(snapshot.get(Table::kLive, "none") == std::nullopt);
  }
  EXPECT_GT(held.file, about(before.file)) << "the pages that were freed meanwhile are kept";
  EXPECT_LE(held.used, about(before.used));
  run_rounds(60, kInstances);
  EXPECT_LE(size().file, about(held.file));
  EXPECT_LE(size().used, about(before.used));
}

}  // namespace
}  // namespace millrace
