// The context attributes of one event, packed: what is looked at of events that concern nobody, so
// it is made with one allocation and moves as one pointer. base/event.h has the same in fields.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/event.h"

namespace millrace {

/// One attribute, as views.
struct Attribute {
  enum class Kind : uint8_t { kText, kBoolean, kInteger };

  Attribute() = default;
  Attribute(std::string_view its_name, std::string_view its_text, Kind its_kind = Kind::kText)
      : name(its_name), text(its_text), kind(its_kind) {}

  std::string_view name;
  std::string_view text;  ///< the canonical string form, as `attribute()` has it
  Kind kind = Kind::kText;
};

class Attributes {
 public:
  Attributes() = default;

  /// Each name once.
  explicit Attributes(std::span<const Attribute> attributes);

  /// Those of the event, `specversion` among them.
  explicit Attributes(const Event& event);

  /// The text of that name, a view of this value; nullopt if the event has none.
  std::optional<std::string_view> find(std::string_view name) const;

  /// Every event has one.
  std::string_view type() const { return find("type").value_or(""); }

  /// The event that has them, without data.
  Event event() const;

 private:
  class Walk;

  std::string bytes_;  // of each: the size of its name, of its text, its kind, name and text
};

}  // namespace millrace
