#include "orchestrator/mapping/form_body.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "cloudevents/media_type.h"
#include "cloudevents/percent.h"

namespace millrace {
namespace {

tl::unexpected<Error> wrong_form(std::string_view what) {
  return fail("mapping.form", fmt::format("the body is not a valid form: {}", what));
}

/// The name or the value of the field with that number, decoded.
Result<std::string> form_text(std::string_view part, size_t number) {
  std::string text(part);
  std::replace(text.begin(), text.end(), '+', ' ');
  auto decoded = percent_decode(text);
  if (!decoded) {
    return wrong_form(fmt::format(
        "field {} has a `%` that two hexadecimal digits do not follow; send `%25` for it", number));
  }
  if (!is_utf8(*decoded)) {
    return wrong_form(
        fmt::format("field {} is not UTF-8; send its text as percent-encoded UTF-8", number));
  }
  return *std::move(decoded);
}

/// Adds a field; the value of one that is there already becomes a list.
void add_field(std::string name, std::string value, Json& fields) {
  const auto found = fields.find(name);
  if (found == fields.end()) {
    fields[std::move(name)] = std::move(value);
    return;
  }
  if (!found->is_array()) {
    Json first = std::move(*found);
    *found = Json::array();
    found->push_back(std::move(first));
  }
  found->push_back(std::move(value));
}

}  // namespace

bool is_form(const Headers& headers) {
  const std::string* const type = find_header(headers, "content-type");
  if (type == nullptr) return false;
  const auto parsed = parse_media_type(*type);
  return parsed && parsed->essence == "application/x-www-form-urlencoded";
}

Result<Json> form_fields(std::string_view body) {
  Json fields = Json::object();
  size_t number = 0;
  while (!body.empty()) {
    const std::string_view field = body.substr(0, body.find('&'));
    body.remove_prefix(std::min(body.size(), field.size() + 1));
    if (field.empty()) continue;
    if (++number > kMostFormFields) {
      return wrong_form(
          fmt::format("it has more than {} fields; send fewer fields", kMostFormFields));
    }
    const size_t equals = field.find('=');
    std::string name = TRY(form_text(field.substr(0, equals), number));
    std::string value;
    if (equals != std::string_view::npos) {
      value = TRY(form_text(field.substr(equals + 1), number));
    }
    add_field(std::move(name), std::move(value), fields);
  }
  return fields;
}

}  // namespace millrace
