// SoakBackups: makes backups of a running server at a fixed interval. Each backup is restored into
// a folder of its own, and `millrace verify` checks the restored store. All of this runs on one
// thread, in processes beside the server. A backup that passed is removed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "bench/harness.h"

namespace millrace {

struct SoakBackupPlan {
  std::chrono::seconds every{120};  ///< from the begin of a backup to that of the next; 0: none
  std::filesystem::path data;       ///< the data folder of the server, which has the key
  std::filesystem::path scratch;    ///< for backups and restored stores
  std::filesystem::path kept;       ///< backups that did not pass are moved into this folder
};

class SoakBackups {
 public:
  struct Totals {
    size_t made = 0;
    size_t failed = 0;  ///< backups that were not made, not restored, or that have findings
  };

  /// `server` outlives the SoakBackups.
  SoakBackups(const MillraceProcess& server, SoakBackupPlan plan);
  ~SoakBackups();
  SoakBackups(const SoakBackups&) = delete;
  SoakBackups& operator=(const SoakBackups&) = delete;

  /// What ran at any time since the previous call: `backup`, `restore` and `verify`, separated by
  /// `+`; empty: nothing.
  std::string take();

  /// Makes no further backup, and returns when the last one is checked.
  Totals finish();

 private:
  void run();
  bool make_one(size_t number);
  ProgramRun step(const std::string& name, std::vector<std::string> arguments);

  const MillraceProcess& server_;
  const SoakBackupPlan plan_;
  std::mutex lock_;  // guards the members below, except the thread
  std::condition_variable ending_;
  bool ends_ = false;
  std::string now_;             ///< the step that runs; empty: none
  std::set<std::string> seen_;  ///< the steps that ran since take()
  Totals totals_;
  std::thread thread_;
};

}  // namespace millrace
