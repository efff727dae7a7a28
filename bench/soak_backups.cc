#include "bench/soak_backups.h"

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {
namespace {

namespace fs = std::filesystem;

/// Moves a backup that did not pass out of the temporary folder.
void keep(const fs::path& backup, const fs::path& kept) {
  std::error_code error;
  fs::create_directories(kept, error);
  const fs::path place = kept / backup.filename();
  fs::remove_all(place, error);
  fs::rename(backup, place, error);
  fmt::print("{} did not pass; {}\n", backup.filename().string(),
             error ? "it could not be kept: " + error.message() : "see " + place.string());
}

}  // namespace

SoakBackups::SoakBackups(const MillraceProcess& server, SoakBackupPlan plan)
    : server_(server), plan_(std::move(plan)) {
  if (plan_.every.count() > 0) thread_ = std::thread(&SoakBackups::run, this);
}

SoakBackups::~SoakBackups() { finish(); }

std::string SoakBackups::take() {
  const std::lock_guard guard(lock_);
  const std::set<std::string> seen = std::exchange(seen_, {});
  if (!now_.empty()) seen_.insert(now_);
  return fmt::format("{}", fmt::join(seen, "+"));
}

SoakBackups::Totals SoakBackups::finish() {
  {
    const std::lock_guard guard(lock_);
    ends_ = true;
  }
  ending_.notify_one();
  if (thread_.joinable()) thread_.join();
  return totals_;
}

void SoakBackups::run() {
  auto next = std::chrono::steady_clock::now();
  std::unique_lock guard(lock_);
  while (true) {
    next = std::max(next + plan_.every, std::chrono::steady_clock::now());
    if (ending_.wait_until(guard, next, [this] { return ends_; })) return;
    const size_t number = ++totals_.made;
    guard.unlock();
    const bool passed = make_one(number);
    guard.lock();
    if (!passed) ++totals_.failed;
  }
}

/// Whether the backup was made, and its restored store has no findings.
bool SoakBackups::make_one(size_t number) {
  const fs::path backup = plan_.scratch / fmt::format("backup-{}", number);
  const fs::path restored = plan_.scratch / fmt::format("restored-{}", number);
  const std::string key = (plan_.data / "secret-key").string();
  std::vector<ProgramRun> runs;
  runs.push_back(step("backup", {"backup", backup.string(), "--url", server_.url(), "-o", "json"}));
  const auto bytes = static_cast<double>(bytes_on_disk(backup));
  if (runs.back().code == 0) {
    runs.push_back(step("restore", {"restore", backup.string(), "--data", restored.string(),
                                    "--secret-key-file", key, "--copy-key"}));
  }
  if (runs.back().code == 0) {
    runs.push_back(step("verify", {"verify", "--data", restored.string()}));
  }
  const bool passed = runs.back().code == 0;
  std::error_code error;
  fs::remove_all(restored, error);
  if (passed) {
    fs::remove_all(backup, error);
    fmt::print(
        "backup {}: {:.0f} MB made in {:.1f} s, restored in {:.1f} s, verified in {:.1f} s\n",
        number, bytes / 1e6, runs[0].seconds, runs[1].seconds, runs[2].seconds);
  } else {
    keep(backup, plan_.kept);
  }
  std::fflush(stdout);
  return passed;
}

/// Runs `millrace`, and marks the interval with the name of the step.
ProgramRun SoakBackups::step(const std::string& name, std::vector<std::string> arguments) {
  const auto mark = [&](const std::string& now) {
    const std::lock_guard guard(lock_);
    now_ = now;
    if (!now.empty()) seen_.insert(now);
  };
  mark(name);
  ProgramRun run = run_millrace(std::move(arguments));
  mark("");
  return run;
}

}  // namespace millrace
