// The fast path for events: it recognises most valid events at a fraction of the cost of decoding
// and reads their attributes without the data. It rejects nothing: if it is not sure that an event
// is valid, the decoders (json_format.h, binary_mode.h) decide. They alone define which events are
// valid and which error an invalid one has.
#pragma once

#include <optional>
#include <string_view>

#include "base/attributes.h"
#include "cloudevents/headers.h"

namespace millrace {

/// The attributes of a text that decode_json_event accepts; nullopt if this function is not sure.
/// It handles JSON of up to 64 KiB, with or without white space, without `data_base64`.
std::optional<Attributes> read_plain_json(std::string_view text);

/// The attributes of headers that decode_binary accepts (the body is not checked); nullopt if this
/// function is not sure. It handles lower-case names and values that need no decoding.
std::optional<Attributes> read_plain_headers(const Headers& headers);

}  // namespace millrace
