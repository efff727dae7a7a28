#include "states/json_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "base/whole_number.h"
#include "language/fields.h"
#include "matchers/pattern.h"

namespace millrace {
namespace {

/// The maximum size of a schema in bytes. A jq worker parses the schema again for each evaluation.
constexpr size_t kMaxSchemaBytes = size_t{256} << 10;

/// The form of the value of a keyword.
enum class Shape {
  kAny,
  kBoolean,
  kText,
  kNumber,
  kPositive,   ///< a number above 0
  kCount,      ///< a whole number, 0 or more
  kList,       ///< a list of any values
  kNames,      ///< a list of strings, each once
  kTypes,      ///< the name of a type, or a list of them
  kPattern,    ///< a regular expression
  kReference,  ///< a reference to a place in this schema
  kSchema,
  kSchemas,          ///< a list of at least one schema
  kSchemaOrSchemas,  ///< a schema, or a list of schemas
  kSchemaMap,        ///< a mapping from any name to a schema
  kPatternMap,       ///< a mapping from a pattern to a schema
  kDependencies,     ///< a mapping from a name to a schema or to a list of names
};

struct Keyword {
  std::string_view name;
  Shape shape;
};

constexpr auto kKeywords = std::to_array<Keyword>({
    {"$comment", Shape::kText},
    {"$defs", Shape::kSchemaMap},  // later drafts have this keyword; references may point into it
    {"$id", Shape::kText},
    {"$ref", Shape::kReference},
    {"$schema", Shape::kText},
    {"additionalItems", Shape::kSchema},
    {"additionalProperties", Shape::kSchema},
    {"allOf", Shape::kSchemas},
    {"anyOf", Shape::kSchemas},
    {"const", Shape::kAny},
    {"contains", Shape::kSchema},
    {"contentEncoding", Shape::kText},
    {"contentMediaType", Shape::kText},
    {"default", Shape::kAny},
    {"definitions", Shape::kSchemaMap},
    {"dependencies", Shape::kDependencies},
    {"description", Shape::kText},
    {"else", Shape::kSchema},
    {"enum", Shape::kList},
    {"examples", Shape::kList},
    {"exclusiveMaximum", Shape::kNumber},
    {"exclusiveMinimum", Shape::kNumber},
    {"format", Shape::kText},
    {"if", Shape::kSchema},
    {"items", Shape::kSchemaOrSchemas},
    {"maxItems", Shape::kCount},
    {"maxLength", Shape::kCount},
    {"maxProperties", Shape::kCount},
    {"maximum", Shape::kNumber},
    {"minItems", Shape::kCount},
    {"minLength", Shape::kCount},
    {"minProperties", Shape::kCount},
    {"minimum", Shape::kNumber},
    {"multipleOf", Shape::kPositive},
    {"not", Shape::kSchema},
    {"oneOf", Shape::kSchemas},
    {"pattern", Shape::kPattern},
    {"patternProperties", Shape::kPatternMap},
    {"properties", Shape::kSchemaMap},
    {"propertyNames", Shape::kSchema},
    {"readOnly", Shape::kBoolean},
    {"required", Shape::kNames},
    {"then", Shape::kSchema},
    {"title", Shape::kText},
    {"type", Shape::kTypes},
    {"uniqueItems", Shape::kBoolean},
    {"writeOnly", Shape::kBoolean},
});

constexpr std::array<std::string_view, 7> kSchemaTypes = {"array",  "boolean", "integer", "null",
                                                          "number", "object",  "string"};

bool is_number(const Node& node) {
  return node.kind == Node::Kind::kInt || node.kind == Node::Kind::kFloat;
}

/// A token of a JSON Pointer in a reference, with `%25` and `~1` decoded.
std::string unescaped(std::string_view piece) {
  std::string bytes;
  for (size_t i = 0; i < piece.size(); ++i) {
    unsigned code = 0;
    const char* const hex = piece.data() + i + 1;
    if (piece[i] == '%' && i + 2 < piece.size() &&
        std::from_chars(hex, hex + 2, code, 16).ptr == hex + 2) {
      bytes.push_back(static_cast<char>(code));
      i += 2;
    } else {
      bytes.push_back(piece[i]);
    }
  }
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool is_escape = bytes[i] == '~' && i + 1 < bytes.size();
    if (is_escape && (bytes[i + 1] == '0' || bytes[i + 1] == '1')) {
      text.push_back(bytes[++i] == '0' ? '~' : '/');
    } else {
      text.push_back(bytes[i]);
    }
  }
  return text;
}

class Checker {
 public:
  Checker(const Node& root, Findings& findings) : root_(root), findings_(findings) {}

