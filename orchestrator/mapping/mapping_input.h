// MappingInput: what the jq programs of a mapping read of a message, and the data that the event
// has if the mapping does not set it. Pure values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/lazy_json.h"
#include "base/projection.h"
#include "base/result.h"
#include "base/time.h"
#include "cloudevents/headers.h"
#include "cloudevents/nats_binding.h"

namespace millrace {

struct MappingInput {
  LazyJson json;  ///< the input of the jq programs, an object with what they read, or more
  /// The data of the event without the setting `data`, and its content type: JSON as it was
  /// received, other UTF-8 text as a JSON string, other bytes as they are, a form as a JSON object;
  /// nullopt: there is none.
  std::optional<std::string> data;
  std::optional<std::string> content_type;
};

/// The input that a message of a stream gives: `{"subject", "tokens": [the parts of the subject],
/// "headers": {NAME: TEXT}, "data", "stream", "sequence", "time"}`. `data` is the JSON value of the
/// bytes; other UTF-8 text is a string, and other bytes are a string, their Base64; no bytes are
/// null. The names of headers are in lower case; several values of one header are joined by `, `.
/// What `reads` does not name may be missing.
MappingInput message_input(const NatsMessage& message, std::string_view stream, uint64_t sequence,
                           TimePoint time, const Projection& reads);

/// The input that an HTTP request gives: `{"headers", "query": {NAME: TEXT}, "data", "time",
/// "hook": name}`, as above; `data` of a form (is_form) are its fields, also for the event. Error
/// `mapping.form`: that of form_fields().
Result<MappingInput> request_input(const Headers& headers,
                                   const std::map<std::string, std::string, std::less<>>& query,
                                   std::string_view body, std::string_view name, TimePoint time);

}  // namespace millrace
