// `millrace backup` of a server under load, or that server, is killed at random moments. The server
// has lost nothing, and there is either a complete backup or one that a restore refuses.
// MILLRACE_KILLS and MILLRACE_SEED: see kill_series.h.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/check.h"
#include "orchestrator/backup/backup_folder.h"
#include "orchestrator/backup/restore.h"
#include "tests/integration/filled_store.h"
#include "tests/integration/kill_series.h"
#include "tests/support/store_check.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::HasSubstr;

/// Publishes events in a thread of its own: each starts an instance of `wait`. Two of three
/// instances get the event that they wait for, some events later.
class WaitLoad {
 public:
  /// `name` distinguishes the keys of this load from those of others.
  WaitLoad(const NatsServer& nats, std::string name)
      : name_(std::move(name)), thread_([this, client = nats.client()] { run(*client); }) {}
  ~WaitLoad() { stop(); }
  WaitLoad(const WaitLoad&) = delete;
  WaitLoad& operator=(const WaitLoad&) = delete;

  /// Publishes no more. After stop(), started() and woken() do not change.
  void stop() {
    goes_on_ = false;
    if (thread_.joinable()) thread_.join();
  }

  size_t started() const { return started_; }
  size_t woken() const { return woken_; }

 private:
  static constexpr size_t kMost = 600;  ///< of instances
  static constexpr size_t kLag = 20;    ///< how many instances are started before one is woken

  void run(RawNatsClient& client) {
    while (goes_on_ && started_ < kMost) {
      publish(client, "wait", started_++);
      if (started_ <= kLag || started_ % 3 == 0) continue;
      publish(client, "go", started_ - 1 - kLag);
      ++woken_;
    }
  }

  void publish(RawNatsClient& client, std::string_view type, size_t number) const {
    const std::string event = keyed_event(type, fmt::format("{}-{}", name_, number));
    const Json ack = client.publish_acked(event_subject(type), "", event);
    CHECK(ack.contains("seq"), "{}", ack.dump());
  }

  const std::string name_;
  std::atomic<bool> goes_on_ = true;
  size_t started_ = 0;
  size_t woken_ = 0;
  std::thread thread_;
};

/// A backup of a server under load. The server uses a copy of the store.
class BackupUnderLoad {
 public:
  BackupUnderLoad(const NatsServer& nats, const FilledStore& store, std::string name, bool is_tar)
      : store_(store), is_tar_(is_tar), server_(nats.url()) {
    delete_streams(*nats.client());
    store_.copy_to(server_.data());
    server_.start_ready();
    load_.emplace(nats, std::move(name));
  }

  /// Starts `millrace backup`.
  void begin() {
    command_.emplace(ProcessSettings{
        .command = {millrace_program(), "backup", is_tar_ ? "-" : backup().string()},
        .environment = {{"MILLRACE_URL", server_.url()}}});
  }
  /// Waits for the end of the command; nullopt: it still runs.
  std::optional<int> wait(Duration at_most = kPatience) { return command_->wait(at_most); }
  void kill_command() {
    if (!wait(Duration(0))) command_->signal(SIGKILL);
    wait();
  }
  /// Kills the server and starts it again.
  void kill_server() {
    server_.kill();
    server_.start_ready();
  }

  /// Makes the backup without a kill, which must succeed; returns the time that it takes.
  Duration make() {
    const Duration taken = time_of_operation([&] {
      begin();
      EXPECT_EQ(wait(), 0) << command_->errors();
    });
    expect_nothing_lost();
    EXPECT_TRUE(is_complete());
    return taken;
  }

  /// Expects that the server has each instance that the load has started, each once, and all
  /// instances of before. Stops the server.
  void expect_nothing_lost() {
    load_->stop();
    EXPECT_TRUE(server_.has_usage(store_.live() + load_->started() - load_->woken(),
                                  store_.ended() + load_->woken()))
        << load_->started() << " started, " << load_->woken()
        << " woken: " << server_.get("/v1/info").at("store");
    server_.stop();
    store_.expect_kept_in(server_.data());
  }

