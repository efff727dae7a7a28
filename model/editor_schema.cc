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
constexpr const char* kRetryText = "^\\s*fixed\\s*\\(\\s*[1-9][0-9]*\\s*,[^()]+\\)\\s*$";

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
    case Kind::kTemplate:
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
      return key.milliseconds ? Json{{"type", {"string", "integer"}}} : text(1);
    case Kind::kWord: {
      Json words = Json::array();
      for (const Word& word : key.words) words.push_back(word.word);
      return {{"enum", words}};
    }
    case Kind::kType:
      return type_words(mapping);
    case Kind::kQuery:
      // Of a foreach: what is neither a query nor an array is never one.
      if (key.is("array")) return {{"type", {"string", "array"}}};
      return Json::object();
    case Kind::kCommand:
      return Json::object();
    case Kind::kPatterns:
      return {{"type", "object"},
              {"propertyNames", {{"pattern", kAttributeName}}},
              {"additionalProperties",
               {{"anyOf", {text_without(kPathOfJq), {{"type", {"number", "boolean"}}}}}}}};
    case Kind::kAttributes:
      return {{"type", "object"}, {"propertyNames", {{"pattern", kAttributeName}}}};
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
  schema["description"] = key.meaning;
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
  return {{"$schema", "http://json-schema.org/draft-07/schema#"},
          {"title", "A workflow of millrace"},
          {"allOf", {reference(workflow_grammar())}},
          {"definitions", std::move(definitions)}};
}

}  // namespace millrace
