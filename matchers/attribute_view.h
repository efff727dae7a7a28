// A context attribute without a copy, for the path that every event takes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/event.h"

namespace millrace {

/// Room for the digits of an Integer.
using AttributeDigits = std::array<char, 11>;

/// The same as base/event.h `attribute()`, as a view of the event or of `digits`.
std::optional<std::string_view> attribute_view(const Event& event, const std::string& name,
                                               AttributeDigits& digits);

}  // namespace millrace
