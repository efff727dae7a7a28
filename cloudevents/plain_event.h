// The fast path for events: it recognises most valid events at a fraction of the cost of decoding
// and reads their attributes without the data. The fast path rejects nothing: if it is not sure
// that an event is valid, the decoders (json_format.h, binary_mode.h) decide. The decoders alone
// define which events are valid and which error an invalid event has.
#pragma once

#include <optional>
#include <string_view>

#include "base/attributes.h"
#include "cloudevents/headers.h"

namespace millrace {

/// The attributes of a text that decode_json_event accepts; nullopt if this function is not sure.
/// The function is sure only of JSON of up to 64 KiB without `data_base64`; white space is allowed.
std::optional<Attributes> read_plain_json(std::string_view text);

/// The attributes of headers that decode_binary accepts (the body is not checked); nullopt if this
/// function is not sure. The function is sure only of headers whose attribute name is in lower case
/// and whose value needs no decoding.
std::optional<Attributes> read_plain_headers(const Headers& headers);

}  // namespace millrace
