#include "cli/cluster_flags.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "broker/stream_options.h"
#include "cli/public_url.h"
#include "cli/quantity.h"
#include "os/host_name.h"

namespace millrace {
namespace {

constexpr Duration kLeastTakeover{500};
constexpr Duration kMostTakeover{60'000};

/// The URL at which other nodes reach a node that listens on this address. Empty: the address names
/// no port.
std::string url_of_listener(std::string_view listen) {
  const size_t colon = listen.rfind(':');
  if (colon == std::string_view::npos) return "";
  const std::string_view port = listen.substr(colon + 1);
  if (port.empty() || port == "0") return "";
  return fmt::format("http://{}:{}", reachable_host(listen), port);
}

Fallible<std::string> advertised_url(std::string given, const std::string& listen) {
  if (!given.empty()) return base_url_of("--advertise", std::move(given));
  std::string url = url_of_listener(listen);
  if (!url.empty()) return url;
  return wrong_usage(
      fmt::format("--advertise: the other nodes need the URL of this node, and --listen {} names "
                  "no port; write for example --advertise http://db1:8780",
                  listen));
}

}  // namespace

void add_cluster_flags(Verb& serve, ClusterFlags& to) {
  const ClusterOptions otherwise;
  serve.option(
      "--cluster", to.name,
      "Name of the cluster of which this server is a node (MILLRACE_CLUSTER; default: none)",
      "NAME");
  serve.flag("--found", to.founds, "Found the cluster: its log is created, or must be empty");
  serve.option("--advertise", to.advertise,
               "URL at which the other nodes reach this one (MILLRACE_ADVERTISE; default: the host "
               "and port of --listen, with the name of this machine if it listens on all "
               "addresses)",
               "URL");
  serve.option("--takeover-after", to.takeover_after,
               fmt::format("Silence of the active after which another node takes over; the same on "
                           "all nodes (MILLRACE_TAKEOVER_AFTER; default: {})",
                           duration_text(otherwise.takeover_after)),
               "DURATION");
  serve.option("--max-clock-offset", to.max_clock_offset,
               fmt::format("How far the clock of this machine may be off that of the broker "
                           "(MILLRACE_MAX_CLOCK_OFFSET; default: {})",
                           duration_text(otherwise.max_clock_offset)),
               "DURATION");
  serve.option("--snapshot-after", to.snapshot_after,
               fmt::format("A snapshot is due when the log has grown by as much as the store, and "
                           "at least by this much (MILLRACE_SNAPSHOT_AFTER; default: {})",
                           bytes_text(otherwise.snapshot_after)),
               "BYTES");
  serve.option("--broker-sync-interval", to.broker_sync_interval,
               fmt::format("The sync_interval of the NATS servers: the log is trimmed behind "
                           "snapshots that are twice as old (MILLRACE_BROKER_SYNC_INTERVAL; "
                           "default: {})",
                           duration_text(otherwise.broker_sync_interval)),
               "DURATION");
}

Fallible<ClusterOptions> read_cluster_options(const Shell& shell, const ClusterFlags& given,
                                              const ServeOptions& serve) {
  ClusterOptions options;
  options.name = shell.setting(given.name, {"MILLRACE_CLUSTER"});
  options.founds = given.founds;
  const std::string url = shell.setting(given.advertise, {"MILLRACE_ADVERTISE"});
  const std::string takeover = shell.setting(given.takeover_after, {"MILLRACE_TAKEOVER_AFTER"});
  const std::string offset = shell.setting(given.max_clock_offset, {"MILLRACE_MAX_CLOCK_OFFSET"});
  const std::string snapshot = shell.setting(given.snapshot_after, {"MILLRACE_SNAPSHOT_AFTER"});
  const std::string sync =
      shell.setting(given.broker_sync_interval, {"MILLRACE_BROKER_SYNC_INTERVAL"});
  if (options.name.empty()) {
    const std::pair<const char*, bool> others[] = {{"--found", given.founds},
                                                   {"--advertise", !url.empty()},
                                                   {"--takeover-after", !takeover.empty()},
                                                   {"--max-clock-offset", !offset.empty()},
                                                   {"--snapshot-after", !snapshot.empty()},
                                                   {"--broker-sync-interval", !sync.empty()}};
    for (const auto& [flag, is_given] : others) {
      if (!is_given) continue;
      return wrong_usage(fmt::format(
          "{} is for a node of a cluster; name the cluster by --cluster or MILLRACE_CLUSTER",
          flag));
    }
    return options;
  }
  if (const Status is_name = check_cluster_name(options.name); !is_name) {
    return wrong_usage("--cluster: " + is_name.error().message);
  }
  if (serve.secret_key_file.empty()) {
    return give_up(ExitCode::kUsage, "cluster.key",
                   "--cluster: all nodes of a cluster need the same key for secrets; write it into "
                   "a file on each machine, and name the file by --secret-key-file or "
                   "MILLRACE_SECRET_KEY_FILE");
  }
  options.url = TRY(advertised_url(url, serve.listen));
  if (!takeover.empty()) options.takeover_after = TRY(read_duration("takeover-after", takeover));
  if (options.takeover_after < kLeastTakeover || options.takeover_after > kMostTakeover) {
    return wrong_usage(fmt::format("--takeover-after: {} is not possible; expected {} to {}",
                                   duration_text(options.takeover_after),
                                   duration_text(kLeastTakeover), duration_text(kMostTakeover)));
  }
  if (!offset.empty()) options.max_clock_offset = TRY(read_duration("max-clock-offset", offset));
  if (!snapshot.empty()) options.snapshot_after = TRY(read_number("snapshot-after", snapshot));
  if (!sync.empty())
    options.broker_sync_interval = TRY(read_duration("broker-sync-interval", sync));
  return options;
}

}  // namespace millrace
