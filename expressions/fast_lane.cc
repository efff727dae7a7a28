#include "expressions/fast_lane.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "expressions/fast_lane_node.h"

namespace millrace {
namespace {

using fast::Node;
using fast::Step;

/// How much a program may copy on the way to its result. libjq shares what we copy, so this is far
/// above what a result may have.
constexpr size_t kMaxCopiedBytes = 16 * kMaxResultBytes;

const Json& null_json() {
  static const Json json;
  return json;
}

/// A value in the making: one that lives elsewhere (in the input or the program), or its own.
class Value {  // NOLINT(bugprone-exception-escape): Json's move only asserts
 public:
  static Value borrowed(const Json& json) {
    Value value;
    value.borrowed_ = &json;
    return value;
  }
  static Value owned(Json json) {
    Value value;
    value.owned_ = std::move(json);
    return value;
  }

  const Json& get() const { return borrowed_ ? *borrowed_ : owned_; }
  bool is_borrowed() const { return borrowed_ != nullptr; }
  Json take() && {
    if (borrowed_) return *borrowed_;
    return std::move(owned_);
  }

 private:
  const Json* borrowed_ = nullptr;
  Json owned_;
};

using Evaluated = tl::expected<Value, EvaluationError>;

/// jq's order of types, which is also what decides between values of different types.
enum class Rank { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

Rank rank(const Json& value) {
  if (value.is_null()) return Rank::kNull;
  if (value.is_boolean()) return value.get<bool>() ? Rank::kTrue : Rank::kFalse;
  if (value.is_number()) return Rank::kNumber;
  if (value.is_string()) return Rank::kString;
  return value.is_array() ? Rank::kArray : Rank::kObject;
}

std::string_view kind_name(const Json& value) {
  switch (rank(value)) {
    case Rank::kNull:
      return "null";
    case Rank::kFalse:
    case Rank::kTrue:
      return "boolean";
    case Rank::kNumber:
      return "number";
    case Rank::kString:
      return "string";
    case Rank::kArray:
      return "array";
    case Rank::kObject:
      return "object";
  }
  return "";
}

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

/// jq's order: numbers as doubles, strings by bytes, objects first by their sorted keys.
int compare(const Json& a, const Json& b) {
  if (const int order = three_way(rank(a), rank(b)); order != 0) return order;
  if (a.is_number()) return three_way(a.get<double>(), b.get<double>());
  if (a.is_string()) {
    return a.get_ref<const std::string&>().compare(b.get_ref<const std::string&>());
  }
  if (a.is_object()) {
    auto left = a.begin();
    auto right = b.begin();
    for (; left != a.end() && right != b.end(); ++left, ++right) {
      if (const int order = left.key().compare(right.key()); order != 0) return order;
    }
  }
  if (a.is_array() || (a.is_object() && a.size() == b.size())) {
    auto left = a.begin();
    auto right = b.begin();
    for (; left != a.end() && right != b.end(); ++left, ++right) {
      if (const int order = compare(*left, *right); order != 0) return order;
    }
  }
  return a.is_structured() ? three_way(a.size(), b.size()) : 0;
}

/// jq's own truth: only null and false are not true.
bool holds(const Json& value) { return value.is_boolean() ? value.get<bool>() : !value.is_null(); }

/// The size of the value's text in bytes, escapes aside, and how deep it nests.
struct Extent {
  size_t bytes = 0;
  size_t depth = 0;
};

Extent extent(const Json& value) {
  if (value.is_string()) return {value.get_ref<const std::string&>().size() + 2, 0};
  if (value.is_number()) return {8, 0};
  if (!value.is_structured()) return {4, 0};
  Extent whole{2, 0};
  for (auto member = value.begin(); member != value.end(); ++member) {
    const Extent inner = extent(*member);
    whole.bytes += inner.bytes + 1 + (value.is_object() ? member.key().size() + 3 : 0);
    whole.depth = std::max(whole.depth, inner.depth);
  }
  ++whole.depth;
  return whole;
}

/// The member or element, null where there is none; nullopt if the value cannot be so indexed.
const Json* step_into(const Json& value, const Step& step) {
  if (value.is_null()) return &null_json();
  if (const auto* key = std::get_if<std::string>(&step)) {
    if (!value.is_object()) return nullptr;
    const auto member = value.find(*key);
    return member == value.end() ? &null_json() : &*member;
  }
  if (!value.is_array()) return nullptr;
  const auto size = static_cast<int64_t>(value.size());
  int64_t index = std::get<int64_t>(step);
  if (index < 0) index += size;
  return index < 0 || index >= size ? &null_json() : &value[static_cast<size_t>(index)];
}

tl::unexpected<EvaluationError> cannot_index(const Json& value, const Step& step) {
  const auto* key = std::get_if<std::string>(&step);
  return evaluation_failed(
      kJqBadCommand, key ? fmt::format("Cannot index {} with string \"{}\"", kind_name(value), *key)
                         : fmt::format("Cannot index {} with number", kind_name(value)));
}

/// One run of a program.
class Run {
 public:
  Evaluated evaluate(const Node& node, const Json& input) {
    switch (node.kind) {
      case Node::Kind::kConstant:
        return Value::borrowed(node.constant);
      case Node::Kind::kPath:
        return path(node, input);
      case Node::Kind::kArray:
      case Node::Kind::kObject:
        return construct(node, input);
      case Node::Kind::kPipe: {
        Evaluated left = evaluate(node.children[0], input);
        if (!left) return left;
        return detached(evaluate(node.children[1], left->get()), *left);
      }
      case Node::Kind::kEqual:
      case Node::Kind::kNotEqual:
      case Node::Kind::kLess:
      case Node::Kind::kLessEqual:
      case Node::Kind::kGreater:
      case Node::Kind::kGreaterEqual:
        return comparison(node, input);
      case Node::Kind::kAnd:
      case Node::Kind::kOr: {
        Evaluated left = evaluate(node.children[0], input);
        if (!left) return left;
        if (holds(left->get()) == (node.kind == Node::Kind::kOr)) {
          return Value::owned(node.kind == Node::Kind::kOr);
        }
        Evaluated right = evaluate(node.children[1], input);
        if (!right) return right;
        return Value::owned(holds(right->get()));
      }
      case Node::Kind::kAlternative: {
        Evaluated left = evaluate(node.children[0], input);
        if (!left || holds(left->get())) return left;
        return evaluate(node.children[1], input);
      }
      case Node::Kind::kNot:
        return Value::owned(!holds(input));
    }
    CHECK(false, "a node of no kind");
  }

