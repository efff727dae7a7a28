// The only place that converts a natsStatus into an Error, and a message of nats.c into a
// NatsMessage. Private to broker/.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "broker/nats_handles.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// `doing` names the operation that failed: "publishing to x". Codes: `broker.unreachable`,
/// `broker.timeout`, `broker.too_large`, `broker.refused`, `broker.protocol`.
Error nats_error(natsStatus status, std::string_view doing);

/// Creates a message of nats.c with the headers and data of `message`, to `subject`. `reply` is the
/// subject for the answer; null: no answer. If the status is not NATS_OK, do not send the message.
natsStatus make_message(const NatsMessage& message, const std::string& subject, const char* reply,
                        NatsMsgHandle& made);

/// Copies a message. Returns false if nats.c could not read its headers, or may have misread them.
/// Call read_message() before any other access to the headers: nats.c reports only once that it
/// could not read all headers, and leaves out the unread headers from then on.
bool read_message(natsMsg* from, NatsMessage& to);

}  // namespace millrace
