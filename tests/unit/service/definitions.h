// The definition that tests of this room share.
#pragma once

namespace millrace {

/// An instance waits for one event.
inline constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: paid}}
)";

}  // namespace millrace
