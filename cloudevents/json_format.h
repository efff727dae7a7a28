// The JSON event format and JSON batch format, 1.0.2. `data` is not made into a tree: its text goes
// into Event.data and back without white space but otherwise as it was, so that decoding what was
// encoded gives the same event (JSON data being without white space).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "base/result.h"
#include "cloudevents/limits.h"

namespace millrace {

/// Reads one event. A member that is null is absent: attributes (section 2.2), and `data` too,
/// which a workflow sees as null either way. Errors: `event.*` but those of headers and batches.
Result<Event> decode_json_event(std::string_view text, size_t max_bytes = kMaxEventBytes);

/// Only the data of a text that decode_json_event takes and that has no `data_base64`; the content
/// type is the event's.
std::optional<std::string> json_event_data(std::string_view text,
                                           const std::optional<std::string>& content_type);

/// Reads an array of events, which may be empty. `event_bytes` bounds each event, not their sum. A
/// bad event's message begins with its index, `[3]: `. Errors: those of an event,
/// `event.batch_too_large`, `event.not_array`.
Result<std::vector<Event>> decode_json_batch(std::string_view text, const EventLimits& limits = {});

/// One line of JSON, nested at most 128 deep, of an event that check_event takes. JSON data under a
/// JSON content type is `data`, UTF-8 text under another is `data` as a string; all else is
/// `data_base64`: other bytes, the JSON text `null` (which would be read as absent), and JSON too
/// deep for an envelope around it.
std::string encode_json_event(const Event& event);

/// The same as a tree: what `capture: event` stores.
Json event_to_json(const Event& event);

}  // namespace millrace
