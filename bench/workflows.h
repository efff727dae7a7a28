// The workflows that the benchmarks run.
#pragma once

namespace millrace {

inline constexpr const char* kLifecycle = R"(
id: life
start:
  type: event
  event:
    type: life.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: life.go
      context:
        key: jq(.["life.start"].key)
    timeout: PT1H
    transition: tell
  - id: tell
    type: generateEvent
    event:
      type: life.done
      source: bench
      data: jq(.["life.start"].key)
)";

/// The same, with an expression that takes a worker.
inline constexpr const char* kThinking = R"(
id: thinking
start:
  type: event
  event:
    type: thinking.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: thinking.go
      context:
        key: jq(.["thinking.start"].key | ltrimstr("no"))
    timeout: PT1H
    transition: tell
  - id: tell
    type: generateEvent
    event:
      type: thinking.done
      source: bench
      data: jq(.["thinking.start"].key)
)";

inline constexpr const char* kLooping = R"(
id: {0}
start:
  type: event
  event:
    type: {0}.start
states:
  - id: loop
    type: noop
    transform: jq(last(range(1e18)))
)";

/// All of them wait for the same event.
inline constexpr const char* kCrowd = R"(
id: crowd
start:
  type: event
  event:
    type: crowd.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: crowd.go
)";

/// Waits for what does not come, and says so.
inline constexpr const char* kTimeout = R"(
id: late
start:
  type: event
  event:
    type: late.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: late.go
    timeout: PT1H
    catch:
      - error: direktiv.stateTimeout
        transition: tell
  - id: tell
    type: generateEvent
    event:
      type: late.told
      source: bench
)";

inline constexpr const char* kPair = R"(
id: pair
start:
  type: eventsAnd
  correlate: [key]
  lifespan: PT1H
  events:
    - type: pair.left
    - type: pair.right
states:
  - id: done
    type: noop
)";

}  // namespace millrace
