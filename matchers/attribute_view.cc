#include "matchers/attribute_view.h"

#include <charconv>
#include <variant>

namespace millrace {

std::optional<std::string_view> attribute_view(const Event& event, const std::string& name,
                                               AttributeDigits& digits) {
  const auto view = [](const std::optional<std::string>& value) {
    return value ? std::optional<std::string_view>(*value) : std::nullopt;
  };
  if (name == "type") return event.type;
  if (name == "source") return event.source;
  if (name == "id") return event.id;
  if (name == "subject") return view(event.subject);
  if (name == "time") return view(event.time);
  if (name == "datacontenttype") return view(event.datacontenttype);
  if (name == "dataschema") return view(event.dataschema);
  if (name == "specversion") return "1.0";
  const auto found = event.extensions.find(name);
  if (found == event.extensions.end()) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(&found->second)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int32_t>(&found->second)) {
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *number).ptr;
    return std::string_view(digits.data(), static_cast<size_t>(end - digits.data()));
  }
  return std::get<std::string>(found->second);
}

}  // namespace millrace