  void schema(const Node& node, const std::string& path) {
    if (node.kind == Node::Kind::kBroken || node.kind == Node::Kind::kBool) return;
    if (node.kind != Node::Kind::kMapping) {
      return wrong_type(node, path, "a schema: a mapping, true or false");
    }
    for (const Member& member : node.members) {
      const std::string place = path_of(path, member.key);
      const auto* const known =
          std::find_if(kKeywords.begin(), kKeywords.end(),
                       [&](const Keyword& keyword) { return keyword.name == member.key; });
      if (known != kKeywords.end()) {
        value(known->shape, member.value, place);
      } else {
        unknown(member, place);
      }
    }
  }

 private:
  void wrong_type(const Node& node, const std::string& path, std::string_view wanted) {
    if (node.kind == Node::Kind::kBroken) return;
    findings_.error("schema.type", path, node.at,
                    fmt::format("this is {}; JSON Schema expects {}", describe(node), wanted));
  }

  void unknown(const Member& member, const std::string& path) {
    if (findings_.full()) return;
    std::vector<std::string_view> names;
    names.reserve(std::size(kKeywords));
    for (const Keyword& keyword : kKeywords) names.push_back(keyword.name);
    findings_.warning("schema.unknown_key", path, member.at,
                      fmt::format("{} is not a keyword of JSON Schema draft 7 and has no effect",
                                  in_quotes(member.key)),
                      mend_of_name(member.key, names, "this key", "remove this key"));
  }

  void value(Shape shape, const Node& node, const std::string& path) {
    switch (shape) {
      case Shape::kAny:
        return;
      case Shape::kBoolean:
        return expect(node, path, node.kind == Node::Kind::kBool, "true or false");
      case Shape::kText:
        return expect(node, path, node.kind == Node::Kind::kString, "a string");
      case Shape::kNumber:
        return expect(node, path, is_number(node), "a number");
      case Shape::kPositive:
        return expect(node, path, is_number(node) && node.scalar.get<double>() > 0,
                      "a number above 0");
      case Shape::kCount:
        return expect(node, path, node.kind == Node::Kind::kInt && node.scalar.get<double>() >= 0,
                      "a whole number, 0 or more");
      case Shape::kList:
        return expect(node, path, node.kind == Node::Kind::kSequence, "a list");
      case Shape::kNames:
        return names(node, path);
      case Shape::kTypes:
        return types(node, path);
      case Shape::kPattern:
        if (node.kind != Node::Kind::kString) return wrong_type(node, path, "a pattern");
        return pattern(node.text, path, node.at);
      case Shape::kReference:
        return reference(node, path);
      case Shape::kSchema:
        return schema(node, path);
      case Shape::kSchemas:
        return schemas(node, path);
      case Shape::kSchemaOrSchemas:
        return node.kind == Node::Kind::kSequence ? each_schema(node, path) : schema(node, path);
      case Shape::kSchemaMap:
      case Shape::kPatternMap:
      case Shape::kDependencies:
        return map(shape, node, path);
    }
  }

  void expect(const Node& node, const std::string& path, bool is_right, std::string_view wanted) {
    if (!is_right) wrong_type(node, path, wanted);
  }

  void schemas(const Node& node, const std::string& path) {
    if (node.kind != Node::Kind::kSequence || node.items.empty()) {
      return wrong_type(node, path, "a list of schemas, at least one");
    }
    each_schema(node, path);
  }

  void each_schema(const Node& list, const std::string& path) {
    for (size_t i = 0; i < list.items.size(); ++i) schema(list.items[i], path_of(path, i));
  }

