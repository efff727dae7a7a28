#include "tests/support/answer_check.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace millrace {
namespace {

/// How many bodies of each kind are checked with the formats of their texts. A test that asks again
/// and again gets the same texts.
constexpr size_t kCheckedWhole = 20;

/// The schema without the formats of texts.
Json without_formats(const Json& schema) {
  if (!schema.is_structured()) return schema;
  Json copy = schema.is_array() ? Json::array() : Json::object();
  for (const auto& [key, part] : schema.items()) {
    if (schema.is_array()) {
      copy.push_back(without_formats(part));
    } else if (key != "format" || !part.is_string()) {
      copy[key] = without_formats(part);
    }
  }
  return copy;
}

std::vector<std::string_view> pieces_of(std::string_view path) {
  std::vector<std::string_view> pieces;
  for (size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    pieces.push_back(path.substr(0, slash));
    path.remove_prefix(slash + 1);
  }
  pieces.push_back(path);
  return pieces;
}

bool is_placeholder_piece(std::string_view piece) { return piece.starts_with('{'); }

bool fits_template(const std::vector<std::string_view>& wanted,
                   const std::vector<std::string_view>& pieces) {
  return std::equal(wanted.begin(), wanted.end(), pieces.begin(), pieces.end(),
                    [](std::string_view want, std::string_view have) {
                      return is_placeholder_piece(want) ? !have.empty() : want == have;
                    });
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return made;
}

}  // namespace

const Json* AnswerCheck::find_operation(std::string_view method, std::string_view target) const {
  const auto pieces = pieces_of(target.substr(0, target.find('?')));
  const Json* found = nullptr;
  auto fewest = std::numeric_limits<std::ptrdiff_t>::max();
  for (const auto& [path, methods] : document_.at("paths").items()) {
    const auto wanted = pieces_of(path);
    if (!fits_template(wanted, pieces)) continue;
    const auto operation = methods.find(lower(method));
    const auto count = std::count_if(wanted.begin(), wanted.end(), is_placeholder_piece);
    // Where a literal and a placeholder fit, the literal decides.
    if (operation == methods.end() || count >= fewest) continue;
    fewest = count;
    found = &*operation;
  }
  return found;
}

std::string AnswerCheck::operation_of(std::string_view method, std::string_view target) const {
  const Json* const found = find_operation(method, target);
  return found == nullptr ? "" : found->at("operationId").get<std::string>();
}

std::set<std::string> AnswerCheck::operations() const {
  std::set<std::string> names;
  for (const Json& path : document_.at("paths")) {
    for (const Json& operation : path) names.insert(operation.at("operationId").get<std::string>());
  }
  return names;
}

const Json& AnswerCheck::resolved(const Json& part) const {
  const auto to = part.find("$ref");
  if (to == part.end()) return part;
  return document_.at(Json::json_pointer(to->get<std::string>().substr(1)));
}

std::string AnswerCheck::fault_of(std::string_view method, std::string_view target,
                                  const HttpReply& reply) {
  if (method == "HEAD" || reply.status == 0) return "";
  const Json* const operation = find_operation(method, target);
  const std::string name =
      operation == nullptr ? "" : operation->at("operationId").get<std::string>();
  const std::string status = std::to_string(reply.status);
  const Json* answer = nullptr;
  if (operation == nullptr) {
    if (reply.status < 400) return "the document does not describe this call";
    answer = &document_.at("components").at("responses").at("Error");
  } else {
    const Json& answers = operation->at("responses");
    if (!answers.contains(status) && reply.status < 400) {
      return fmt::format("{}: the status {} is not described", name, status);
    }
    answer = &resolved(answers.at(answers.contains(status) ? status : "default"));
  }
  const auto content = answer->find("content");
  if (content == answer->end()) {
    return reply.body.empty() && reply.has_whole_body
               ? ""
               : fmt::format("{} {}: expected no body", name, status);
  }
  const std::string type = reply.header("Content-Type");
  const std::string media = type.substr(0, type.find(';'));
  const auto of_media = content->contains(media) ? content->find(media) : content->find("*/*");
  if (of_media == content->end()) {
    return fmt::format("{} {}: the content type \"{}\" is not described", name, status, type);
  }
  const bool is_json = media.find("json") != std::string::npos;
  if (!of_media->contains("schema") || !is_json || !reply.has_whole_body) return "";
  return fault_of_body(fmt::format("{} {} {}", name, status, media), of_media->at("schema"),
                       reply.body);
}

std::string AnswerCheck::fault_of_body(const std::string& what, const Json& schema,
                                       const std::string& body) {
  auto known = compiled_.find(what);
  if (known == compiled_.end()) {
    const Json whole = {{"allOf", Json::array({schema})},
                        {"components", document_.at("components")}};
    Result<JsonSchema> made = JsonSchema::compile(whole.dump());
    if (!made) return fmt::format("{}: {}", what, made.error().message);
    Result<JsonSchema> quick = JsonSchema::compile(without_formats(whole).dump());
    if (!quick) return fmt::format("{}: {}", what, quick.error().message);
    known = compiled_.emplace(what, OfBody{*std::move(made), *std::move(quick)}).first;
  }
  const Result<Json> json = parse_own_json(body);
  if (!json) return fmt::format("{}: {}", what, json.error().message);
  OfBody& of_body = known->second;
  const bool is_first = of_body.checked++ < kCheckedWhole;
  const auto violations = (is_first ? of_body.whole : of_body.without_formats).violations(*json);
  return violations ? fmt::format("{}: {}", what, *violations) : "";
}

}  // namespace millrace
