#include "orchestrator/made_scenario/read_definition.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/characters.h"
#include "language/document.h"
#include "language/yaml_writer.h"

namespace millrace {
namespace {

constexpr size_t kItemIndent = 4;

/// The value of a text; nullopt: it is neither YAML nor JSON.
std::optional<Json> value_of_text(std::string_view text) {
  Findings findings;
  const std::optional<Node> node = parse_document(text, findings);
  if (!node || findings.has_errors()) return std::nullopt;
  return to_json(*node);
}

bool text_has_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !(is_in_name(text[at - 1]) || text[at - 1] == '.');
    if (begins && (end == text.size() || !is_in_name(text[end]))) return true;
  }
  return false;
}

bool value_has_word(const Json& value, std::string_view word) {
  if (value.is_string()) return text_has_word(value.get_ref<const std::string&>(), word);
  if (value.is_array()) {
    return std::any_of(value.begin(), value.end(),
                       [&](const Json& one) { return value_has_word(one, word); });
  }
  if (!value.is_object()) return false;
  for (const auto& [key, one] : value.items()) {
    if (key != "description" && key != "name" && value_has_word(one, word)) return true;
  }
  return false;
}

}  // namespace

Result<ReadDefinition> ReadDefinition::make(std::string_view text) {
  std::optional<Json> json = value_of_text(text);
  if (!json || !json->is_object()) {
    return fail("store.corrupt", "the stored definition of the instance is not a definition");
  }
  return ReadDefinition(std::string(text), *std::move(json));
}

ReadDefinition::ReadDefinition(std::string text, Json json)
    : text_(std::move(text)), json_(std::move(json)) {
  const auto states = json_.find("states");
  if (states == json_.end() || !states->is_array()) return;
  for (size_t i = 0; i < states->size(); ++i) {
    const Json& state = (*states)[i];
    const Json id = state.is_object() ? state.value("id", Json()) : Json();
    if (id.is_string()) states_.emplace(id.get<std::string>(), i);
  }
}

const Json& ReadDefinition::state(std::string_view id) const {
  static const Json kNone;
  const auto found = states_.find(id);
  return found == states_.end() ? kNone : json_.at("states").at(found->second);
}

bool ReadDefinition::has_word(std::string_view word) const { return value_has_word(json_, word); }

bool ReadDefinition::has_function(std::string_view id) const {
  const auto functions = json_.find("functions");
  if (functions == json_.end() || !functions->is_array()) return false;
  return std::any_of(functions->begin(), functions->end(), [&](const Json& one) {
    return one.is_object() && one.value("id", Json()) == Json(id);
  });
}

std::string ReadDefinition::as_item() const {
  const std::string item = "  -\n" + indented(text_, kItemIndent);
  const std::optional<Json> read = value_of_text("workflows:\n" + item);
  const Json wanted = {{"workflows", Json::array({json_})}};
  return read == wanted ? item : workflow_item(json_);
}

std::string indented(std::string_view text, size_t spaces) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (!line.empty()) out += std::string(spaces, ' ').append(line);
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string workflow_item(const Json& definition) {
  return "  -\n" + indented(to_yaml(definition), kItemIndent);
}

}  // namespace millrace
