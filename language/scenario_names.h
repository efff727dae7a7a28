// How the names of scenario files and of the definitions beside them belong together.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace millrace {

/// Whether a file of that name holds scenarios and no workflow: `order.test.yaml`, `.yml`, `.json`.
inline bool is_scenario_file(std::string_view name) {
  constexpr std::array<std::string_view, 3> kEndings = {".test.yaml", ".test.yml", ".test.json"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

/// The workflow that a scenario file of that name is about unless it says otherwise: `order.yaml`.
inline std::string workflow_beside(std::string_view scenario_file) {
  std::string name(scenario_file);
  if (is_scenario_file(name)) name.erase(name.rfind(".test."), 5);
  return name;
}

}  // namespace millrace
