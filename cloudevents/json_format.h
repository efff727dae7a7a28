// The JSON event format and JSON batch format, 1.0.2. `data` is not parsed into a tree: its text is
// copied to Event.data and back unchanged, except that white space is removed. So decoding an
// encoded event gives the same event, if its JSON data has no white space.
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

/// Reads one event. An attribute that is null counts as absent (section 2.2). A `data` that is null
/// counts as absent too: a workflow sees null in both cases. Errors: `event.*`, except those of
/// headers and batches.
Result<Event> decode_json_event(std::string_view text, const EventLimits& limits = {});

/// The data of an event in the JSON format; nullopt: the event has no data. Precondition:
/// decode_json_event accepts the text, the event has no `data_base64`, and `content_type` is that
/// of the event.
std::optional<std::string> json_event_data(std::string_view text,
                                           const std::optional<std::string>& content_type);

/// Reads an array of events, which may be empty. `event_bytes` limits each event, not their sum.
/// The error text for an invalid event begins with its index, `[3]: `. Errors: those of
/// decode_json_event, `event.batch_too_large`, `event.not_array`.
Result<std::vector<Event>> decode_json_batch(std::string_view text, const EventLimits& limits = {});

/// The event as one line of JSON, nested at most 128 deep. Precondition: check_event accepts the
/// event. JSON data with a JSON content type becomes `data`; UTF-8 text with another content type
/// becomes `data` as a string. All other data becomes `data_base64`: bytes that are not what the
/// content type says, the JSON text `null` (which would be read as absent), and JSON that would
/// nest too deep inside the event.
std::string encode_json_event(const Event& event);
/// A size in bytes that the text of encode_json_event() does not exceed, without making the text.
size_t most_encoded_bytes(const Event& event);

/// The event in the JSON format as a tree, which `capture: event` stores.
Json event_to_json(const Event& event);

}  // namespace millrace
