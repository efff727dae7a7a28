// Events as one line of a table: `paid source=shop customerid="7" data={"a":1}`. The type, then
// attributes, then the payload up to the end of the line.
#pragma once

#include <string>
#include <string_view>

#include "base/event.h"
#include "base/result.h"

namespace millrace {

/// Reads an event. The rest of the line after `data=` is the payload, after `base64=` the payload
/// in Base64. Values are bare words or JSON strings. A bare `7` or `true` of an extension is an
/// integer or a boolean. `id` and `source` are those of `defaults` if they are missing. Errors:
/// `table.event` and those of check_event, because a table holds valid events only.
Result<Event> parse_event_text(std::string_view text, const Event& defaults);

/// Writes an event in the format of parse_event_text(), with the attributes in the order id,
/// source, subject, time, datacontenttype, dataschema, extensions by name.
std::string print_event_text(const Event& event);

}  // namespace millrace