  void map(Shape shape, const Node& node, const std::string& path) {
    if (node.kind != Node::Kind::kMapping) return wrong_type(node, path, "a mapping of schemas");
    for (const Member& member : node.members) {
      const std::string place = path_of(path, member.key);
      if (shape == Shape::kPatternMap) pattern(member.key, place, member.at);
      if (shape == Shape::kDependencies && member.value.kind == Node::Kind::kSequence) {
        names(member.value, place);
      } else {
        schema(member.value, place);
      }
    }
  }

  void names(const Node& node, const std::string& path) {
    if (node.kind != Node::Kind::kSequence) return wrong_type(node, path, "a list of names");
    std::set<std::string_view> seen;
    for (size_t i = 0; i < node.items.size(); ++i) {
      const Node& item = node.items[i];
      if (item.kind != Node::Kind::kString) {
        wrong_type(item, path_of(path, i), "a name");
      } else if (!seen.insert(item.text).second) {
        findings_.error("schema.value", path_of(path, i), item.at,
                        fmt::format("{} is already in this list", in_quotes(item.text)));
      }
    }
  }

  void types(const Node& node, const std::string& path) {
    if (node.kind == Node::Kind::kSequence && !node.items.empty()) {
      for (size_t i = 0; i < node.items.size(); ++i) type(node.items[i], path_of(path, i));
    } else {
      type(node, path);
    }
  }

  void type(const Node& node, const std::string& path) {
    if (node.kind != Node::Kind::kString) return wrong_type(node, path, "the name of a type");
    if (std::find(kSchemaTypes.begin(), kSchemaTypes.end(), node.text) != kSchemaTypes.end())
      return;
    findings_.error(
        "schema.value", path, node.at,
        fmt::format("{} is not a type; valid types are {}{}", in_quotes(node.text),
                    fmt::join(kSchemaTypes, ", "),
                    did_you_mean(node.text, {kSchemaTypes.begin(), kSchemaTypes.end()})));
  }

  void pattern(const std::string& text, const std::string& path, Position at) {
    if (const auto compiled = Pattern::compile(text); !compiled) {
      findings_.error(compiled.error().code, path, at, compiled.error().message);
    }
  }

  void reference(const Node& node, const std::string& path) {
    if (node.kind != Node::Kind::kString) return wrong_type(node, path, "a reference");
    const auto refuse = [&](std::string_view why) {
      findings_.error("schema.ref", path, node.at, fmt::format("{} {}", in_quotes(node.text), why));
    };
    if (!node.text.starts_with('#')) {
      return refuse("is outside this schema, and no schema is fetched; write #/definitions/...");
    }
    std::set<std::string_view> seen;
    const Node* next = &node;
    while (next != nullptr && next->kind == Node::Kind::kString) {
      if (!seen.insert(next->text).second) return refuse("is a circular reference");
      const Node* const target = place_of(next->text);
      if (target == nullptr) {
        // A broken reference further along the chain is reported at its own position.
        return next == &node ? refuse("does not exist in this schema") : void();
      }
      const Member* const reference = target->find("$ref");
      next = reference == nullptr ? nullptr : &reference->value;
    }
  }

  /// The target of a reference; null if it does not exist.
  const Node* place_of(std::string_view reference) const {
    const Node* node = &root_;
    std::string_view rest = reference.substr(std::min<size_t>(1, reference.size()));
    while (node != nullptr && !rest.empty()) {
      if (rest.front() != '/') return nullptr;
      rest.remove_prefix(1);
      const std::string piece = unescaped(rest.substr(0, rest.find('/')));
      rest.remove_prefix(std::min(rest.find('/'), rest.size()));
      if (node->kind == Node::Kind::kSequence) {
        const std::optional<uint64_t> index = whole_number(piece);
        node = index && *index < node->items.size() ? &node->items[*index] : nullptr;
      } else {
        const Member* const member = node->find(piece);
        node = member == nullptr ? nullptr : &member->value;
      }
    }
    return node;
  }

  const Node& root_;
  Findings& findings_;
};

}  // namespace

void check_json_schema(const Node& schema, const std::string& path, Findings& findings) {
  if (const size_t size = dump_json(to_json(schema)).size(); size > kMaxSchemaBytes) {
    return findings.error(
        "schema.too_large", path, schema.at,
        fmt::format("the schema is {} bytes of JSON; at most {} are read", size, kMaxSchemaBytes));
  }
  Checker(schema, findings).schema(schema, path);
}

}  // namespace millrace
