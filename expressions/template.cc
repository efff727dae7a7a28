#include "expressions/template.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/check.h"
#include "expressions/instance_name.h"
#include "expressions/jq_syntax.h"

namespace millrace {
namespace {

constexpr std::string_view kOpening = "jq(";

struct TemplateNode;
using Parts = std::vector<Template::Part>;
struct Whole {
  size_t program;
};
struct Array {
  std::vector<TemplateNode> elements;
};
struct Object {
  std::vector<std::string> keys;
  std::vector<TemplateNode> members;
};
struct TemplateNode {
  std::variant<LazyJson, Whole, Parts, Array, Object> value;
};

/// A constant, with its text, so that all copies share tree and text.
TemplateNode constant_node(const Json& value) {
  LazyJson constant(value);
  constant.text();
  return TemplateNode{std::move(constant)};
}

std::string assembled_string(const Parts& parts, std::span<const LazyJson> results) {
  std::string text;
  for (const Template::Part& part : parts) {
    if (!part.program) {
      text += part.literal;
    } else if (const LazyJson& result = results[*part.program]; result.is_string()) {
      text += result.string();
    } else {
      text += result.text();
    }
  }
  return text;
}

Json assembled(const TemplateNode& node, std::span<const LazyJson> results) {
  if (const auto* constant = std::get_if<LazyJson>(&node.value)) return constant->value();
  if (const auto* whole = std::get_if<Whole>(&node.value)) return results[whole->program].value();
  if (const auto* parts = std::get_if<Parts>(&node.value)) return assembled_string(*parts, results);
  if (const auto* array = std::get_if<Array>(&node.value)) {
    Json value = Json::array();
    for (const TemplateNode& element : array->elements)
      value.push_back(assembled(element, results));
    return value;
  }
  Json value = Json::object();
  const auto& object = std::get<Object>(node.value);
  for (size_t i = 0; i < object.keys.size(); ++i) {
    value.emplace(object.keys[i], assembled(object.members[i], results));
  }
  return value;
}

/// Appends the text of the value that assembled() makes.
void append_assembled(const TemplateNode& node, std::span<const LazyJson> results,
                      std::string& out) {
  if (const auto* constant = std::get_if<LazyJson>(&node.value)) {
    out += constant->text();
  } else if (const auto* whole = std::get_if<Whole>(&node.value)) {
    out += results[whole->program].text();
  } else if (const auto* parts = std::get_if<Parts>(&node.value)) {
    append_json_string(assembled_string(*parts, results), out);
  } else if (const auto* array = std::get_if<Array>(&node.value)) {
    char before = '[';
    for (const TemplateNode& element : array->elements) {
      out.push_back(std::exchange(before, ','));
      append_assembled(element, results, out);
    }
    out.push_back(']');
  } else {
    const auto& object = std::get<Object>(node.value);  // its keys are sorted
    for (size_t i = 0; i < object.keys.size(); ++i) {
      out.push_back(i == 0 ? '{' : ',');
      append_json_string(object.keys[i], out);
      out.push_back(':');
      append_assembled(object.members[i], results, out);
    }
    out.push_back('}');
  }
}

}  // namespace

Result<Program> make_program(std::string_view text) {
  if (const Status status = check_program_text(text); !status) {
    return tl::unexpected(status.error());
  }
  return Program{std::string(text), compile_fast(text), names_instance(text)};
}

struct Template::Tree {
  TemplateNode root;
  Parts parts;  // the parts of the root if it is a string; otherwise empty
  std::vector<Program> programs;
};

/// Reads a value into a tree and collects its jq programs.
class Template::Reader {
 public:
  Result<TemplateNode> read(const Json& value) {
    if (value.is_string()) return read_text(value.get_ref<const std::string&>());
    if (!value.is_structured()) return constant_node(value);
    const size_t programs_before = programs_.size();
    Array array;
    Object object;
    for (const auto& [key, member] : value.items()) {
      TemplateNode node = TRY(read(member));
      if (value.is_array()) {
        array.elements.push_back(std::move(node));
      } else {
        object.keys.push_back(key);
        object.members.push_back(std::move(node));
      }
    }
    if (programs_.size() == programs_before) return constant_node(value);
    if (value.is_array()) return TemplateNode{std::move(array)};
    return TemplateNode{std::move(object)};
  }

  Result<TemplateNode> read_program(std::string_view text) {
    programs_.push_back(TRY(make_program(text)));
    return TemplateNode{Whole{programs_.size() - 1}};
  }

