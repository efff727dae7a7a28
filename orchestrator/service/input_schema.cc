#include "orchestrator/service/input_schema.h"

#include <algorithm>

namespace millrace {
namespace {

/// How deep an example nests, and how many values it has.
constexpr size_t kDeepestExample = 8;
constexpr size_t kMostExampleValues = 200;

const Node* value_at(const Node& node, std::string_view key) {
  const Member* const member = node.find(key);
  return member == nullptr ? nullptr : &member->value;
}

bool has_text(const Node* node, std::string_view text) {
  return node != nullptr && node->text == text;
}

/// The item of the list at `key` that has this `id`; null: there is none.
const Node* item_with_id(const Node& document, std::string_view key, std::string_view id) {
  const Node* const list = value_at(document, key);
  if (list == nullptr) return nullptr;
  for (const Node& item : list->items) {
    if (has_text(value_at(item, "id"), id)) return &item;
  }
  return nullptr;
}

const Node* first_state(const Node& document) {
  const Node* const start = value_at(document, "start");
  const Node* const named = start == nullptr ? nullptr : value_at(*start, "state");
  if (named != nullptr) {
    if (const Node* const state = item_with_id(document, "states", named->text)) return state;
  }
  const Node* const states = value_at(document, "states");
  return states == nullptr || states->items.empty() ? nullptr : &states->items.front();
}

class ExampleMaker {
 public:
  Json make(const Json& schema, size_t depth = 0) {
    if (!schema.is_object() || depth == kDeepestExample || left_ == 0) return nullptr;
    --left_;
    if (const auto found = schema.find("examples"); found != schema.end() && !found->empty()) {
      if (found->is_array()) return found->front();
    }
    for (const char* const key : {"default", "const"}) {
      if (const auto found = schema.find(key); found != schema.end()) return *found;
    }
    if (const auto found = schema.find("enum");
        found != schema.end() && found->is_array() && !found->empty()) {
      return found->front();
    }
    const auto type = schema.find("type");
    Json name = type == schema.end() ? Json() : *type;
    if (name.is_array()) name = name.empty() ? Json() : Json(name.front());
    if (name == "object" || (name.is_null() && schema.contains("properties"))) {
      return object(schema, depth);
    }
    if (name == "array") return Json::array();
    if (name == "string") return "";
    if (name == "boolean") return false;
    if (name == "integer" || name == "number") {
      const auto least = schema.find("minimum");
      return least != schema.end() && least->is_number() ? *least : Json(0);
    }
    return nullptr;
  }

 private:
  Json object(const Json& schema, size_t depth) {
    Json made = Json::object();
    const auto required = schema.find("required");
    const auto properties = schema.find("properties");
    if (required == schema.end() || !required->is_array()) return made;
    for (const Json& key : *required) {
      if (!key.is_string() || left_ == 0) continue;
      const bool is_known = properties != schema.end() && properties->is_object() &&
                            properties->contains(key.get_ref<const std::string&>());
      made[key.get<std::string>()] =
          is_known ? make(properties->at(key.get_ref<const std::string&>()), depth + 1) : Json();
    }
    return made;
  }

  size_t left_ = kMostExampleValues;
};

}  // namespace

std::optional<InputSchema> input_schema(const Node& document) {
  const Node* const state = first_state(document);
  if (state == nullptr || !has_text(value_at(*state, "type"), "validate")) return std::nullopt;
  if (value_at(*state, "subject") != nullptr) return std::nullopt;
  const Node* schema = value_at(*state, "schema");
  if (schema != nullptr && schema->kind == Node::Kind::kString) {
    const Node* const named = item_with_id(document, "schemas", schema->text);
    schema = named == nullptr ? nullptr : value_at(*named, "schema");
  }
  const Node* const id = value_at(*state, "id");
  if (schema == nullptr || id == nullptr) return std::nullopt;
  return InputSchema{.state = id->text, .schema = to_json(*schema)};
}

Json example_of(const Json& schema) { return ExampleMaker().make(schema); }

Json to_json(const std::optional<InputSchema>& schema) {
  if (!schema) return {{"schema", nullptr}, {"from", nullptr}, {"example", Json::object()}};
  return {
      {"schema", schema->schema}, {"from", schema->state}, {"example", example_of(schema->schema)}};
}

Json schema_errors(std::string_view message) {
  constexpr std::string_view kBetween = "; ";
  Json errors = Json::array();
  while (!message.empty()) {
    const size_t end = std::min(message.find(kBetween), message.size());
    const std::string_view piece = message.substr(0, end);
    message.remove_prefix(std::min(message.size(), end + kBetween.size()));
    const size_t colon = piece.find(": ");
    const bool has_path =
        (piece.starts_with('.') || piece.starts_with('[')) && colon != std::string_view::npos;
    errors.push_back({{"path", has_path ? piece.substr(0, colon) : std::string_view(".")},
                      {"message", has_path ? piece.substr(colon + 2) : piece}});
  }
  return errors;
}

}  // namespace millrace
