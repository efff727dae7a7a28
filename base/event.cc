#include "base/event.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/characters.h"

namespace millrace {

std::optional<std::string> attribute(const Event& event, std::string_view name) {
  if (name == "type") return event.type;
  if (name == "source") return event.source;
  if (name == "id") return event.id;
  if (name == "subject") return event.subject;
  if (name == "time") return event.time;
  if (name == "datacontenttype") return event.datacontenttype;
  if (name == "dataschema") return event.dataschema;
  if (name == "specversion") return "1.0";
  const auto found = event.extensions.find(std::string(name));
  if (found == event.extensions.end()) return std::nullopt;
  if (const auto* flag = std::get_if<bool>(&found->second)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<int32_t>(&found->second)) return std::to_string(*number);
  return std::get<std::string>(found->second);
}

Json payload(const Event& event) {
  if (!event.data) return nullptr;
  if (Result<Json> json = parse_json(*event.data)) return std::move(*json);
  return base64_encode(*event.data);
}

bool is_json_content_type(const std::optional<std::string>& content_type) {
  if (!content_type) return true;
  std::string essence = content_type->substr(0, content_type->find(';'));
  while (!essence.empty() && (essence.back() == ' ' || essence.back() == '\t')) essence.pop_back();
  std::transform(essence.begin(), essence.end(), essence.begin(), lower_case);
  return essence.ends_with("/json") || essence.ends_with("+json");
}

}  // namespace millrace
