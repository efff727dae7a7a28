// The flags of `millrace serve` for a node of a cluster, and the environment variables that can
// replace them.
#pragma once

#include <string>

#include "cli/command_parser.h"
#include "cli/console.h"
#include "cli/serve_options.h"
#include "cli/shell.h"

namespace millrace {

/// The flags as they are given; empty: not given.
struct ClusterFlags {
  std::string name;
  bool founds = false;
  std::string advertise;
  std::string takeover_after;
  std::string max_clock_offset;
  std::string snapshot_after;
  std::string broker_sync_interval;
};

void add_cluster_flags(Verb& serve, ClusterFlags& to);

/// The flags, or the environment variables of those that are not given. `serve`: the options that
/// have been read, for the address and the file of the key. Exit kUsage: a value is not valid, a
/// flag is given that only a node of a cluster has, or (`cluster.key`) a node of a cluster has no
/// file with the key.
Fallible<ClusterOptions> read_cluster_options(const Shell& shell, const ClusterFlags& given,
                                              const ServeOptions& serve);

}  // namespace millrace
