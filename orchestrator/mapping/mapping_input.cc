#include "orchestrator/mapping/mapping_input.h"

#include <utility>

#include "base/bytes.h"
#include "base/json.h"
#include "cloudevents/json_text.h"
#include "orchestrator/mapping/form_body.h"

namespace millrace {
namespace {

/// The text with U+FFFD in place of bytes that are not UTF-8.
std::string as_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string quoted;
  append_quoted(text, quoted);
  return read_string(quoted).value_or("");
}

Json headers_json(const Headers& headers) {
  std::map<std::string, std::string> joined;
  for (const auto& [name, value] : headers) {
    const auto [place, is_new] = joined.emplace(to_lower(as_utf8(name)), as_utf8(value));
    if (is_new) continue;
    place->second.append(", ").append(as_utf8(value));
  }
  return joined;
}

Json tokens_of(std::string_view subject) {
  Json tokens = Json::array();
  while (true) {
    const size_t dot = subject.find('.');
    tokens.push_back(as_utf8(subject.substr(0, dot)));
    if (dot == std::string_view::npos) return tokens;
    subject.remove_prefix(dot + 1);
  }
}

const Projection kNothing;

/// JSON nests one level deeper in the input than in the message. A large value is there with all
/// that is in it.
std::optional<LazyJson> json_of(std::string_view bytes, const Projection& wanted) {
  if (bytes.size() <= kLargeJson) {
    Result<Json> tree = parse_json(bytes, wanted, kMaxJsonDepth - 1);
    if (!tree) return std::nullopt;
    return LazyJson(*std::move(tree));
  }
  if (!is_json(bytes)) return std::nullopt;
  LazyJson value = LazyJson::of_checked_text(std::string(bytes));
  if (value.nests_deeper(kMaxJsonDepth - 1)) return std::nullopt;
  return value;
}

/// Sets the data of the event, and returns what the jq programs see of it, or more.
LazyJson take_data(std::string_view bytes, const Projection& wanted, MappingInput& input) {
  if (bytes.empty()) return {};
  if (auto value = json_of(bytes, wanted)) {
    if (value->is_null()) return {};
    input.data = std::string(bytes);
    input.content_type = "application/json";
    return *std::move(value);
  }
  if (is_utf8(bytes)) {
    LazyJson text = Json(std::string(bytes));
    input.data = text.text();
    input.content_type = "application/json";
    return text;
  }
  input.data = std::string(bytes);
  input.content_type = "application/octet-stream";
  return Json(base64_encode(bytes));
}

}  // namespace

MappingInput message_input(const NatsMessage& message, std::string_view stream, uint64_t sequence,
                           TimePoint time, const Projection& reads) {
  MappingInput input;
  std::map<std::string, LazyJson> members;  // of an initializer list the data would be copied
  const auto add = [&](const char* name, const auto& make) {
    if (reads.member(name) != nullptr) members.emplace(name, make());
  };
  const Projection* const of_data = reads.member("data");
  LazyJson data = take_data(message.data, of_data == nullptr ? kNothing : *of_data, input);
  add("subject", [&] { return Json(as_utf8(message.subject)); });
  add("tokens", [&] { return tokens_of(message.subject); });
  add("headers", [&] { return headers_json(message.headers); });
  add("data", [&] { return std::move(data); });
  add("stream", [&] { return Json(as_utf8(stream)); });
  add("sequence", [&] { return Json(sequence); });
  add("time", [&] { return Json(format_rfc3339(time)); });
  input.json = LazyJson::of_members(std::move(members));
  return input;
}

Result<MappingInput> request_input(const Headers& headers,
                                   const std::map<std::string, std::string, std::less<>>& query,
                                   std::string_view body, std::string_view name, TimePoint time) {
  Json parameters = Json::object();
  for (const auto& [key, value] : query) parameters[as_utf8(key)] = as_utf8(value);
  MappingInput input;
  LazyJson data;
  if (is_form(headers)) {
    data = TRY(form_fields(body));
    input.data = data.text();
    input.content_type = "application/json";
  } else {
    data = take_data(body, kWholeValue, input);
  }
  input.json = LazyJson::of_members({{"headers", headers_json(headers)},
                                     {"query", std::move(parameters)},
                                     {"data", std::move(data)},
                                     {"time", Json(format_rfc3339(time))},
                                     {"hook", Json(as_utf8(name))}});
  return input;
}

}  // namespace millrace
