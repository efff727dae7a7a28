// The definition that the tests in this folder share.
#pragma once

namespace millrace {

/// An instance of this workflow waits for one event.
inline constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: paid}}
)";

}  // namespace millrace