  Template finish(TemplateNode root) {
    Parts parts;
    const auto* constant = std::get_if<LazyJson>(&root.value);
    if (constant != nullptr && constant->is_string()) {
      parts.push_back({constant->string(), std::nullopt});
    } else if (const auto* whole = std::get_if<Whole>(&root.value)) {
      parts.push_back({"", whole->program});
    } else if (const auto* pieces = std::get_if<Parts>(&root.value)) {
      parts = *pieces;
    }
    return Template(std::make_shared<const Tree>(
        Tree{std::move(root), std::move(parts), std::move(programs_)}));
  }

 private:
  Result<TemplateNode> read_text(std::string_view text) {
    Parts parts;
    size_t done = 0;
    for (size_t at = text.find(kOpening); at != std::string_view::npos;
         at = text.find(kOpening, done)) {
      const size_t begin = at + kOpening.size();
      const JqEnd end = scan_jq(text, begin);
      if (end.kind == JqEnd::Kind::kEnd || end.kind == JqEnd::Kind::kOpen) {
        return fail(
            "jq.unterminated",
            fmt::format("the `jq(` at {} has no closing parenthesis; write `)` after the query",
                        place_in(text, at)));
      }
      if (end.kind == JqEnd::Kind::kMismatch) {
        return fail("jq.unbalanced", describe_mismatch(text, end));
      }
      if (text[end.at] != ')') {
        return fail("jq.unbalanced",
                    fmt::format("the `{}` at {} has no matching opening bracket in the `jq(` at {}",
                                text[end.at], place_in(text, end.at), place_in(text, at)));
      }
      TemplateNode program = TRY(read_program(text.substr(begin, end.at - begin)));
      if (trimmed(text) == text.substr(at, end.at + 1 - at)) return program;
      if (at > done) parts.push_back({std::string(text.substr(done, at - done)), std::nullopt});
      parts.push_back({"", std::get<Whole>(program.value).program});
      done = end.at + 1;
    }
    if (parts.empty()) return constant_node(Json(std::string(text)));
    if (done < text.size()) parts.push_back({std::string(text.substr(done)), std::nullopt});
    return TemplateNode{std::move(parts)};
  }

  std::vector<Program> programs_;
};

Template::Template() : Template(Reader().finish(constant_node(nullptr))) {}

Template::Template(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}

Result<Template> Template::literal_or_jq(const Json& value, Dot dot) {
  Reader reader;
  if (dot == Dot::kIdentity && value == ".") {
    return reader.finish(TRY(reader.read_program(".")));
  }
  return reader.finish(TRY(reader.read(value)));
}

Result<Template> Template::query(const Json& value) {
  Reader reader;
  if (value.is_string()) {
    const std::string_view text = value.get_ref<const std::string&>();
    if (text.find(kOpening) == std::string_view::npos) {
      return reader.finish(TRY(reader.read_program(text)));
    }
  }
  return reader.finish(TRY(reader.read(value)));
}

std::span<const Program> Template::programs() const { return tree_->programs; }

bool Template::names_instance() const {
  return std::any_of(programs().begin(), programs().end(),
                     [](const Program& program) { return program.names_instance; });
}

const Program* Template::whole() const {
  const auto* whole = std::get_if<Whole>(&tree_->root.value);
  return whole ? &tree_->programs[whole->program] : nullptr;
}

std::span<const Template::Part> Template::parts() const { return tree_->parts; }

LazyJson Template::assemble(std::span<const LazyJson> results) const {
  CHECK(results.size() == tree_->programs.size(),
        "a template got {} results for its {} programs; expected one result for each program",
        results.size(), tree_->programs.size());
  const TemplateNode& root = tree_->root;
  if (const auto* constant = std::get_if<LazyJson>(&root.value)) return *constant;
  if (const auto* whole = std::get_if<Whole>(&root.value)) return results[whole->program];
  size_t weight = 0;
  for (const LazyJson& result : results) weight += result.weight();
  if (weight <= kLargeJson) return assembled(root, results);
  std::string text;
  append_assembled(root, results, text);
  return LazyJson::of_text(std::move(text));
}

std::optional<QueryResult> Template::run_within(const LazyJson& input, size_t bytes,
                                                const Bindings* bindings) const {
  std::vector<LazyJson> results;
  for (const Program& program : programs()) {
    std::optional<QueryResult> result;
    if (program.fast != nullptr) result = program.fast->run_within(input, bytes, true, bindings);
    if (!result || !*result) return result;
    results.push_back(**std::move(result));
  }
  return assemble(results);
}

}  // namespace millrace
