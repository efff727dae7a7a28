// The process of `millrace store compact` dies when it passes a crash point (os/crash_point.h), or
// its disk fails. The store then has all its rows, and the next compaction succeeds.
#include <csignal>
#include <filesystem>
#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/all_rows.h"
#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

constexpr int kEndedByKill = 128 + SIGKILL;
constexpr int kMostHits = 20;

class CompactCrash : public testing::Test {
 protected:
  CompactCrash() {
    server_.start();
    server_.apply("id: waits\nstates: [{id: a, type: consumeEvent, event: {type: go}}]\n");
    for (int n = 0; n < 20; ++n) server_.start_instance("waits", {{"n", n}});
    server_.stop();
    server_.start();
    for (int n = 0; n < 20; ++n) server_.start_instance("waits", {{"n", n}});
    server_.kill();  // so some commits are in the journal only
    rows_ = rows_in_folder(server_.data());
    EXPECT_GT(rows_.size(), 40U);
  }

  /// Compacts a copy of the store, in a new process. Afterwards the copy must have all rows, and it
  /// must be possible to compact it. Returns how the process ended.
  ProcessEnd compact(const std::map<std::string, std::string>& faults) const {
    const Folder folder;
    const std::filesystem::path data = folder.path() / "data";
    std::filesystem::copy(server_.data(), data, std::filesystem::copy_options::recursive);
    ProcessEnd end = run(data, faults);
    EXPECT_EQ(rows_in_folder(data) == rows_, true);
    expect_sound_folder(data, "after the process has ended");
    const ProcessEnd again = run(data, {});
    EXPECT_EQ(again.code, 0) << again.errors;
    EXPECT_FALSE(std::filesystem::exists(data / "compact"));
    EXPECT_EQ(rows_in_folder(data) == rows_, true);
    return end;
  }

 private:
  static ProcessEnd run(const std::filesystem::path& data,
                        const std::map<std::string, std::string>& faults) {
    return run_process(
        {.command = {MILLRACE_FAULTS_PROGRAM, "store", "compact", "--data", data.string()},
         .environment = faults});
  }

  MillraceServer server_{"nats://127.0.0.1:1"};  // no server listens there
  RowsByKey rows_;
};

TEST_F(CompactCrash, LeavesAStoreWithAllRows) {
  Campaign campaign("crash points: compaction", "a store with all rows, then a compact one");
  for (const char* const point : {"journal-started", "journal-turned", "pages-written",
                                  "pages-synced", "root-written", "checkpointed"}) {
    int hits = 0;
    // Every passing of the point, also those in the copy. The last run does not reach the point.
    for (bool is_killed = true; is_killed && hits < kMostHits;) {
      campaign.run(fmt::format("{}:{}", point, ++hits), [&] {
        const ProcessEnd end = compact({{"MILLRACE_CRASH", fmt::format("{}:{}", point, hits)}});
        is_killed = end.code == kEndedByKill;
        EXPECT_TRUE(is_killed || end.code == 0) << end.errors;
      });
    }
    EXPECT_GT(hits, 1) << "the point is never passed: " << point;
    EXPECT_LT(hits, kMostHits) << point;
  }
}

TEST_F(CompactCrash, LeavesAStoreWithAllRowsIfTheDiskFails) {
  Campaign campaign("failed disk: compaction", "an error and a store with all rows");
  int nth = 0;
  for (bool has_failed = true; has_failed && nth < kMostHits;) {
    campaign.run(fmt::format("sync:{}", ++nth), [&] {
      has_failed = compact({{"MILLRACE_FILES", fmt::format("sync:{}", nth)}}).code != 0;
    });
  }
  EXPECT_GT(nth, 1);
  EXPECT_LT(nth, kMostHits);
}

}  // namespace
}  // namespace millrace
