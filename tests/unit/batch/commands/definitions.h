// Definitions for the tests of commands.
#pragma once

namespace millrace {

/// An instance of this workflow waits for an event.
inline constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: paid}, transition: pass}
- {id: pass, type: noop}
)";

/// An instance of this workflow ends at once.
inline constexpr const char* kEnds = "{id: ends, states: [{id: end, type: noop}]}";

/// An instance of this workflow fails in its second state.
inline constexpr const char* kFails = R"(
id: fails
states:
- {id: sleep, type: delay, duration: PT1H, transition: stop}
- {id: stop, type: error, error: no.use, message: gone}
)";

/// An instance of this workflow fails in its first state.
inline constexpr const char* kFailsAtOnce =
    "{id: fails-at-once, states: [{id: stop, type: error, error: no.use, message: gone}]}";

/// A schedule starts this workflow.
inline constexpr const char* kScheduled = R"(
id: report
start: {type: scheduled, cron: "0 7 * * *"}
states: [{id: end, type: noop}]
)";

/// An instance of this workflow calls a service of the namespace.
inline constexpr const char* kCalls = R"(
id: calls
functions: [{id: charge, type: knative-namespace, service: charge}]
states: [{id: pay, type: action, action: {function: charge}}]
)";

/// An instance of this workflow has a compensation to make, and waits.
inline constexpr const char* kUndoes = R"(
id: undoes
compensate: true
functions: [{id: undo, type: service, service: undo}]
states:
- {id: do, type: noop, compensate: {function: undo}, transition: wait}
- {id: wait, type: consumeEvent, event: {type: paid}}
)";

}  // namespace millrace
