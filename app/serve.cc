#include "app/serve.h"

#include <csignal>
#include <cstdio>
#include <sstream>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "app/end_reason.h"
#include "app/log.h"
#include "app/server.h"
#include "app/signals.h"
#include "cli/output.h"
#include "os/core_dumps.h"
#include "os/descriptor_limit.h"
#include "os/file_access.h"
#include "os/replace_process.h"

namespace millrace {
namespace {

std::vector<std::string> split_urls(const std::string& urls) {
  std::vector<std::string> list;
  std::istringstream stream(urls);
  for (std::string url; std::getline(stream, url, ',');) {
    if (!url.empty()) list.push_back(url);
  }
  return list;
}

ConnectionSettings connection_settings(const ServeOptions& options) {
  const bool is_token = options.password.empty();
  return {.servers = split_urls(options.nats),
          .user = is_token ? "" : options.user,
          .password = options.password,
          .token = is_token ? options.user : "",
          .creds_file = options.creds,
          .nkey_seed_file = options.nkey,
          .tls_ca_file = options.ca,
          .tls_cert_file = options.cert,
          .tls_key_file = options.key,
          .js_domain = options.js_domain,
          .inbox_prefix = options.nats_inbox_prefix};
}

/// Warns of files with credentials for NATS that other users may read.
void warn_of_exposed_credentials(const ServeOptions& options) {
  for (const std::string& file : {options.creds, options.nkey, options.key}) {
    const auto exposure = file.empty() ? std::nullopt : exposure_of(file);
    if (exposure) spdlog::warn("credentials for NATS: {}", *exposure);
  }
}

/// The end of a process whose server did not start. A signal during the start is no failure.
int end_without_server(const Error& error) {
  if (error.code != "stopping") return fail_to_start(error);
  spdlog::info("stopping: {}", error.message);
  end_log();
  return 0;
}

}  // namespace

int fail_to_start(const Error& error) {
  fmt::print(stderr, "millrace: {} [{}]\n", harmless(error.message), error.code);
  return 1;
}

int run_serve(const ServeOptions& options) {
  const Status core_dumps = options.core_dumps ? Status() : forbid_core_dumps();
  if (!core_dumps) return fail_to_start(core_dumps.error());
  if (const Status limit = raise_descriptor_limit(); !limit) return fail_to_start(limit.error());
  auto launcher = JqLauncher::start();
  if (!launcher) return fail_to_start(launcher.error());
  const EndSignals signals({SIGHUP});
  log_to_stderr();
  warn_of_exposed_credentials(options);
  EndReason reason;
  auto server = Server::start({.data = options.data,
                               .listen = options.listen,
                               .token_file = options.token_file,
                               .origins = options.origins,
                               .public_url = options.public_url,
                               .nats = connection_settings(options),
                               .request_subjects = options.request_subjects,
                               .streams = options.streams,
                               .take_over = options.take_over,
                               .cluster = options.cluster,
                               .on_lost = [&](const Error& why) { reason.set(why); },
                               .is_ending = [&] { return signals.pending(); },
                               .secret_key_file = options.secret_key_file,
                               .containers = options.containers,
                               .memory_folder = options.memory_folder,
                               .bounds = options.bounds,
                               .on_node_end = [] { ::kill(::getpid(), SIGTERM); }},
                              *std::move(launcher));
  if (!server) return end_without_server(server.error());
  spdlog::info("millrace {} listens on port {}; data in {}; NATS at {}", MILLRACE_VERSION,
               (*server)->port(), options.data,
               fmt::join(without_logins(split_urls(options.nats)), ", "));
  (*server)->warn_of_old_broker();
  if (const std::string page = (*server)->page_url(); !page.empty()) {
    spdlog::info("the page is at {}", page);
  }
  while (signals.wait() == SIGHUP && !options.token_file.empty()) (*server)->read_token_again();
  Status ended = reason.status();
  if (!ended) spdlog::error("{} [{}]", ended.error().message, ended.error().code);
  spdlog::info("stopping");
  const NodeEnd node = (*server)->leave();
  if (node.what == NodeEnd::What::kFailed) ended = tl::unexpected(node.error);
  server->reset();
  if (node.what == NodeEnd::What::kReplace) {
    spdlog::info("the epoch of this node is over: the process starts again");
    end_log();
    return fail_to_start(replace_process().error());
  }
  end_log();
  return ended ? 0 : fail_to_start(ended.error());
}

}  // namespace millrace
