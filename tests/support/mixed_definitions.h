// Definitions whose instances have something of each kind in memory and in the store: listeners,
// timers, groups, schedules, subflows, tasks, evaluations, generated and delayed events. Used by
// the tests of lost batches.
#pragma once

namespace millrace {

inline constexpr const char* kWaits = R"(
id: waits
start: {type: event, event: {type: begin}}
states:
- {id: wait, type: consumeEvent, timeout: PT1H, event: {type: go}}
)";

inline constexpr const char* kGroups = R"(
id: groups
start: {type: eventsAnd, lifespan: PT30M, events: [{type: one}, {type: two}]}
states:
- {id: done, type: noop}
)";

inline constexpr const char* kTicks = R"(
id: ticks
start: {type: scheduled, cron: '*/20 * * * *'}
states:
- {id: done, type: noop}
)";

inline constexpr const char* kCallsItems = R"(
id: calls
functions:
- {id: f, type: subflow, workflow: item}
states:
- id: loop
  type: foreach
  array: jq(.items)
  action: {function: f}
)";

inline constexpr const char* kItem = R"(
id: item
states:
- {id: wait, type: consumeEvent, timeout: PT10M, event: {type: item}}
)";

inline constexpr const char* kOrder = R"(
id: order
functions:
- {id: charge, type: knative-namespace, service: charge}
states:
- id: pay
  type: action
  action: {function: charge}
)";

inline constexpr const char* kReminds = R"(
id: reminds
states:
- {id: remind, type: generateEvent, delay: PT1H, event: {type: reminder, source: /r}}
)";

inline constexpr const char* kComputesThenWaits = R"(
id: computes
states:
- {id: compute, type: noop, transform: 'jq({a: [.b | limit(1; .[])]})', transition: wait}
- {id: wait, type: consumeEvent, event: {type: computed}}
)";

inline constexpr const char* kGeneratesEvents = R"(
id: tells
states:
- {id: tell, type: generateEvent, event: {type: told, source: /t}}
)";

}  // namespace millrace
