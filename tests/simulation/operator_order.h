// An order whose instances an operator acts on.
#pragma once

#include <string>

#include "tests/simulation/world.h"

namespace millrace {

inline constexpr const char* kOrder = R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: wait
  type: consumeEvent
  timeout: PT1H
  event: {type: paid}
  transition: pay
- id: pay
  type: action
  action: {function: charge, input: jq(.paid)}
  transition: ship
- {id: ship, type: noop}
)";

/// The id of an instance that waits.
inline std::string start(World& world, const std::string& workflow = kOrder) {
  world.apply(workflow);
  std::string id = world.start("order")["id"];
  world.settle();
  return id;
}

inline InstanceId key(const std::string& id) { return *parse_instance_id(id); }

inline std::string status(World& world, const std::string& id) {
  return world.instance(id)["status"];
}

}  // namespace millrace
