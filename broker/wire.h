// Checks messages for NATS and parses headers from NATS, as pure functions. nats.c checks neither
// the subjects nor the headers that it sends, and misreads some headers that it receives.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "cloudevents/headers.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// Whether a message may be published. The subject must have no empty token, blank, control
/// character or wildcard, and at most 3 KiB. Header names must be printable ASCII without `:`;
/// values must have no CR, LF or NUL. Headers and data together must have at most `max_payload`
/// bytes. Errors: `broker.refused`, whose message names the part that is not valid;
/// `broker.too_large`.
Status check_message(const NatsMessage& message, size_t max_payload);

/// Whether a header may be sent unchanged.
bool is_sendable_header(std::string_view name, std::string_view value);

/// The bytes of headers in a message, including the version line; 0 if there are no headers.
size_t encoded_size(const Headers& headers);

/// Reads `NATS/1.0…CRLF name: value CRLF … CRLF` byte for byte. Headers keep their order; names
/// keep their spelling; values keep NUL bytes and may be empty. Blanks around values are removed. A
/// line without `:` is a name without a value.
Headers parse_header_block(std::string_view block);

/// Whether nats.c 3.4.1 may have made this value from two lines: nats.c skips the line break after
/// an empty value and takes the next header as the value.
bool may_hold_the_next_header(std::string_view value);

}  // namespace millrace
