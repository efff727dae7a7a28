// The one place where a natsStatus becomes an Error, and a message of nats.c a NatsMessage. Private
// to broker/.
#pragma once

#include <string_view>

#include "base/result.h"
#include "broker/nats_handles.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// `doing` says what failed: "publishing to x". Codes: `broker.unreachable`, `broker.timeout`,
/// `broker.too_large`, `broker.refused`, `broker.protocol`.
Error nats_error(natsStatus status, std::string_view doing);

/// Copies a message. False: nats.c could not read its headers, or may have misread them.
bool read_message(natsMsg* from, NatsMessage& to);

}  // namespace millrace
