// `millrace restore` is killed at random moments. Then there is either no data folder or a whole
// one, and the next restore succeeds. MILLRACE_KILLS and MILLRACE_SEED: see kill_series.h.
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include "orchestrator/backup/restore.h"
#include "tests/integration/filled_store.h"
#include "tests/integration/kill_series.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

class RestoreKills : public testing::Test {
 protected:
  RestoreKills() {
    const ProcessEnd made = back_up(backup().string());
    EXPECT_EQ(made.code, 0) << made.errors;
    const ProcessEnd streamed = back_up("-");
    EXPECT_EQ(streamed.code, 0) << streamed.errors;
    tar_ = streamed.output;
  }

  fs::path backup() const { return folder_.path() / "backup"; }
  fs::path data() const { return folder_.path() / "restored"; }

  ProcessEnd back_up(const std::string& destination) const {
    return run_process({.command = {millrace_program(), "backup", destination, "--data",
                                    store_.folder().string()}});
  }
  /// How `millrace restore` is started.
  ProcessSettings restoring(bool is_tar) const {
    return {
        .command = {millrace_program(), "restore", is_tar ? "-" : backup().string(), "--data",
                    data().string(), "--secret-key-file", store_.key_file().string(), "--copy-key"},
        .input = is_tar ? tar_ : ""};
  }

  /// Restores without a kill; returns the time that the command takes. What a killed restore has
  /// left must not matter.
  Duration restore(bool is_tar) const {
    ProcessEnd end;
    const Duration taken = time_of_operation([&] { end = run_process(restoring(is_tar)); });
    EXPECT_EQ(end.code, 0) << end.errors;
    expect_whole();
    return taken;
  }
  /// Expects that the data folder has each row of the store, and removes the folder.
  void expect_whole() const {
    expect_sound_folder(data(), "after a restore");
    EXPECT_TRUE(rows_in_folder(data()) == store_.rows()) << "the restored store has other rows";
    EXPECT_FALSE(fs::exists(partial_folder(data())));
    fs::remove_all(data());
  }

  NatsServer nats_;
  FilledStore store_{nats_, {.done = 2'000, .waiting = 1'000}};
  Folder folder_;
  std::string tar_;  ///< the backup as a tar stream
};

TEST_F(RestoreKills, LeaveAWholeDataFolderOrNone) {
  KillSeries series("restore", "no data folder or a whole one; then a restore that succeeds");
  const Duration from_folder = restore(false);
  const Duration from_tar = restore(true);
  while (series.goes_on()) {
    const bool is_tar = series.kills() % 2 == 1;
    const auto kill = [&](Duration moment) {
      Process command(restoring(is_tar));
      const std::optional<int> ended = command.wait(moment);
      EXPECT_EQ(ended.value_or(0), 0) << command.errors();
      if (!ended) command.signal(SIGKILL);
      command.wait();
      if (!fs::exists(data())) return KillPlace::kDuring;
      expect_whole();
      return KillPlace::kAfter;
    };
    const KillPlace place =
        series.run(is_tar ? "tar stream" : "folder", is_tar ? from_tar : from_folder, kill);
    if (place == KillPlace::kDuring) restore(series.up_to(1) == 1);
  }
}

}  // namespace
}  // namespace millrace
