// Relates the names of scenario files to the names of the definitions in the same folder.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace millrace {

/// Whether a file with that name has scenarios and not a workflow: `order.test.yaml`, `.yml`,
/// `.json`.
inline bool is_scenario_file(std::string_view name) {
  constexpr std::array<std::string_view, 3> kEndings = {".test.yaml", ".test.yml", ".test.json"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

/// The workflow file that a scenario file with that name tests by default: `order.yaml`.
inline std::string workflow_beside(std::string_view scenario_file) {
  std::string name(scenario_file);
  if (is_scenario_file(name)) name.erase(name.rfind(".test."), 5);
  return name;
}

}  // namespace millrace
