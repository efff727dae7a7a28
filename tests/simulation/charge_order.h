// A workflow that calls one service, with further keys of its call.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/simulation/world.h"

namespace millrace {

/// A workflow that calls `charge` once, with further keys of the action and the state.
inline std::string order(std::string_view action = "", std::string_view state = "") {
  return fmt::format(R"(
id: order
functions:
- {{id: charge, type: knative-namespace, service: charge}}
states:
- id: pay
  type: action
  action: {{function: charge{}}}
{}  transition: ship
- {{id: ship, type: noop}}
)",
                     action, state);
}

inline void fail(World& world, const InstanceId& task, std::string code) {
  world.functions.report({task, TaskEnded{.result = tl::unexpected(Error{std::move(code), "no"})}});
  world.run_until_idle();
}

}  // namespace millrace
