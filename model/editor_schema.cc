#include "model/editor_schema.h"

#include <string>

#include "model/error_codes.h"
#include "model/grammar.h"

namespace millrace {
namespace {

using Kind = KeyRule::Kind;

constexpr const char* kIdentifier = "^[A-Za-z0-9._-]{1,128}$";
constexpr const char* kErrorGlob = "^[A-Za-z0-9._*?-]+$";
constexpr const char* kAttributeName = "^[A-Za-z0-9]+$";
constexpr const char* kPathOfJq = "^\\.[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$";
/// Its wait has a unit, or is none.
constexpr const char* kRetryText =
    "^\\s*fixed\\s*\\(\\s*[1-9][0-9]*\\s*,([^()]*[^()0-9\\s]|\\s*0+)\\s*\\)\\s*$";
/// A query that stands as a text: `.order`, `${ .order }`, `{{ .order }}`.
constexpr const char* kQueryAsText = "^\\s*\\.[A-Za-z_\\[\"]|(\\$\\{|\\{\\{)\\s*\\.[A-Za-z_]";
constexpr const char* kPlaceholder = "^\\s*(\\$\\{|\\{\\{)";
/// Without a backslash before it, which makes it a pattern's own.
constexpr const char* kPlaceholderInPattern = "(^|[^\\\\])[{$]\\{";
constexpr const char* kNumberWithoutUnit = "[0-9]\\s*$";

/// What to write instead; it stands in the description of the key and, for editors that show it,
/// as the message of what the schema does not take.
constexpr const char* kWriteJq = "Write jq(…) around a query.";
constexpr const char* kWriteUnit =
    "Write a unit, such as 30s or 500ms: a number in quotes is milliseconds.";
constexpr const char* kWriteType = "Write the whole type: it is compared as plain text.";

Json reference(const Mapping& mapping) {
  return {{"$ref", "#/definitions/" + std::string(mapping.name)}};
}

/// Texts that may be left empty: to write nothing is to say nothing.
Json text(size_t min_length = 0) {
  Json schema = {{"type", "string"}};
  if (min_length > 0) schema["minLength"] = min_length;
  return schema;
}

Json number(const char* type, const KeyRule& key) {
  Json schema = {{"type", type}};
  if (key.min) schema[key.above_min ? "exclusiveMinimum" : "minimum"] = *key.min;
  if (key.max) schema["maximum"] = *key.max;
  return schema;
}

/// Texts but for those that the pattern finds.
Json text_without(const char* pattern) {
  return {{"type", "string"}, {"not", {{"pattern", pattern}}}};
}

/// Anything but a text that the pattern finds and that has no jq(…).
Json anything_without(const char* pattern) {
  return {{"not", {{"type", "string"}, {"pattern", pattern}, {"not", {{"pattern", "jq\\("}}}}},
          {"errorMessage", kWriteJq}};
}

/// Values whose texts are literals but for the jq(…) in them, however deep.
constexpr const char* kValueDefinition = "Value";

Json value_reference() { return {{"$ref", std::string("#/definitions/") + kValueDefinition}}; }

Json value_definition() {
  Json schema = anything_without(kQueryAsText);
  schema["items"] = value_reference();
  schema["additionalProperties"] = value_reference();
  return schema;
}

/// A program as it stands, or a value with jq(…) in its texts.
Json query() {
  Json schema = anything_without(kPlaceholder);
  schema["items"] = value_reference();
  schema["additionalProperties"] = value_reference();
  return schema;
}

/// A duration; the loader looks at its units.
Json duration(bool milliseconds) {
  Json schema = text_without(kNumberWithoutUnit);
  schema["minLength"] = 1;
  schema["errorMessage"] = kWriteUnit;
  if (!milliseconds) return schema;
  return {{"anyOf", {std::move(schema), {{"type", "integer"}}}}};
}

/// What the description of a key adds to its meaning.
std::string_view mend_of(const KeyRule& key) {
  const auto has = [&](Kind kind) { return key.kind == kind || key.instead == kind; };
  if (has(Kind::kDuration) || has(Kind::kRetryText)) return kWriteUnit;
  if (has(Kind::kQuery) || has(Kind::kCommand) || has(Kind::kTemplate) || has(Kind::kAttributes) ||
      has(Kind::kPatterns)) {
    return kWriteJq;
  }
  if (has(Kind::kEventType)) return kWriteType;
  return "";
}

/// A glob of error codes: millrace's own are a closed set.
Json error_glob() {
  Json codes = Json::array();
  for (const ErrorCode& one : error_codes()) codes.push_back(one.code);
  return {{"type", "string"},
          {"pattern", kErrorGlob},
          {"anyOf",
           {{{"not", {{"pattern", "^([Dd]irektiv|[Mm]illrace)\\."}}}},
            {{"pattern", "[*?]"}},
            {{"enum", std::move(codes)}}}}};
}

/// The words of `type`: those of all kinds, or of the one.
Json type_words(const Mapping& mapping) {
  Json words = Json::array();
  const auto add = [&](const Mapping& kind) {
    for (const std::string_view word : kind.types) {
      if (!word.empty()) words.push_back(word);
    }
  };
  add(mapping);
  for (const Mapping* kind : mapping.kinds) add(*kind);
  return {{"enum", words}};
}

Json value_schema(const KeyRule& key, Kind kind, const Mapping& mapping) {
  switch (kind) {
    case Kind::kText:
      // Whole codes: a pattern among them is equal to none.
      if (key.is("nonRetryableErrors")) return {{"type", "string"}, {"pattern", kIdentifier}};
      return text();
    case Kind::kMessage:
    case Kind::kState:
    case Kind::kMediaType:
      return text();
    case Kind::kTemplate: {
      Json schema = anything_without(kQueryAsText);
      schema.update(text(1));
      return schema;
    }
    case Kind::kEventType:
    case Kind::kPattern:
    case Kind::kCron:
    case Kind::kFunction:
      return text(1);
    case Kind::kGlob:
      return error_glob();
    case Kind::kIdentifier:
      return {{"type", "string"}, {"pattern", kIdentifier}};
    case Kind::kAttribute:
      return {{"type", "string"}, {"pattern", kAttributeName}};
    case Kind::kBoolean:
      return {{"type", "boolean"}};
    case Kind::kInteger:
      return number("integer", key);
    case Kind::kNumber:
      return number("number", key);
    case Kind::kDuration:
      return duration(key.milliseconds);
    case Kind::kWord: {
      Json words = Json::array();
      for (const Word& word : key.words) words.push_back(word.word);
      return {{"enum", words}};
    }
    case Kind::kType:
      return type_words(mapping);
    case Kind::kQuery:
      // Of a foreach: what is neither a query nor an array is never one.
      if (key.is("array")) {
        Json schema = query();
        schema["type"] = {"string", "array"};
        return schema;
      }
      return query();
    case Kind::kCommand:
      return value_reference();
    case Kind::kPatterns:
      return {{"type", "object"},
              {"propertyNames", {{"pattern", kAttributeName}}},
              {"additionalProperties",
               {{"anyOf",
                 {{{"allOf", {text_without(kPathOfJq), anything_without(kPlaceholderInPattern)}}},
                  {{"type", {"number", "boolean"}}}}}}}};
    case Kind::kAttributes:
      return {{"type", "object"},
              {"propertyNames", {{"pattern", kAttributeName}}},
              {"additionalProperties", value_reference()}};
    case Kind::kObject:
      return reference(*key.object);
    case Kind::kRetryText:
      return {{"type", "string"}, {"pattern", kRetryText}};
    case Kind::kSchema:
      return {{"type", {"object", "boolean"}}};
    case Kind::kSchemaOrId:
      return {{"type", {"object", "boolean", "string"}}};
  }
  return Json::object();
}

Json key_schema(const KeyRule& key, const Mapping& mapping) {
  Json schema = value_schema(key, key.kind, mapping);
  if (key.instead) {
    schema = {{"anyOf", {std::move(schema), value_schema(key, *key.instead, mapping)}}};
  }
  if (key.list) {
    schema = {{"type", "array"}, {"items", std::move(schema)}};
    if (key.required) schema["minItems"] = 1;
  }
  // Whatever stands beside a $ref is not looked at.
  if (schema.contains("$ref")) schema = {{"allOf", {std::move(schema)}}};
  const std::string_view mend = mend_of(key);
  schema["description"] = std::string(key.meaning) + (mend.empty() ? "" : " ") + std::string(mend);
  if (key.kind == Kind::kBoolean || key.kind == Kind::kInteger || key.kind == Kind::kNumber) {
    if (!key.otherwise.empty()) schema["default"] = Json::parse(key.otherwise);
  } else if (!key.otherwise.empty()) {
    schema["default"] = key.otherwise;
  }
  return schema;
}

void add_key(const KeyRule& key, const Mapping& mapping, Json& schema) {
  for (const std::string_view name : key.names()) {
    schema["properties"][std::string(name)] = key_schema(key, mapping);
  }
  if (key.required) schema["required"].push_back(key.name);
}

Json mapping_schema(const Mapping& mapping, bool inlined) {
  Json schema = {{"type", "object"}, {"additionalProperties", false}};
  for (const KeyRule* key : mapping.keys()) {
    if (!inlined || !key->inlined) {
      add_key(*key, mapping, schema);
    } else {
      for (const KeyRule* inner : key->object->keys()) add_key(*inner, *key->object, schema);
    }
  }
  return schema;
}

bool has_inlined(const Mapping& mapping) {
  for (const KeyRule* key : mapping.keys()) {
    if (key->inlined) return true;
  }
  return false;
}

Json definition(const Mapping& mapping) {
  Json schema;
  if (mapping.kinds.empty()) {
    schema = has_inlined(mapping)
                 ? Json{{"anyOf", {mapping_schema(mapping, false), mapping_schema(mapping, true)}}}
                 : mapping_schema(mapping, false);
  } else if (mapping.chooser() == "type") {
    schema = {{"type", "object"},
              {"required", {"type"}},
              {"properties", {{"type", type_words(mapping)}}}};
    for (const Mapping* kind : mapping.kinds) {
      schema["allOf"].push_back(
          {{"if", {{"properties", {{"type", type_words(*kind)}}}, {"required", {"type"}}}},
           {"then", reference(*kind)}});
    }
  } else {
    for (const Mapping* kind : mapping.kinds) schema["anyOf"].push_back(reference(*kind));
  }
  schema["description"] = mapping.meaning;
  return schema;
}

}  // namespace

Json editor_schema() {
  Json definitions = Json::object();
  for (const Mapping* mapping : all_mappings()) {
    definitions[std::string(mapping->name)] = definition(*mapping);
  }
  definitions[kValueDefinition] = value_definition();
  return {{"$schema", "http://json-schema.org/draft-07/schema#"},
          {"title", "A workflow of millrace"},
          {"allOf", {reference(workflow_grammar())}},
          {"definitions", std::move(definitions)}};
}

}  // namespace millrace
