// The workflows that the benchmarks run.
#pragma once

namespace millrace {

/// A lifecycle: one event starts the instance, a second event wakes it, and it generates a third
/// event.
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
    transition: publish
  - id: publish
    type: generateEvent
    event:
      type: life.done
      source: bench
      data: jq(.["life.start"].key)
)";

/// A lifecycle whose expression needs a jq worker.
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
    transition: publish
  - id: publish
    type: generateEvent
    event:
      type: thinking.done
      source: bench
      data: jq(.["thinking.start"].key)
)";

/// A workflow, with the id {0}, whose jq program practically never ends.
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

/// A workflow whose instances all wait for the same event.
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

/// Waits for an event that does not come, catches the timeout and generates an event.
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
        transition: publish
  - id: publish
    type: generateEvent
    event:
      type: late.reported
      source: bench
)";

/// Takes an event that came before the instance started, and generates an event.
inline constexpr const char* kEarly = R"(
id: early
start:
  type: event
  event:
    type: early.start
states:
  - id: wait
    type: consumeEvent
    event:
      type: early.paid
      context:
        key: jq(.["early.start"].key)
      lookback: PT5M
    transition: publish
  - id: publish
    type: generateEvent
    event:
      type: early.done
      source: bench
      data: jq(.["early.start"].key)
)";

/// A workflow that a group of two events with the same key starts (eventsAnd).
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
