// SnapshotTest: the fixture for snapshots of a cluster, with a store that is led, the log that
// leads it, and helpers that take a snapshot and load it into the store of another node.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/backup/rolling_chunks.h"
#include "orchestrator/backup/snapshot_loader.h"
#include "orchestrator/store/disk/log_row.h"
#include "orchestrator/store/log_follower.h"
#include "tests/support/all_rows.h"
#include "tests/support/folder.h"
#include "tests/support/memory_log.h"

namespace millrace {

struct TakenSnapshot {
  std::vector<std::string> chunks;
  LogPosition from;
  LogPosition to;
  RowCounts rows;
  RowsByKey at_end;  ///< the rows of the store when the snapshot ended
};

class SnapshotTest : public testing::Test {
 protected:
  static constexpr RandomName kNode{1};

  static std::unique_ptr<Environment> open_store(const Folder& folder,
                                                 EnvironmentOptions options = {}) {
    options.reserve_bytes = 0;
    options.waits_for_checkpoints = true;
    auto opened = Environment::open(folder.path(), options);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }

  static RowsByKey rows_of(const Environment& environment) {
    return all_rows(Snapshot::take(environment).value());
  }

  /// Opens the store of the active, and leads it.
  void lead(EnvironmentOptions options = {}) {
    tx_.reset();
    led_.reset();
    led_ = open_store(led_folder_, std::move(options));
    lead_ = log_.start_epoch(kNode, kNode, log_.last_sequence()).value();
    led_->lead(*lead_);
    tx_.emplace(*led_);
  }

  void commit() {
    const Status done = tx_->commit();
    ASSERT_TRUE(done) << done.error().message;
  }
  void put(Table table, std::string_view key, std::string value) {
    tx_->put(table, key, std::move(value));
    commit();
  }

  /// Commits writes to random rows of random tables.
  void commit_random(std::mt19937_64& random) {
    for (uint64_t writes = 1 + random() % 6; writes > 0; --writes) {
      const Table table = kTables[random() % kTables.size()].table;
      const std::string key = fmt::format("k{}", random() % 12);
      if (random() % 3 == 0) {
        tx_->erase(table, key);
      } else {
        tx_->put(table, key, std::string(random() % 60, static_cast<char>('a' + random() % 26)));
      }
    }
    commit();
  }

  /// Takes a snapshot of the led store; `meanwhile` is called between the chunks.
  TakenSnapshot take(size_t most_bytes, const std::function<void()>& meanwhile = {}) {
    TakenSnapshot taken;
    RollingChunks rolling(*led_, most_bytes);
    while (true) {
      auto chunk = rolling.next();
      EXPECT_TRUE(chunk) << chunk.error().message;
      if (!chunk || !*chunk) break;
      taken.chunks.push_back(**std::move(chunk));
      if (meanwhile) meanwhile();
    }
    taken.from = rolling.from();
    taken.to = rolling.to();
    taken.rows = rolling.rows();
    taken.at_end = rows_of(*led_);
    return taken;
  }

  /// Loads the snapshot, but at most `most` chunks; with all chunks, also its end.
  static Status load(Environment& store, const TakenSnapshot& taken, size_t most = SIZE_MAX) {
    const auto loader = TRY(SnapshotLoader::begin(store, taken.from, taken.to));
    for (const std::string& chunk : taken.chunks) {
      if (most-- == 0) return {};
      TRY(loader->add(chunk));
    }
    return loader->finish(taken.rows);
  }

  /// Applies the commits of the log one by one, until the store has the whole snapshot. Returns the
  /// number of commits.
  size_t follow_to_end(LogFollower& follower) {
    size_t commits = 0;
    for (; follower.is_loading(); ++commits) {
      const auto next = log_.read(follower.position(), 1).value();
      if (next.empty()) {
        ADD_FAILURE() << "the log ends before the snapshot";
        break;
      }
      const Status done = follower.apply(next);
      EXPECT_TRUE(done) << done.error().message;
      if (!done) break;
    }
    return commits;
  }

  MemoryLog log_;
  Folder led_folder_{fast_folder()};
  Folder other_folder_{fast_folder()};
  std::unique_ptr<CommitLog> lead_;
  std::unique_ptr<Environment> led_;
  std::optional<Transaction> tx_;
};

}  // namespace millrace
