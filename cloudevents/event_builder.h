// EventBuilder: builds an Event from attributes that are added one by one, in any order, as a
// transport delivers them. Each attribute, present or null, may be added only once.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/event.h"
#include "base/result.h"
#include "cloudevents/event_check.h"
#include "cloudevents/limits.h"

namespace millrace {

class EventBuilder {
 public:
  /// `most_extensions`: as EventLimits::extensions.
  explicit EventBuilder(size_t most_extensions = kMaxExtensions)
      : most_extensions_(most_extensions) {}

  /// Adds an attribute. nullopt stands for JSON null: the attribute is absent, but its name is
  /// checked too. Precondition: the value of a core attribute is text. Errors:
  /// `event.attribute_name`, `event.duplicate_attribute`, `event.too_many_attributes`.
  Status add(std::string_view name, std::optional<AttributeValue> value);

  /// `is_json`: see Event::data_json.
  void set_data(std::string data, bool is_json) {
    event_.data = std::move(data);
    event_.data_json.is_known = is_json;
  }

  /// The content type; nullopt if none has been added.
  const std::optional<std::string>& datacontenttype() const;

  /// The complete event after all checks. Errors: `event.missing_attribute`, `event.specversion`,
  /// and those of check_event.
  Result<Event> finish() &&;

 private:
  struct Core {
    bool added = false;
    std::optional<std::string> value;
  };

  size_t most_extensions_;
  size_t counted_ = 0;  ///< the extensions that were added and that count for most_extensions_
  std::array<Core, kCoreAttributes.size()> core_;  ///< in the order of kCoreAttributes
  std::set<std::string, std::less<>> absent_;      ///< extensions that were added as null
  Event event_;  ///< has the data and the extension attributes that were added so far
};

}  // namespace millrace
