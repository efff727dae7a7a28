// A workflow whose instances an operator cancels, pauses and retries.
#pragma once

#include <string>

#include "tests/simulation/world.h"

namespace millrace {

inline constexpr const char* kOperatorOrder = R"(
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

/// Parses the id of an instance.
inline InstanceId key(const std::string& id) { return *parse_instance_id(id); }

}  // namespace millrace
