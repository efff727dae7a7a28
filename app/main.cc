#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>

#include <unistd.h>

#include "app/backup.h"
#include "app/compact.h"
#include "app/dev.h"
#include "app/jq_check.h"
#include "app/leave_cluster.h"
#include "app/restore.h"
#include "app/serve.h"
#include "app/signals.h"
#include "app/store_info.h"
#include "app/test.h"
#include "app/verify.h"
#include "cli/app.h"
#include "expressions/workers/worker.h"
#include "gateway/routes.h"

namespace {

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Whether the process ignores the signal since its start, as under `nohup`.
bool ignores(int signal) {
  struct sigaction now {};
  return sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// From the first call on, Ctrl-C, and the end of the terminal, end a verb only between its
/// requests.
bool pause_unless_interrupted(millrace::Duration time) {
  static const millrace::EndSignals signals =
      ignores(SIGHUP) ? millrace::EndSignals() : millrace::EndSignals({SIGHUP});
  return !signals.wait_for(time);
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = millrace::run_as_jq_process(argc, argv)) return *code;
  millrace::Console console{.in = std::cin,
                            .out = std::cout,
                            .err = std::cerr,
                            .out_is_terminal = isatty(STDOUT_FILENO) == 1,
                            .env = environment,
                            .now =
                                [] {
                                  return std::chrono::time_point_cast<millrace::Duration>(
                                      std::chrono::system_clock::now());
                                },
                            .err_is_terminal = isatty(STDERR_FILENO) == 1,
                            .pause = pause_unless_interrupted};
  const millrace::ProgramVerbs program{.load = millrace::lint_definition,
                                       .api = millrace::api_document,
                                       .serve = millrace::run_serve,
                                       .dev = millrace::run_dev,
                                       .test = millrace::test_workflows,
                                       .verify = millrace::verify_store,
                                       .backup = millrace::back_up_store,
                                       .restore = millrace::restore_store,
                                       .store_info = millrace::show_store_info,
                                       .compact = millrace::compact_data,
                                       .leave = millrace::leave_cluster_with};
  return millrace::run_app({argv + 1, argv + argc}, console, program);
}
