// Puts an Event together from attributes as a transport gives them, one by one and in any order.
// Any attribute, present or null, is added exactly once.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/event.h"
#include "base/result.h"
#include "cloudevents/event_check.h"

namespace millrace {

class EventBuilder {
 public:
  /// nullopt is JSON's null: the attribute is absent, its name is checked all the same. The value
  /// of a core attribute is text. Errors: `event.attribute_name`, `event.duplicate_attribute`.
  Status add(std::string_view name, std::optional<AttributeValue> value);

  void set_data(std::string data) { event_.data = std::move(data); }

  /// The content type, if it was added yet.
  const std::optional<std::string>& datacontenttype() const;

  /// The event, checked whole. Errors: `event.missing_attribute`, `event.specversion`, and those of
  /// check_event.
  Result<Event> finish() &&;

 private:
  struct Core {
    bool added = false;
    std::optional<std::string> value;
  };

  std::array<Core, kCoreAttributes.size()> core_;  ///< in the order of kCoreAttributes
  std::set<std::string, std::less<>> absent_;      ///< extensions that are null
  Event event_;                                    ///< its extensions and data
};

}  // namespace millrace
