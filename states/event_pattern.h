// EventPattern: the events that an event state listens for, as written in its definition: a type,
// and patterns for context attributes that may contain `jq(…)`. An EventPattern is resolved to an
// EventFilter once, when an instance starts to wait.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/event.h"
#include "base/lazy_json.h"
#include "base/time.h"
#include "expressions/template.h"
#include "matchers/event_filter.h"
#include "states/visit.h"

namespace millrace {

struct EventPattern {
  struct Attribute {
    std::string name;  ///< lower case
    Template value;    ///< a string with or without jq(…), or a number or boolean
  };
  std::string type;
  std::vector<Attribute> attributes;
  bool capture = false;  ///< `capture: event`
  /// How far before the wait the state looks back for an event; nullopt: it does not.
  std::optional<Duration> lookback = std::nullopt;
};

/// The event types of the patterns, in order.
std::vector<std::string> types_of(std::span<const EventPattern> patterns);

/// The filters of all patterns, in order, evaluated together over the instance's data. A value that
/// consists of one jq(…) is data and is compared for equality. Within a longer string the result of
/// jq(…) is escaped, so that data cannot change what the pattern matches. Raises direktiv.event.jq.
Evaluated<std::vector<EventFilter>> resolve(Visit& visit, std::span<const EventPattern> patterns);

/// The filters of the patterns over that data, as far as the fast lane can evaluate them: see
/// State::filters_over().
std::vector<std::optional<EventFilter>> known_filters(std::span<const EventPattern> patterns,
                                                      const LazyJson& data);

/// The `lookback` of each pattern, in order.
std::vector<std::optional<Duration>> lookbacks_of(std::span<const EventPattern> patterns);

/// Asks for the early events of the patterns that have a `lookback`; `filters` are those of all
/// patterns. The windows are counted back from the time for which the first attempt of the state
/// was scheduled. `fills_each` as in LookBack. To be called before the state acts; the engine
/// offers the events when the state listens. Returns Park until they have come, Raise
/// millrace.limits.lookback, or nullopt: the state continues.
std::optional<Outcome> look_back(Visit& visit, std::span<const EventPattern> patterns,
                                 std::span<const EventFilter> filters, bool fills_each);

/// The part of an event that is stored: its payload, or with `capture: event` the complete event in
/// JSON format. Large data of an event stays the text that was received.
LazyJson captured(const Event& event, bool capture);

}  // namespace millrace
