#include "orchestrator/made_scenario/explained_times.h"

#include <utility>

#include "base/characters.h"

namespace millrace {
namespace {

/// The form of a time in RFC 3339, up to its seconds; `d` is a digit.
constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";

bool is_time(std::string_view text) {
  for (size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'd' ? !is_digit(text[i]) : text[i] != kForm[i]) return false;
  }
  return true;
}

}  // namespace

bool ExplainedTimes::explains(std::string_view text) const {
  for (size_t at = 0; at + kForm.size() <= text.size(); ++at) {
    const std::string_view time = text.substr(at, kForm.size());
    if (is_time(time) && met_.find(time) == std::string::npos) return false;
  }
  return true;
}

std::optional<Json> ExplainedTimes::part(const Json& value) const {
  if (value.is_string()) {
    if (!explains(value.get_ref<const std::string&>())) return std::nullopt;
  } else if (value.is_array()) {
    for (const Json& one : value) {
      if (part(one) != one) return std::nullopt;
    }
  } else if (value.is_object()) {
    Json some = Json::object();
    for (const auto& [key, member] : value.items()) {
      std::optional<Json> shown = explains(key) ? part(member) : std::nullopt;
      if (shown) some[key] = *std::move(shown);
    }
    return some;
  }
  return value;
}

Json ExplainedTimes::part_of(const Json& value) const { return part(value).value_or(Json()); }

}  // namespace millrace
