// A store in a fresh folder whose nth read or whose commits fail on demand, for the tests of units
// that read and write it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "orchestrator/store/disk/environment.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/folder.h"

namespace millrace {

class FaultyStoreTest : public testing::Test {
  // Before the store, which asks at its end as well.
  static constexpr uint64_t kTooMany = 1'000;

  bool strikes(Table of) {
    ++reads_;
    const bool strikes_now = nth_ == reads_ || table_ == of;
    struck_ = struck_ || strikes_now;
    return strikes_now;
  }

  uint64_t reads_ = 0;
  bool struck_ = false;
  std::optional<uint64_t> nth_;
  std::optional<Table> table_;

 protected:
  FaultyStoreTest() {
    EnvironmentOptions options;
    options.fails_read = [this](Table table, std::string_view) { return strikes(table); };
    options.fails_commit = [this] { return fails_commit; };
    auto opened = Environment::open(folder.path(), options);
    EXPECT_TRUE(opened) << opened.error().message;
    environment = std::move(*opened);
    tx.emplace(*environment);
  }

  void commit() {
    const Status done = tx->commit();
    ASSERT_TRUE(done) << done.error().message;
  }

  /// All that is committed, by table and key.
  std::map<std::pair<Table, std::string>, std::string> rows() {
    std::map<std::pair<Table, std::string>, std::string> all;
    const auto snapshot = Snapshot::take(*environment);
    EXPECT_TRUE(snapshot);
    for (const TableName& one : kTables) {
      snapshot->scan(one.table, "", [&](std::string_view key, std::string_view value) {
        all.emplace(std::pair(one.table, key), value);
        return true;
      });
    }
    return all;
  }
  size_t rows_of(Table table) {
    size_t count = 0;
    for (const auto& [place, value] : rows()) count += place.first == table ? 1 : 0;
    return count;
  }

  /// From now on the read of that number fails, counted from 1.
  void fail_read(uint64_t nth) {
    reads_ = 0;
    struck_ = false;
    nth_ = nth;
  }
  /// From now on all reads of that table fail.
  void fail_reads_of(Table table) { table_ = table; }
  /// No read fails any more, and the transaction forgets that one did.
  void heal() {
    nth_.reset();
    table_.reset();
    if (tx) tx->drop();
  }

  /// Runs `attempt`, which returns a Status, with its first read failing, then with its second, and
  /// so on until no read of it fails: then it must succeed. A failure must be the one that was
  /// made; after each, with the batch dropped, `after_failure` is called, which brings the unit
  /// back (undo, load) and checks it. Returns how many reads were made to fail.
  template <class Attempt, class AfterFailure>
  uint64_t fail_each_read(Attempt attempt, AfterFailure after_failure) {
    for (uint64_t nth = 1; nth < kTooMany; ++nth) {
      SCOPED_TRACE("read " + std::to_string(nth) + " failed");
      fail_read(nth);
      const Status done = attempt();
      const bool struck = struck_;
      nth_.reset();
      if (!struck) {
        EXPECT_TRUE(done) << done.error().message;
        return nth - 1;
      }
      EXPECT_FALSE(done) << "a read that failed was not told";
      if (!done) {
        EXPECT_EQ(done.error().code, "store.io") << done.error().message;
      }
      heal();
      after_failure();
      if (testing::Test::HasFatalFailure()) return nth;
    }
    ADD_FAILURE() << "it reads on and on";
    return kTooMany;
  }

  Folder folder;
  bool fails_commit = false;
  std::unique_ptr<Environment> environment;
  std::optional<Transaction> tx;  ///< a store has one at a time
};

}  // namespace millrace
