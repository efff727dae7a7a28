// Events that are plainly valid: known so at a fraction of what decoding costs, and read without
// their data. Nothing is refused here: what these functions are not sure of goes to the decoders
// (json_format.h, binary_mode.h), which alone define what an event is and what is wrong with one.
#pragma once

#include <optional>
#include <string_view>

#include "base/attributes.h"
#include "cloudevents/headers.h"

namespace millrace {

/// The attributes of a text that decode_json_event takes; nullopt where this is not sure. It is of
/// compact or spread JSON of up to 64 KiB, without `data_base64`.
std::optional<Attributes> read_plain_json(std::string_view text);

/// The attributes of headers that decode_binary takes, whatever the body is; nullopt where this is
/// not sure. It is where names are lower-case and values need no decoding.
std::optional<Attributes> read_plain_headers(const Headers& headers);

}  // namespace millrace
