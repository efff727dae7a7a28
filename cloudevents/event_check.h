// The rules for a valid CloudEvent, in one place. Every decoder applies these rules to the events
// that it reads, and a state applies the rules to a generated event before it publishes the event.
// The encoders accept only events that conform to the rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "cloudevents/limits.h"

namespace millrace {

/// Whether the name is a valid attribute name: lower-case ASCII letters and digits, at least one,
/// and not `data`, which is reserved (section "Naming Conventions"). Names of more than 20
/// characters are accepted: the limit of 20 is a recommendation to producers.
bool is_attribute_name(std::string_view name);

/// The attributes that the core specification defines, the required ones first. All other
/// attributes are extension attributes.
inline constexpr std::array<std::string_view, 8> kCoreAttributes = {
    "specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema"};
inline constexpr size_t kRequiredAttributes = 4;

bool is_core_attribute(std::string_view name);

/// Whether the bytes are a String of the CloudEvents type system: UTF-8 without control characters
/// (U+0000 to U+001F, U+007F to U+009F) and without noncharacters.
bool is_attribute_string(std::string_view bytes);

/// The Integer of the CloudEvents type system that a JSON number is; nullopt: it is no whole
/// number, or has more than 32 bits.
std::optional<int32_t> attribute_integer(const Json& number);

/// Error `event.too_many_attributes`.
Error too_many_attributes(size_t most);

/// Checks an event; the error names the first rule that the event breaks. `most_extensions`: as
/// EventLimits::extensions. Errors: `event.empty_attribute`, `event.attribute_name`,
/// `event.attribute_value`, `event.time`, `event.content_type`, `event.too_many_attributes`.
Status check_event(const Event& event, size_t most_extensions = kMaxExtensions);

/// The text in quotes for a message, cut to about 80 bytes. Characters that an attribute must not
/// contain are written as in `\u0085`, because a terminal might interpret them; if the text is not
/// UTF-8, bytes outside printable ASCII are written as `\xNN`.
std::string shown(std::string_view text);

}  // namespace millrace
