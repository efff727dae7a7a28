#include "expressions/program_facts.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/big_integer.h"
#include "expressions/fast_lane_node.h"

namespace millrace {
namespace {

using fast::Node;
using Kind = Node::Kind;

bool is_identity(const Node& node) {
  return node.kind == Kind::kPath && node.children.empty() && node.steps.empty();
}

/// Whether the node's value is the same for every input. `of_constant`: whether `.` is the same,
/// too.
bool is_constant(const Node& node, bool of_constant) {
  switch (node.kind) {
    case Kind::kInstance:
    case Kind::kNow:
      return false;
    case Kind::kNot:
    case Kind::kLength:
      return of_constant;
    case Kind::kPath:
      return node.children.empty() ? of_constant : is_constant(node.children[0], of_constant);
    case Kind::kPipe:
      return is_constant(node.children[1], is_constant(node.children[0], of_constant));
    default:
      return std::all_of(node.children.begin(), node.children.end(),
                         [&](const Node& child) { return is_constant(child, of_constant); });
  }
}

std::string_view type_of_value(const Json& value) {
  if (is_any_number(value)) return "number";
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "boolean";
  if (value.is_string()) return "string";
  return value.is_array() ? "array" : "object";
}

std::string_view type_of(const Node& node);

/// The type of both nodes; empty if they differ.
std::string_view common_type(const Node& one, const Node& other) {
  const std::string_view type = type_of(one);
  return type == type_of(other) ? type : "";
}

std::string_view type_of(const Node& node) {
  switch (node.kind) {
    case Kind::kConstant:
      return type_of_value(node.constant);
    case Kind::kArray:
      return "array";
    case Kind::kObject:
      return "object";
    case Kind::kText:
      return "string";
    case Kind::kInstance:
      return "object";
    case Kind::kNow:
    case Kind::kNegate:
    case Kind::kLength:
      return "number";
    case Kind::kEqual:
    case Kind::kNotEqual:
    case Kind::kLess:
    case Kind::kLessEqual:
    case Kind::kGreater:
    case Kind::kGreaterEqual:
    case Kind::kAnd:
    case Kind::kOr:
    case Kind::kNot:
      return "boolean";
    case Kind::kPath:
      return node.steps.empty() && !node.children.empty() ? type_of(node.children[0]) : "";
    case Kind::kPipe:
      return type_of(is_identity(node.children[1]) ? node.children[0] : node.children[1]);
    case Kind::kAdd:
    case Kind::kAlternative:
      return common_type(node.children[0], node.children[1]);
    case Kind::kSubtract: {
      // `-` has a result only if both operands have the same type, which is then the result's type.
      const std::string_view left = type_of(node.children[0]);
      return left.empty() ? type_of(node.children[1]) : left;
    }
  }
  return "";
}

using KeyPath = std::vector<std::string>;

/// The path of keys from the input to the node's value; nullopt if the value is not reached by such
/// a path. `input` is the path of the node's `.`, if it has one. `is_whole` becomes false if the
/// path continues with a step that is not a key.
std::optional<KeyPath> key_path(const Node& node, const std::optional<KeyPath>& input,
                                bool& is_whole) {
  if (node.kind == Kind::kPipe) {
    const auto left = key_path(node.children[0], input, is_whole);
    return left && is_whole ? key_path(node.children[1], left, is_whole) : std::nullopt;
  }
  if (node.kind != Kind::kPath) return std::nullopt;
  auto path = node.children.empty() ? input : key_path(node.children[0], input, is_whole);
  if (!path) return std::nullopt;
  for (const fast::Step& step : node.steps) {
    const auto* const key = std::get_if<std::string>(&step.to);
    is_whole = is_whole && key != nullptr;
    if (is_whole) path->push_back(*key);
  }
  return path;
}

/// Adds the paths of all nodes that read the input, or a value inside it, to `found`.
void gather(const Node& node, const std::optional<KeyPath>& input, std::vector<KeyPath>& found) {
  bool is_whole = true;
  if (node.kind == Kind::kPath) {
    const auto path = key_path(node, input, is_whole);
    if (path && !path->empty()) {
      found.push_back(*path);
      return;
    }
  }
  if (node.kind == Kind::kPipe) {
    gather(node.children[0], input, found);
    const auto left = key_path(node.children[0], input, is_whole);
    gather(node.children[1], is_whole ? left : std::nullopt, found);
    return;
  }
  for (const Node& child : node.children) gather(child, input, found);
}

/// Adds what the node reads of the input to `found`. `input` is the path of the node's `.`;
/// nullopt: that is no value of the input.
void project(const Node& node, const std::optional<KeyPath>& input, Projection& found) {
  bool is_whole = true;
  switch (node.kind) {
    case Kind::kPath:
      if (const auto path = key_path(node, input, is_whole)) return found.add(*path);
      break;
    case Kind::kPipe: {
      project(node.children[0], input, found);
      const auto left = key_path(node.children[0], input, is_whole);
      return project(node.children[1], is_whole ? left : std::nullopt, found);
    }
    case Kind::kNot:
    case Kind::kLength:
      if (input) found.add(*input);
      break;
    default:
      break;
  }
  for (const Node& child : node.children) project(child, input, found);
}

/// The keys of the object that the node makes.
std::optional<std::set<std::string>> object_keys(const Node& node) {
  if (node.kind == Kind::kObject) return std::set<std::string>(node.keys.begin(), node.keys.end());
  if (node.kind == Kind::kPipe) {
    return object_keys(node.children[is_identity(node.children[1]) ? 0 : 1]);
  }
  if (node.kind == Kind::kPath && node.steps.empty() && !node.children.empty()) {
    return object_keys(node.children[0]);
  }
  if (node.kind != Kind::kAdd) return std::nullopt;
  auto keys = object_keys(node.children[0]);
  auto more = object_keys(node.children[1]);
  if (!keys || !more) return std::nullopt;
  keys->merge(*more);
  return keys;
}

}  // namespace

ProgramFacts facts_of(std::string_view program) {
  ProgramFacts facts;
  std::unique_ptr<const fast::Program> parsed = fast::parse(program);
  if (!parsed) return facts;
  facts.type = type_of(parsed->root);
  if (!is_constant(parsed->root, false)) return facts;
  Result<Json> result = FastProgram(std::move(parsed)).run(nullptr);
  if (result) {
    facts.type = type_of_value(*result);
    facts.value = std::move(*result);
  } else {
    facts.error = std::move(result).error();
  }
  return facts;
}

ProgramFacts facts_of(const Template& value) {
  if (const Program* const whole = value.whole()) return facts_of(whole->text);
  ProgramFacts facts;
  if (value.is_constant()) {
    facts.value = value.assemble({}).value();
    facts.type = type_of_value(*facts.value);
  } else if (!value.parts().empty()) {
    facts.type = "string";
  } else {
    const std::vector<LazyJson> none(value.programs().size());
    facts.type = type_of_value(value.assemble(none).value());
  }
  return facts;
}

std::vector<std::vector<std::string>> key_paths_of(std::string_view program) {
  std::vector<KeyPath> found;
  if (const auto parsed = fast::parse(program)) gather(parsed->root, KeyPath(), found);
  return found;
}

Projection projection_of(const Program& program) {
  const auto parsed = program.fast != nullptr ? fast::parse(program.text) : nullptr;
  Projection found{.is_whole = parsed == nullptr, .members = {}};
  if (parsed) project(parsed->root, KeyPath(), found);
  return found;
}

bool is_path_to_member(std::string_view program) {
  const auto parsed = fast::parse(program);
  if (!parsed) return false;
  bool is_whole = true;
  const auto path = key_path(parsed->root, KeyPath(), is_whole);
  return path && !path->empty();
}

std::optional<std::set<std::string>> object_keys_of(std::string_view program) {
  const auto parsed = fast::parse(program);
  return parsed ? object_keys(parsed->root) : std::nullopt;
}

}  // namespace millrace
