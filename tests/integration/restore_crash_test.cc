// The process of `millrace restore` dies when it passes a crash point (os/crash_point.h), or its
// disk fails. Then there is no data folder, and the next restore succeeds.
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/campaign.h"
#include "tests/support/millrace_server.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr int kDiedOfKill = 128 + SIGKILL;

class RestoreCrash : public testing::Test {
 protected:
  RestoreCrash() {
    server_.start();
    server_.apply("id: waits\nstates: [{id: a, type: consumeEvent, event: {type: go}}]\n");
    for (int n = 0; n < 20; ++n) server_.start_instance("waits", {{"n", n}});
    EXPECT_EQ(server_.cli({"backup", backup().string()}).code, 0);
    server_.stop();
  }

  fs::path backup() const { return folder_.path() / "backup"; }
  fs::path restored() const { return folder_.path() / "restored"; }

  ProcessEnd restore(const std::map<std::string, std::string>& faults) const {
    return run_process({.command = {MILLRACE_FAULTS_PROGRAM, "restore", backup().string(), "--data",
                                    restored().string(), "--secret-key-file",
                                    (server_.data() / "secret-key").string(), "--copy-key"},
                        .environment = faults});
  }

  Folder folder_;
  MillraceServer server_{"nats://127.0.0.1:1"};  // no server listens there
};

TEST_F(RestoreCrash, LeavesNoDataFolderAndLetsTheNextRestoreSucceed) {
  Campaign campaign("crash points: restore", "no data folder after a crash, then a sound one");
  for (const char* const point :
       {"written", "committed", "journal-started", "journal-turned", "pages-written",
        "pages-synced", "root-written", "checkpointed"}) {
    campaign.run(point, [&] {
      const ProcessEnd died = restore({{"MILLRACE_CRASH", fmt::format("{}:1", point)}});
      EXPECT_EQ(died.code, kDiedOfKill) << died.errors;
      EXPECT_FALSE(fs::exists(restored()));
      EXPECT_TRUE(fs::exists(restored().string() + ".partial"));
      const ProcessEnd again = restore({});
      EXPECT_EQ(again.code, 0) << again.errors;
      EXPECT_FALSE(fs::exists(restored().string() + ".partial"));
      expect_sound_folder(restored(), "after a restore");
      fs::remove_all(restored());
    });
  }
}

TEST_F(RestoreCrash, LeavesNoDataFolderIfTheDiskFails) {
  Campaign campaign("failed disk: restore", "an error and no data folder, then a sound one");
  for (int nth = 1; nth <= 3; ++nth) {
    campaign.run(fmt::format("sync:{}", nth), [&] {
      const ProcessEnd failed = restore({{"MILLRACE_FILES", fmt::format("sync:{}", nth)}});
      EXPECT_NE(failed.code, 0) << failed.errors;
      EXPECT_FALSE(fs::exists(restored()));
      const ProcessEnd again = restore({});
      EXPECT_EQ(again.code, 0) << again.errors;
      fs::remove_all(restored());
    });
  }
}

}  // namespace
}  // namespace millrace
