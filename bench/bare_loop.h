// BareLoop: a program that does the work of a lifecycle (lifecycles.h) without an engine. The loop
// pulls events, reads `type` and `key` of each event, writes rows as large as the engine's rows to
// LMDB, in one synced commit for each batch, publishes the generated events, and erases the outbox
// rows of acknowledged events in the next commit. The one workflow of the loop is part of the
// program's code. The number of lifecycles that the loop runs in a second is the limit that an
// engine can approach.
#pragma once

#include <filesystem>
#include <string>

#include "os/launch.h"

namespace millrace {

/// Runs the loop in a separate process.
class BareLoop {
 public:
  /// Starts the process, which creates the event stream. Returns once the process reads the stream.
  BareLoop(const std::filesystem::path& folder, const std::string& nats_url);
  ~BareLoop();
  BareLoop(const BareLoop&) = delete;
  BareLoop& operator=(const BareLoop&) = delete;

  int pid() const { return process_.pid; }

 private:
  LaunchedProcess process_;
};

/// Runs the loop and does not return if the arguments are those with which a BareLoop starts its
/// process. Otherwise returns at once.
void run_if_bare_loop(int argc, char** argv);

}  // namespace millrace
