// What makes an Event value a valid CloudEvent: the one list of rules, asked by every decoder and
// before a generated event is sent. The encoders take events that pass it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/result.h"

namespace millrace {

/// Lower-case ASCII letters and digits, at least one, and not `data`, which is reserved (section
/// "Naming Conventions"). More than 20 are taken: that is a recommendation to producers.
bool is_attribute_name(std::string_view name);

/// What the core specification defines, the required ones first; all others are extensions.
inline constexpr std::array<std::string_view, 8> kCoreAttributes = {
    "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema"};
inline constexpr size_t kRequiredAttributes = 4;

bool is_core_attribute(std::string_view name);

/// Whether the bytes are a String of the type system: UTF-8 without control characters (U+0000 to
/// U+001F, U+007F to U+009F) and noncharacters.
bool is_attribute_string(std::string_view bytes);

/// The first rule that the event breaks, if any. Errors: `event.empty_attribute`,
/// `event.attribute_name`, `event.attribute_value`, `event.time`, `event.content_type`.
Status check_event(const Event& event);

/// The text in quotes for a message, cut to 80 bytes. What an attribute may not hold, and a
/// terminal might obey, is written `\u0085`, or `\xNN` byte by byte if the text is no UTF-8.
std::string shown(std::string_view text);

}  // namespace millrace
