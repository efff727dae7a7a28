// The bare loop: what a lifecycle costs with nothing of an engine: pull, the two attributes that
// matter, the same rows in LMDB, one synced commit a batch, publish, and the acknowledgement into
// the next commit. It knows its one workflow by heart. The limit that an engine can come near to.
#pragma once

#include <filesystem>
#include <string>

#include "os/launch.h"

namespace millrace {

/// The loop as a process of its own.
class BareLoop {
 public:
  /// Returns when it reads the stream, which it makes.
  BareLoop(const std::filesystem::path& folder, const std::string& nats_url);
  ~BareLoop();
  BareLoop(const BareLoop&) = delete;
  BareLoop& operator=(const BareLoop&) = delete;

  int pid() const { return process_.pid; }

 private:
  LaunchedProcess process_;
};

/// What that process does, if `arguments` say that this is one; else it returns.
void run_if_bare_loop(int argc, char** argv);

}  // namespace millrace