 private:
  Evaluated path(const Node& node, const Json& input) {
    Value from = Value::borrowed(input);
    if (!node.children.empty()) {
      Evaluated child = evaluate(node.children[0], input);
      if (!child) return child;
      from = *std::move(child);
    }
    const Json* at = &from.get();
    for (const Step& step : node.steps) {
      const Json* next = step_into(*at, step);
      if (next == nullptr) return cannot_index(*at, step);
      at = next;
    }
    return detached(Value::borrowed(*at), from);
  }

  /// `result` may point into `source`: if that is about to go, the result becomes its own.
  static Evaluated detached(Evaluated result, const Value& source) {
    if (!result || !result->is_borrowed() || source.is_borrowed()) return result;
    return Value::owned(std::move(*result).take());
  }

  Evaluated construct(const Node& node, const Json& input) {
    const bool is_array = node.kind == Node::Kind::kArray;
    Json built = is_array ? Json::array() : Json::object();
    for (size_t i = 0; i < node.children.size(); ++i) {
      Evaluated child = evaluate(node.children[i], input);
      if (!child) return child;
      if (child->is_borrowed()) copied_ += extent(child->get()).bytes;
      if (copied_ > kMaxCopiedBytes) {
        return evaluation_failed(kJqMemory, "the program builds a value that is too large");
      }
      if (is_array) {
        built.push_back(std::move(*child).take());
      } else {
        built[node.keys[i]] = std::move(*child).take();
      }
    }
    return Value::owned(std::move(built));
  }

  Evaluated comparison(const Node& node, const Json& input) {
    // libjq evaluates the arguments of an operator from the right.
    Evaluated right = evaluate(node.children[1], input);
    if (!right) return right;
    Evaluated left = evaluate(node.children[0], input);
    if (!left) return left;
    const int order = compare(left->get(), right->get());
    switch (node.kind) {
      case Node::Kind::kEqual:
        return Value::owned(order == 0);
      case Node::Kind::kNotEqual:
        return Value::owned(order != 0);
      case Node::Kind::kLess:
        return Value::owned(order < 0);
      case Node::Kind::kLessEqual:
        return Value::owned(order <= 0);
      case Node::Kind::kGreater:
        return Value::owned(order > 0);
      default:
        return Value::owned(order >= 0);
    }
  }

  size_t copied_ = 0;
};

bool has_construction(const Node& node) {
  return node.kind == Node::Kind::kArray || node.kind == Node::Kind::kObject ||
         std::any_of(node.children.begin(), node.children.end(), has_construction);
}

}  // namespace

FastProgram::FastProgram(std::unique_ptr<const fast::Node> root)
    : root_(std::move(root)), constructs_(has_construction(*root_)) {}

FastProgram::~FastProgram() = default;

QueryResult FastProgram::run(const Json& input) const {
  Evaluated result = Run().evaluate(*root_, input);
  if (!result) return tl::unexpected(std::move(result).error());
  Json value = std::move(*result).take();
  if (constructs_) {
    const Extent size = extent(value);
    if (size.depth > kMaxJsonDepth) return result_too_deep();
    if (size.bytes > kMaxResultBytes) return result_too_large();
  }
  return value;
}

bool FastProgram::is_identity() const {
  return root_->kind == Node::Kind::kPath && root_->steps.empty() && root_->children.empty();
}

std::shared_ptr<const FastProgram> compile_fast(std::string_view program) {
  std::unique_ptr<const Node> root = fast::parse(program);
  if (!root) return nullptr;
  return std::make_shared<const FastProgram>(std::move(root));
}

}  // namespace millrace
