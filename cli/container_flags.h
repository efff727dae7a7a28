// The flags of `millrace serve` for functions in containers, and the environment variables that can
// replace them.
#pragma once

#include <string>
#include <vector>

#include "cli/command_parser.h"
#include "cli/console.h"
#include "cli/serve_options.h"
#include "cli/shell.h"

namespace millrace {

/// The flags as they are given; empty: not given.
struct ContainerFlags {
  std::string runtime;
  std::string network;
  std::string pool_network;
  std::vector<std::string> options;
  std::string folder;
};

void add_container_flags(Verb& serve, ContainerFlags& to);

/// The flags, or the environment variables of those that are not given. Exit kUsage: a value is not
/// valid.
Fallible<ContainerOptions> read_container_options(const Shell& shell, const ContainerFlags& given);

}  // namespace millrace
