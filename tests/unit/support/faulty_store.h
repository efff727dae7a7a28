// The fixture for units that read and write the store: a store in a new folder, whose nth read or
// whose commits fail on demand.
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
  // Declared before the store, because the destructor of the store counts its reads here.
  static constexpr uint64_t kMostReads = 1'000;

  bool read_fails(Table of) {
    ++reads_;
    const bool fails_now = nth_ == reads_ || table_ == of;
    has_failed_ = has_failed_ || fails_now;
    return fails_now;
  }

  uint64_t reads_ = 0;
  bool has_failed_ = false;
  std::optional<uint64_t> nth_;
  std::optional<Table> table_;

 protected:
  FaultyStoreTest() {
    EnvironmentOptions options;
    options.fails_read = [this](Table table, std::string_view) { return read_fails(table); };
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

  /// All committed rows, by table and key.
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

  /// Makes the nth read fail, counted from 1.
  void fail_read(uint64_t nth) {
    reads_ = 0;
    has_failed_ = false;
    nth_ = nth;
  }
  /// Makes all reads of that table fail.
  void fail_reads_of(Table table) { table_ = table; }
  /// Ends all failures and drops the batch.
  void heal() {
    nth_.reset();
    table_.reset();
    if (tx) tx->drop();
  }

  /// Runs `attempt`, which returns a Status, with its first read failing, then with its second, and
  /// so on until no read of it fails; then it must succeed. Each failed attempt must return the
  /// error of the failed read. After it the batch is dropped, and `after_failure` restores the unit
  /// (undo, load) and checks it. Returns the number of failed attempts.
  template <class Attempt, class AfterFailure>
  uint64_t fail_each_read(Attempt attempt, AfterFailure after_failure) {
    for (uint64_t nth = 1; nth < kMostReads; ++nth) {
      SCOPED_TRACE("read " + std::to_string(nth) + " failed");
      fail_read(nth);
      const Status done = attempt();
      const bool has_failed = has_failed_;
      nth_.reset();
      if (!has_failed) {
        EXPECT_TRUE(done) << done.error().message;
        return nth - 1;
      }
      EXPECT_FALSE(done) << "the attempt ignored a failed read";
      if (!done) {
        EXPECT_EQ(done.error().code, "store.io") << done.error().message;
      }
      heal();
      after_failure();
      if (testing::Test::HasFatalFailure()) return nth;
    }
    ADD_FAILURE() << "the attempts do not end";
    return kMostReads;
  }

  Folder folder;
  bool fails_commit = false;
  std::unique_ptr<Environment> environment;
  std::optional<Transaction> tx;  ///< a store has one Transaction at a time
};

}  // namespace millrace
