// Reads fields of the broker's answers. A missing field, or one of another type, reads as zero or
// empty: an answer is input from outside, and nlohmann's own accessors throw. Writes durations as
// the broker reads them. Private to broker/.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/time.h"

namespace millrace {

inline const Json& field(const Json& object, const char* name) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

inline int64_t integer_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

inline uint64_t count_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

inline std::string text_field(const Json& object, const char* name) {
  const Json& value = field(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// The duration as a field of a request, in nanoseconds.
inline int64_t nanoseconds(Duration duration) { return std::chrono::nanoseconds(duration).count(); }

}  // namespace millrace
