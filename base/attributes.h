// Attributes: the context attributes of one event, packed into one string. Most events match
// nothing, and millrace reads only the attributes of such an event. To make this cheap, an
// Attributes object takes one allocation, and a move copies no text. base/event.h has the
// attributes as separate fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/event.h"

namespace millrace {

/// One context attribute; name and text are views.
struct Attribute {
  enum class Kind : uint8_t { kText, kBoolean, kInteger };

  Attribute() = default;
  Attribute(std::string_view its_name, std::string_view its_text, Kind its_kind = Kind::kText)
      : name(its_name), text(its_text), kind(its_kind) {}

  std::string_view name;
  std::string_view text;  ///< the canonical string form, as `attribute()` returns it
  Kind kind = Kind::kText;
};

class Attributes {
 public:
  Attributes() = default;

  /// Precondition: no name occurs twice.
  explicit Attributes(std::span<const Attribute> attributes);

  /// All context attributes of the event, `specversion` included.
  explicit Attributes(const Event& event);

  /// The text of the attribute with that name, as a view into this object; nullopt if the event has
  /// no such attribute.
  std::optional<std::string_view> find(std::string_view name) const;

  /// The event's `type`, which every event has.
  std::string_view type() const { return find("type").value_or(""); }

  /// An event with these attributes and without data.
  Event event() const;

  /// The bytes of memory that the attributes take.
  size_t size() const { return bytes_.size(); }

 private:
  class Walk;

  /// For each attribute: the size of its name, the size of its text, its kind, its name, its text.
  std::string bytes_;
};

}  // namespace millrace
