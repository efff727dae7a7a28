// JudgedEvent: an event as the judging of listeners reads it. JudgedPatterns: the patterns of the
// listeners, each compiled once. Pure; for one thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/attributes.h"
#include "base/event.h"
#include "base/json.h"
#include "matchers/event_filter.h"
#include "matchers/pattern.h"

namespace millrace {

struct JudgedEvent {
  explicit JudgedEvent(Event its_event)
      : event(std::move(its_event)), attributes(event), data(payload(event)) {}

  Event event;
  Attributes attributes;
  Json data;  ///< as a workflow sees it
};

class JudgedPatterns {
 public:
  /// How the predicate compares with a value. A pattern that does not compile matches nothing.
  Pattern::Answer compare(const Predicate& predicate, std::string_view value);

  /// The compiled pattern; null if the text does not compile.
  const Pattern* find(const std::string& text);

 private:
  std::map<std::string, std::shared_ptr<const Pattern>, std::less<>> patterns_;
};

}  // namespace millrace
