// What may go over the wire of NATS and what came from it, as pure functions: nats.c checks neither
// the subjects nor the headers that it sends, and misreads some headers that it receives.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "cloudevents/headers.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

/// Whether a message may be published: the subject has no empty token, blank, control character or
/// wildcard and at most 3 KiB; header names are printable ASCII without `:`, values have no CR, LF
/// or NUL; headers and data together are at most `max_payload` bytes. Error `broker.refused` says
/// which part is wrong, `broker.too_large` that it is the size.
Status check_message(const NatsMessage& message, size_t max_payload);

/// Whether a header may be sent as it is.
bool is_sendable_header(std::string_view name, std::string_view value);

/// The bytes that headers take in a message, the version line included; 0 for none.
size_t encoded_size(const Headers& headers);

/// Reads `NATS/1.0…CRLF name: value CRLF … CRLF` byte for byte: in order, names as written, blanks
/// around values cut, NUL and empty values kept. A line without `:` is a name without a value.
Headers parse_header_block(std::string_view block);

/// Whether nats.c 3.4.1 may have made this value out of two lines: it skips the line break behind
/// an empty value and takes the next header for the value.
bool may_hold_the_next_header(std::string_view value);

/// Whether all subjects that `inner` stands for are among those of `outer` (`*`, `>` in both).
bool subject_covers(std::string_view outer, std::string_view inner);

}  // namespace millrace
