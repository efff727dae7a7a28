// What `try` of a source and of an inbound webhook show of an event. Pure.
#pragma once

#include <string>

#include "base/json.h"

namespace millrace {

/// What the event of the item would do, as a text such as `started order, woke 0190b5a4-…`. The
/// item has the members "duplicate", "would" and "similarTypes" of an answer, and no "error".
std::string would_text(const Json& item);

}  // namespace millrace
