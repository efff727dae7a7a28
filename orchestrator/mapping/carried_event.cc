#include "orchestrator/mapping/carried_event.h"

#include <algorithm>
#include <string>

#include "cloudevents/binary_mode.h"
#include "cloudevents/event_check.h"
#include "cloudevents/json_format.h"
#include "cloudevents/json_text.h"
#include "cloudevents/nats_binding.h"

namespace millrace {
namespace {

/// The beginning of the content types of structured mode and of batches.
constexpr std::string_view kEventContentType = "application/cloudevents";

bool is_of_events(const Headers& headers) {
  if (std::any_of(headers.begin(), headers.end(),
                  [](const auto& header) { return is_attribute_header(header.first); })) {
    return true;
  }
  const std::string* const type = find_header(headers, "content-type");
  return type != nullptr && to_lower(*type).starts_with(kEventContentType);
}

/// Whether the text is an object that has all required attributes.
bool has_required_attributes(std::string_view text) {
  if (text.find("\"specversion\"") == std::string_view::npos) return false;
  const auto members = split_object(text);
  if (!members) return false;
  return std::all_of(kCoreAttributes.begin(), kCoreAttributes.begin() + kRequiredAttributes,
                     [&](std::string_view name) {
                       return std::any_of(members->begin(), members->end(), [&](const auto& one) {
                         return one.key.size() == name.size() + 2 &&
                                one.key.substr(1, name.size()) == name;
                       });
                     });
}

}  // namespace

std::optional<Result<Event>> carried_event(const Headers& headers, std::string_view body,
                                           const EventLimits& limits) {
  if (is_of_events(headers)) {
    return decode_nats({.subject = "", .headers = headers, .data = std::string(body)}, limits);
  }
  const std::string* const type = find_header(headers, "content-type");
  if (type != nullptr && !is_json_content_type(*type)) return std::nullopt;
  if (!has_required_attributes(body)) return std::nullopt;
  return decode_json_event(body, limits);
}

}  // namespace millrace
