// EventPattern: what an event state listens for, as its definition says it: a type, and patterns
// for context attributes in which `jq(…)` may stand. When an instance begins to wait it becomes an
// EventFilter, once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/event.h"
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
};

/// Their types, in order.
std::vector<std::string> types_of(std::span<const EventPattern> patterns);

/// The filters of all patterns, in order, evaluated in one go over the visit's data. A value that
/// is wholly one jq(…) is data and compared for equality; inside a longer string its result is
/// quoted, so that no data can widen a pattern. Raises direktiv.event.jq.
Evaluated<std::vector<EventFilter>> resolve(Visit& visit, std::span<const EventPattern> patterns);

/// What is stored of an event: its payload, or with `capture: event` the event in JSON form.
Json captured(const Event& event, bool capture);

}  // namespace millrace
