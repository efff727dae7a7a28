#include "app/dev.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "app/end_reason.h"
#include "app/log.h"
#include "app/serve.h"
#include "app/server.h"
#include "app/signals.h"
#include "app/workflow_folder.h"
#include "base/defaults.h"
#include "broker/dev_server.h"
#include "os/descriptor_limit.h"
#include "os/scratch_folder.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr Duration kReadyTime = std::chrono::seconds(20);

/// Waits until the server is ready, at most kReadyTime. The broker runs already, so its streams
/// exist soon; before that, commands are refused.
Status wait_until_ready(Service& service) {
  const auto deadline = std::chrono::steady_clock::now() + kReadyTime;
  while (true) {
    Status ready = service.ready();
    if (ready || std::chrono::steady_clock::now() > deadline) return ready;
    std::this_thread::sleep_for(Duration(5));
  }
}

void print_first_commands(const Server& server, const std::string& token_file,
                          const std::string& nats, bool has_workflows) {
  const uint16_t port = server.port();
  const std::string base = fmt::format("http://127.0.0.1:{}", port);
  if (const std::string page = server.page_url(); !page.empty()) {
    fmt::print("\nThe page of millrace is at {}\n", page);
  }
  fmt::print("\nmillrace is running: HTTP at {}, NATS at {}. In another shell:\n\n", base, nats);
  if (port != defaults::kHttpPort) fmt::print("  export MILLRACE_URL={}\n", base);
  if (!token_file.empty()) fmt::print("  export MILLRACE_TOKEN_FILE={}\n", token_file);
  if (has_workflows) fmt::print("  millrace workflow list\n");
  fmt::print(
      "  millrace instance list\n"
      "  millrace event send --type TYPE --source SOURCE --data '{{}}'\n"
      "  curl {}{}/v1/ns/default/instances\n"
      "  nats --server {} sub 'millrace.events.>'      # any NATS client\n\n"
      "Ctrl-C stops millrace.\n\n",
      token_file.empty() ? "" : "-H \"Authorization: Bearer $(cat $MILLRACE_TOKEN_FILE)\" ", base,
      nats);
  std::fflush(stdout);
}

Status run(const DevOptions& options, const EndSignals& signals, JqLauncher launcher) {
  // Checks everything that can be wrong on the command line before anything is started.
  if (options.folder && !fs::is_directory(*options.folder)) {
    return fail("dev.folder", fmt::format("{} is not a directory", *options.folder));
  }
  if (options.keep && fs::exists(*options.keep) && !fs::is_directory(*options.keep)) {
    return fail("dev.folder", fmt::format("--keep {}: this is not a directory", *options.keep));
  }
  ServerSettings settings{.listen = options.listen, .token_file = options.token_file};
  Descriptor address = TRY(Server::bind(settings));
  std::optional<ScratchFolder> scratch;
  if (!options.keep) scratch.emplace(TRY(ScratchFolder::make("millrace-dev")));
  const fs::path folder = options.keep ? fs::path(*options.keep) : scratch->path();
  EndReason reason;
  const auto broker = TRY(DevServer::start({.folder = folder / "nats",
                                            .port = options.nats_port,
                                            .preferred_port = defaults::kNatsPort}));
  settings.data = folder / "millrace";
  settings.nats = {.servers = {broker->url()}};
  settings.on_lost = [&](const Error& why) { reason.set(why); };
  const auto server =
      TRY(Server::start(std::move(settings), std::move(address), std::move(launcher)));
  TRY(wait_until_ready(server->service()));
  if (!options.folder) {
    print_first_commands(*server, options.token_file, broker->url(), false);
    signals.wait();
    return reason.status();
  }
  WorkflowFolder workflows(*options.folder, server->service(),
                           [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
  workflows.apply_changes();
  print_first_commands(*server, options.token_file, broker->url(), true);
  TRY(workflows.watch(signals.set()));
  return reason.status();
}

}  // namespace

int run_dev(const DevOptions& options) {
  if (const Status limit = raise_descriptor_limit(); !limit) return fail_to_start(limit.error());
  auto launcher = JqLauncher::start();
  if (!launcher) return fail_to_start(launcher.error());
  const EndSignals signals;
  log_to_stderr();
  const Status ended = run(options, signals, *std::move(launcher));
  end_log();
  return ended ? 0 : fail_to_start(ended.error());
}

}  // namespace millrace
