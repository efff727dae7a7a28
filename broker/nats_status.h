// The one place where a natsStatus becomes an Error, and a message of nats.c a NatsMessage. Private
// to broker/.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "broker/nats_handles.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// `doing` says what failed: "publishing to x". Codes: `broker.unreachable`, `broker.timeout`,
/// `broker.too_large`, `broker.refused`, `broker.protocol`.
Error nats_error(natsStatus status, std::string_view doing);

/// A subject that nothing else listens on, for answers. Errors: as nats_error(); what has no memory
/// or descriptors left is `broker.unreachable`.
Result<std::string> make_inbox();

/// Makes a message of nats.c to send: the headers and data of `message`, to `subject`. `reply` is
/// where its answer goes; null: nowhere. What could not be made whole is not to be sent.
natsStatus make_message(const NatsMessage& message, const std::string& subject, const char* reply,
                        NatsMsgHandle& made);

/// Copies a message. False: nats.c could not read its headers, or may have misread them. Call it
/// before anything else looks at the headers: nats.c says once that it could not read them to their
/// end, and passes the rest over from then on.
bool read_message(natsMsg* from, NatsMessage& to);

}  // namespace millrace
