// The definitions that the tests of commands use.
#pragma once

namespace millrace {

/// Its instances wait for an event.
inline constexpr const char* kWaits = R"(
id: waits
states:
- {id: wait, type: consumeEvent, event: {type: paid}, transition: pass}
- {id: pass, type: noop}
)";

/// Its instances end at once.
inline constexpr const char* kEnds = "{id: ends, states: [{id: end, type: noop}]}";

/// Its instances fail in their second state.
inline constexpr const char* kFails = R"(
id: fails
states:
- {id: sleep, type: delay, duration: PT1H, transition: stop}
- {id: stop, type: error, error: no.use, message: gone}
)";

/// The same without the wait.
inline constexpr const char* kFailsAtOnce =
    "{id: fails-at-once, states: [{id: stop, type: error, error: no.use, message: gone}]}";

/// It is started by the clock.
inline constexpr const char* kScheduled = R"(
id: report
start: {type: scheduled, cron: "0 7 * * *"}
states: [{id: end, type: noop}]
)";

/// It calls a service of the namespace.
inline constexpr const char* kCalls = R"(
id: calls
functions: [{id: charge, type: knative-namespace, service: charge}]
states: [{id: pay, type: action, action: {function: charge}}]
)";

}  // namespace millrace
