// Reads members of the detail of a history record. A member that is missing, or of another type, is
// empty or 0. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"

namespace millrace {

inline std::string text_in(const Json& detail, const char* key) {
  if (!detail.is_object()) return "";
  const auto found = detail.find(key);
  return found != detail.end() && found->is_string() ? found->get<std::string>() : "";
}

inline uint64_t number_in(const Json& detail, const char* key) {
  if (!detail.is_object()) return 0;
  const auto found = detail.find(key);
  return found != detail.end() && found->is_number_integer() ? found->get<uint64_t>() : 0;
}

/// The id of the task, or of the instance of the subflow, of a call.
inline std::string call_in(const Json& detail) {
  return text_in(detail, detail.contains("task") ? "task" : "instance");
}

}  // namespace millrace
