// Describes why a connection to NATS cannot be made, and what an operator can do. nats.c repeats
// its attempts and does not report why they fail. So Connection makes an attempt of its own, and
// this code describes the result. Private to broker/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broker/nats_handles.h"

namespace millrace {

/// One sentence about an attempt to connect to `servers` that ended with `status`. `detail` is
/// nats.c's error text, or empty. If no NATS server was reached, the function resolves and dials
/// each of them once more, for at most one second each.
std::string explain_connect_failure(natsStatus status, std::string_view detail,
                                    const std::vector<std::string>& servers);

}  // namespace millrace
