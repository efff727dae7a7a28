// Says why a connection to NATS cannot be made, and what to do. nats.c repeats its attempts and
// does not report why they fail, so Connection makes one attempt of its own, and the outcome is
// described here.
// Private to broker/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "broker/nats_handles.h"

namespace millrace {

/// One sentence about an attempt to connect to `servers` that ended with `status`; `detail` is the
/// text that nats.c has for it, or empty. Where no server was reached it looks up and dials each of
/// them once more, for at most a second each.
std::string explain_connect_failure(natsStatus status, std::string_view detail,
                                    const std::vector<std::string>& servers);

}  // namespace millrace
