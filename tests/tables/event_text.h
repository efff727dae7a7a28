// Events as one line of a table: `paid source=shop customerid="7" data={"a":1}`. The type, then
// attributes, then the payload up to the end of the line.
#pragma once

#include <string>
#include <string_view>

#include "base/event.h"
#include "base/result.h"

namespace millrace {

/// Reads an event. `data=` takes the rest of the line as the payload's bytes, `base64=` what they
/// decode to; values are bare words or JSON strings, and an extension's bare `7` or `true` is an
/// integer or a boolean. `id` and `source` are as in `defaults` if they are not given. Errors:
/// `table.event`, and those of check_event: a table holds valid events only.
Result<Event> parse_event_text(std::string_view text, const Event& defaults);

/// The same form; attributes in the order id, source, subject, time, datacontenttype, dataschema,
/// extensions by name.
std::string print_event_text(const Event& event);

}  // namespace millrace
