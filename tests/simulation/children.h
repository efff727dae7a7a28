// The instances of a workflow that other workflows call.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tests/simulation/world.h"

namespace millrace {

inline std::vector<Json> instances_of(World& world, std::string_view workflow) {
  std::vector<Json> found;
  for (Json& one : world.instances()) {
    if (one["workflow"] == workflow) found.push_back(std::move(one));
  }
  return found;
}

inline std::vector<std::string> statuses(World& world, std::string_view workflow) {
  std::vector<std::string> found;
  for (const Json& one : instances_of(world, workflow)) found.push_back(one["status"]);
  return found;
}

inline size_t count(World& world, std::string_view workflow, std::string_view status) {
  const auto all = statuses(world, workflow);
  return static_cast<size_t>(std::count(all.begin(), all.end(), status));
}

}  // namespace millrace
