#include "language/editor_schema.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "language/error_table.h"
#include "language/grammar.h"
#include "policies/vocabularies.h"

namespace millrace {
namespace {

using KeyKind = KeyRule::Kind;

constexpr const char* kIdentifier = "^[A-Za-z0-9._-]{1,128}$";
constexpr const char* kErrorGlob = "^[A-Za-z0-9._*?-]+$";
constexpr const char* kAttributeName = "^[A-Za-z0-9]+$";
/// A retry policy as text: its wait has a unit or is zero.
constexpr const char* kRetryText =
    "^\\s*fixed\\s*\\(\\s*[1-9][0-9]*\\s*,([^()]*[^()0-9\\s]|\\s*0+)\\s*\\)\\s*$";
/// A query that was written as a literal text: `.order`, `$.order`, `$instance.id`, `jq (.order)`,
/// `${ .order }`, `$(.order)`.
constexpr const char* kQueryAsText =
    "^\\s*(?:\\.[A-Za-z_\\[\"]|\\$(?:\\.[A-Za-z_]|instance(?:$|[.[]))|jq\\s+\\([\\s\\S]+\\)\\s*$)|"
    "(?:^|[^\\\\])(?:\\$\\{|\\{\\{|\\$\\()\\s*\\.[A-Za-z_]";
constexpr const char* kPlaceholder = "^\\s*(?:\\$\\{|\\{\\{)";
/// A query that was written as a pattern: a path that is the complete text, or one of the forms of
/// kQueryAsText. `{{`, `${` and `$(` after a backslash do not count: there the backslash escapes a
/// character of a regular expression, as in `^\{{2}$`.
constexpr const char* kQueryAsPattern =
    "^\\s*(?:\\.[A-Za-z_][A-Za-z0-9_]*|\\.\\[\"[^\"\\]]+\"\\])"
    "(?:\\.[A-Za-z_][A-Za-z0-9_]*|\\.?\\[\"[^\"\\]]+\"\\]|\\[[0-9]*\\])*(?:\\s*$| \\/\\/| \\| )|"
    "^\\s*(?:\\$(?:\\.[A-Za-z_]|instance(?:$|[.[]))|jq\\s+\\([\\s\\S]+\\)\\s*$)|"
    "(?:^|[^\\\\])(?:[{$]\\{|\\$\\(\\s*\\.[A-Za-z_])";
constexpr const char* kJq = "jq\\(";
/// A query that consists only of an assignment to a path.
constexpr const char* kAssignment =
    "^\\s*(?:jq\\(\\s*)?\\.[A-Za-z_][A-Za-z0-9_.]*\\s*(?:\\/\\/|[|+*\\/%-])?="
    "\\s*[^=\\s|(),][^=|(),]*\\)?\\s*$";
constexpr const char* kNumberWithoutUnit = "[0-9]\\s*$";
constexpr const char* kEveryWithoutUnit =
    "^\\s*(?:(?:CRON_)?TZ=\\S+\\s+)?@every[\\s\\S]*[0-9]\\s*$";
/// A time in RFC 3339, or a text with jq(…) in it. Only the loader checks the parts of the time.
constexpr const char* kUntilText =
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}.*(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$|jq\\(";
constexpr const char* kReservedCode =
    "^(?:[Dd][Ii][Rr][Ee][Kk][Tt][Ii][Vv]|[Mm][Ii][Ll][Ll][Rr][Aa][Cc][Ee])\\.";
constexpr const char* kWildcard = "[*?]";

/// Corrections. A correction is part of its key's description; editors that support `errorMessage`
/// show it as the error message.
constexpr const char* kWriteJq = "Write jq(…) around a query.";
constexpr const char* kWritePattern = "Write a pattern.";
constexpr const char* kWritePatternInStart =
    "Write a pattern: a start has no data that a query could read.";
constexpr const char* kWriteComparison =
    "Write == to compare: an assignment yields the changed data, which counts as true.";
constexpr const char* kWriteUnit =
    "Write a unit, such as 30s or 500ms: a number in quotes is milliseconds.";
constexpr const char* kWriteConstant =
    "Write a duration such as PT1H: this key is fixed when the definition is loaded.";
constexpr const char* kWriteUntil =
    "Write a time with an offset, such as 2027-01-01T09:00:00+01:00, a number of seconds since "
    "1970, "
    "or {cron, timezone}; jq(…) may yield it.";
constexpr const char* kWriteUnitOfEvery =
    "Write a unit, such as @every 30s: a number without one is milliseconds.";
constexpr const char* kWriteRetryText =
    "Write the attempts and a wait with a unit, such as fixed(3, 30s).";
constexpr const char* kWriteType = "Write the whole type: it is compared as plain text.";
constexpr const char* kWriteRaisedCode =
    "millrace does not raise an error with this code. Write one that it raises, such as "
    "direktiv.stateTimeout.";
constexpr const char* kWriteGlob =
    "Write letters, digits, `.`, `-` and `_`; `*` matches any characters and `?` matches one.";
constexpr const char* kWriteWholeCode = "Write one whole code in each entry, without patterns.";

Json reference(const Mapping& mapping) {
  return {{"$ref", "#/definitions/" + std::string(mapping.name)}};
}

/// The schema of a text. With `min_length` 0 the text may be empty, which is the same as an absent
/// key.
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

/// The schema of any value except a text that `refused` matches; a text that both `refused` and
/// `allowed` match is valid. `refused` and `allowed` are combined into one pattern, because the
/// language servers of editors do not show `errorMessage` for a `not`.
Json anything_without(const std::string& refused, const char* message,
                      const std::string& allowed = "") {
  return {{"pattern", "^(?![\\s\\S]*(?:" + refused + "))" + (allowed.empty() ? "" : "|" + allowed)},
          {"errorMessage", message}};
}

/// The schema of any value except a text that has a query outside jq(…). `pattern` matches such a
/// text.
Json anything_without_query(const char* pattern) {
  return anything_without(pattern, kWriteJq, kJq);
}

/// The name, in the schema's `definitions`, of values whose texts, at any depth, are literals with
/// jq(…) in them.
constexpr const char* kValueDefinition = "Value";

Json value_reference() { return {{"$ref", std::string("#/definitions/") + kValueDefinition}}; }

Json value_definition() {
  Json schema = anything_without_query(kQueryAsText);
  schema["items"] = value_reference();
  schema["additionalProperties"] = value_reference();
  return schema;
}

/// The schema of a query: a text that is itself a jq program, or a value whose texts contain jq(…).
Json query(const KeyRule& key) {
  Json schema = {{"allOf", Json::array({anything_without_query(kPlaceholder)})},
                 {"items", value_reference()},
                 {"additionalProperties", value_reference()}};
  // The `array` of a foreach: only a query or a literal array can yield an array.
  if (key.is("array")) schema["type"] = {"string", "array"};
  if (key.is("condition")) {
    schema["allOf"].push_back(anything_without(kAssignment, kWriteComparison));
  }
  return schema;
}

bool is_in_start(const Mapping& mapping) { return mapping.name == "StartEventDefinition"; }

/// The schema of a pattern that a context attribute of an event must match.
Json attribute_pattern(const Mapping& mapping) {
  Json texts = is_in_start(mapping) ? anything_without(std::string(kQueryAsPattern) + "|" + kJq,
                                                       kWritePatternInStart)
                                    : anything_without_query(kQueryAsPattern);
  return {{"type", {"string", "number", "boolean"}}, {"allOf", Json::array({std::move(texts)})}};
}

/// The schema of a duration. Only the loader checks the units of the duration.
Json duration(const KeyRule& key) {
  Json schema = anything_without(kNumberWithoutUnit, kWriteUnit);
  schema.update(text(1));
  if (key.milliseconds) schema["type"] = {"string", "integer"};
  if (!key.jq) schema["allOf"] = Json::array({anything_without(kJq, kWriteConstant)});
  return schema;
}

/// The correction that the description of a key adds to its meaning; may be empty.
std::string_view mend_of(const KeyRule& key, const Mapping& mapping) {
  const auto has = [&](KeyKind kind) { return key.kind == kind || key.instead == kind; };
  if (has(KeyKind::kDuration) || has(KeyKind::kRetryText)) return kWriteUnit;
  if (has(KeyKind::kUntil)) return kWriteUntil;
  if (has(KeyKind::kPatterns) && is_in_start(mapping)) return kWritePattern;
  if (has(KeyKind::kQuery) || has(KeyKind::kCommand) || has(KeyKind::kTemplate) ||
      has(KeyKind::kAttributes) || has(KeyKind::kPatterns)) {
    return kWriteJq;
  }
  if (has(KeyKind::kEventType)) return kWriteType;
  return "";
}

/// The schema of a text that names an error code and matches the pattern `form`. A code with a
/// prefix of the closed set must be one of that set, unless `allowed` matches the text.
Json error_code(const char* form, const char* message, const std::string& allowed = "") {
  Json codes = Json::array();
  for (const ErrorEntry& one : instance_errors()) codes.push_back(one.code);
  return {{"type", "string"},
          {"allOf",
           {{{"pattern", form}, {"errorMessage", message}},
            {{"anyOf",
              {anything_without(kReservedCode, kWriteRaisedCode, allowed),
               {{"enum", std::move(codes)}}}}}}}};
}

/// The words that `type` may have: those of all kinds of the mapping, or, if the mapping is a kind,
/// its own.
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

Json value_schema(const KeyRule& key, KeyKind kind, const Mapping& mapping) {
  switch (kind) {
    case KeyKind::kText:
      // Entries of `nonRetryableErrors` are compared with whole codes, so a pattern would equal no
      // code.
      if (key.is("nonRetryableErrors")) return error_code(kIdentifier, kWriteWholeCode);
      return text();
    case KeyKind::kMessage:
    case KeyKind::kState:
    case KeyKind::kMediaType:
      return text();
    case KeyKind::kTemplate: {
      Json schema = text(1);
      schema["allOf"] = Json::array({anything_without_query(kQueryAsText)});
      return schema;
    }
    case KeyKind::kCron: {
      Json schema = text(1);
      schema["allOf"] = Json::array({anything_without(kEveryWithoutUnit, kWriteUnitOfEvery)});
      return schema;
    }
    case KeyKind::kEventType:
    case KeyKind::kPattern:
    case KeyKind::kFunction:
      return text(1);
    case KeyKind::kGlob:
      return error_code(kErrorGlob, kWriteGlob, kWildcard);
    case KeyKind::kIdentifier:
      return {{"type", "string"}, {"pattern", kIdentifier}};
    case KeyKind::kAttribute:
      return {{"type", "string"}, {"pattern", kAttributeName}};
    case KeyKind::kBoolean:
      return {{"type", "boolean"}};
    case KeyKind::kInteger:
      return number("integer", key);
    case KeyKind::kNumber:
      return number("number", key);
    case KeyKind::kDuration:
      return duration(key);
    case KeyKind::kWord: {
      Json words = Json::array();
      for (const Word& word : key.words) words.push_back(word.word);
      return {{"enum", words}};
    }
    case KeyKind::kType:
      return type_words(mapping);
    case KeyKind::kQuery:
      return query(key);
    case KeyKind::kCommand:
      return value_reference();
    case KeyKind::kPatterns:
      return {{"type", "object"},
              {"propertyNames", {{"pattern", kAttributeName}}},
              {"additionalProperties", attribute_pattern(mapping)}};
    case KeyKind::kAttributes:
      return {{"type", "object"},
              {"propertyNames", {{"pattern", kAttributeName}}},
              {"additionalProperties", value_reference()}};
    case KeyKind::kObject:
      return reference(*key.object);
    case KeyKind::kUntil:
      return {
          {"type", {"string", "number"}}, {"pattern", kUntilText}, {"errorMessage", kWriteUntil}};
    case KeyKind::kRetryText:
      return {{"type", "string"}, {"pattern", kRetryText}, {"errorMessage", kWriteRetryText}};
    case KeyKind::kSchema:
      return {{"type", {"object", "boolean"}}};
    case KeyKind::kSchemaOrId:
      return {{"type", {"object", "boolean", "string"}}};
  }
  return Json::object();
}

Json key_schema(const KeyRule& key, const Mapping& mapping) {
  Json schema = value_schema(key, key.kind, mapping);
  if (key.instead) {
    Json text_schema = value_schema(key, *key.instead, mapping);
    Json both = Json::object();
    // Within an anyOf, editors would show the error of the mapping instead of this message.
    for (const char* name : {"pattern", "errorMessage"}) {
      const auto found = text_schema.find(name);
      if (found == text_schema.end()) continue;
      both[name] = *found;
      text_schema.erase(found);
    }
    both["anyOf"] = {std::move(schema), std::move(text_schema)};
    schema = std::move(both);
  }
  if (key.list) {
    schema = {{"type", "array"}, {"items", std::move(schema)}};
    if (key.required) schema["minItems"] = 1;
  }
  // Draft 7 ignores all keywords beside a $ref.
  if (schema.contains("$ref")) schema = {{"allOf", {std::move(schema)}}};
  const std::string_view mend = mend_of(key, mapping);
  schema["description"] = std::string(key.meaning) + (mend.empty() ? "" : " ") + std::string(mend);
  if (key.kind == KeyKind::kBoolean || key.kind == KeyKind::kInteger ||
      key.kind == KeyKind::kNumber) {
    if (!key.otherwise.empty()) schema["default"] = Json::parse(key.otherwise);
  } else if (!key.otherwise.empty()) {
    schema["default"] = key.otherwise;
  }
  return schema;
}

/// Two keys of a mapping of which only one may be written.
struct Exclusion {
  std::string_view key;
  std::string_view other;
  const char* message;
  bool if_true = false;  ///< only `key: true` excludes the other one
};

constexpr const char* kWriteOneName = "Write one of the two keys: they are the same field.";
constexpr const char* kWriteOneTimeout = "Write one of the two keys: they set the same timeout.";
constexpr const char* kWriteOneExit = "Write one of the two keys: they stand in the same place.";
constexpr Exclusion kExclusions[] = {
    {"singular", "concurrency",
     "Write one of the two keys: `singular: true` is `concurrency: {limit: 1, onLimit: reject}`.",
     true},
    {"debounce", "batch",
     "Write one of the two keys: with `batch` all inputs count, with `debounce` only the newest "
     "one."},
    {"workflowExecutionTimeout", "timeout", kWriteOneTimeout},
    {"transition", "continueAsNew", kWriteOneExit},
    {"defaultTransition", "defaultContinueAsNew", kWriteOneExit},
};

/// Makes the schema of a mapping refuse the other key beside the first one, if it has both. The
/// language servers of editors show `errorMessage` beside a `type`, but not for a `not`.
void exclude(const Exclusion& one, Json& schema) {
  const std::string key(one.key);
  const std::string other(one.other);
  if (!schema["properties"].contains(key) || !schema["properties"].contains(other)) return;
  Json given = {{"required", Json::array({key})}};
  if (one.if_true) given["properties"][key] = {{"const", true}};
  Json refused = Json::object();
  refused[other] = {{"type", "null"}, {"errorMessage", one.message}};
  schema["allOf"].push_back(
      {{"if", std::move(given)}, {"then", {{"properties", std::move(refused)}}}});
}

/// Timeouts of a call that set the same one. `timeout` of Zart is left to the loader: another key
/// says which one it sets.
void exclude_same_timeouts(Json& schema) {
  for (size_t i = 0; i < kActionTimeouts.size(); ++i) {
    for (size_t n = i + 1; n < kActionTimeouts.size(); ++n) {
      const TimeoutKey& one = kActionTimeouts[i];
      const TimeoutKey& other = kActionTimeouts[n];
      const bool is_zart =
          one.vocabulary == Vocabulary::kZart || other.vocabulary == Vocabulary::kZart;
      if (one.kind == other.kind && !is_zart)
        exclude({one.name, other.name, kWriteOneTimeout}, schema);
    }
  }
}

void add_key(const KeyRule& key, const Mapping& mapping, Json& schema) {
  const std::vector<std::string_view> names = key.names();
  for (const std::string_view name : names) {
    schema["properties"][std::string(name)] = key_schema(key, mapping);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t n = i + 1; n < names.size(); ++n) {
      exclude({names[i], names[n], kWriteOneName}, schema);
    }
  }
  if (key.alternative.empty()) {
    if (key.required) schema["required"].push_back(key.name);
    return;
  }
  if (!key.required) return;
  const Json one = {{"required", {key.name}}};
  const Json other = {{"required", {key.alternative}}};
  schema["allOf"].push_back({{"oneOf", {one, other}}});
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
  for (const KeyRule* key : mapping.keys()) {
    if (key->required || key->alternative.empty()) continue;
    exclude(
        {key->name, key->alternative, "Write one of the two keys: both set the end of the wait."},
        schema);
  }
  for (const Exclusion& one : kExclusions) exclude(one, schema);
  exclude_same_timeouts(schema);
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