  /// Whether the backup is complete. Expects that a complete backup is restored with all instances
  /// of the store, and that another one is refused. Precondition: the command has ended.
  bool is_complete() {
    command_->wait_for_streams();
    const fs::path restored = folder_.path() / "restored";
    const ProcessEnd end =
        run_process({.command = {millrace_program(), "restore", is_tar_ ? "-" : backup().string(),
                                 "--data", restored.string(), "--secret-key-file",
                                 store_.key_file().string(), "--copy-key"},
                     .input = is_tar_ ? command_->output() : ""});
    const bool is_restored = end.code == 0;
    EXPECT_TRUE(is_restored || end.code == 1) << end.errors;
    EXPECT_TRUE(is_restored || wait() != 0) << "the command made an incomplete backup";
    EXPECT_EQ(fs::exists(restored), is_restored) << end.errors;
    EXPECT_FALSE(fs::exists(partial_folder(restored)));
    if (is_restored) {
      expect_sound_folder(restored, "after the restore");
      store_.expect_kept_in(restored);
    } else {
      expect_refusal(end.errors);
    }
    return is_restored;
  }

 private:
  fs::path backup() const { return folder_.path() / "backup"; }

  /// Expects the error of an incomplete backup, or of a backup that has no file.
  void expect_refusal(const std::string& errors) const {
    if (is_tar_) {
      EXPECT_THAT(errors, AnyOf(HasSubstr("the tar stream is not a complete backup"),
                                HasSubstr("reading the tar stream")));
      return;
    }
    EXPECT_THAT(errors, AnyOf(HasSubstr("is not a complete backup"), HasSubstr("is not a backup")));
    const auto opened = BackupFolderSource::open(backup());
    EXPECT_THAT(opened ? "" : opened.error().code, AnyOf("backup.incomplete", "backup.missing"));
  }

  const FilledStore& store_;
  const bool is_tar_;
  Folder folder_;
  MillraceServer server_;
  std::optional<WaitLoad> load_;
  std::optional<Process> command_;
};

class BackupKills : public testing::Test {
 protected:
  BackupUnderLoad next(bool is_tar) {
    return BackupUnderLoad(nats_, store_, fmt::format("load-{}", ++made_), is_tar);
  }

  NatsServer nats_;
  FilledStore store_{nats_, {.done = 1'500, .waiting = 1'000}};
  size_t made_ = 0;
};

TEST_F(BackupKills, OfTheCommandLeaveACompleteBackupOrOneThatIsRefused) {
  KillSeries series("backup", "a server without a loss; a complete backup or one that is refused");
  const Duration to_folder = next(false).make();
  const Duration to_tar = next(true).make();
  while (series.goes_on()) {
    const bool is_tar = series.kills() % 2 == 1;
    BackupUnderLoad backup = next(is_tar);
    const auto kill = [&](Duration moment) {
      backup.begin();
      backup.wait(moment);
      backup.kill_command();
      backup.expect_nothing_lost();
      return backup.is_complete() ? KillPlace::kAfter : KillPlace::kDuring;
    };
    series.run(is_tar ? "tar stream" : "folder", is_tar ? to_tar : to_folder, kill);
  }
}

TEST_F(BackupKills, OfTheServerLoseNothingAndLeaveACompleteBackupOrOneThatIsRefused) {
  KillSeries series("server in a backup",
                    "a server without a loss; a complete backup or one that is refused");
  const Duration whole = next(false).make();
  while (series.goes_on()) {
    BackupUnderLoad backup = next(false);
    series.run("server", whole, [&](Duration moment) {
      backup.begin();
      backup.wait(moment);
      backup.kill_server();
      // The command asks for the next chunk for some seconds. Only one command of the series is
      // awaited.
      if (series.hits() == 0) {
        EXPECT_TRUE(backup.wait()) << "the command does not end";
      }
      backup.kill_command();
      backup.expect_nothing_lost();
      return backup.is_complete() ? KillPlace::kAfter : KillPlace::kDuring;
    });
  }
}

}  // namespace
}  // namespace millrace
