// Run: evaluates one fast lane program once. Private to fast_lane.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/big_integer.h"
#include "base/check.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "expressions/evaluation.h"
#include "expressions/fast_lane_node.h"
#include "expressions/fast_lane_values.h"
#include "expressions/jq_text.h"

namespace millrace::fast {

/// How many times more an element of a difference costs than an element that is copied: the
/// elements are sorted, and each is compared with several others.
inline constexpr size_t kSearchFactor = 8;

inline bool is_equality(Node::Kind kind) {
  return kind == Node::Kind::kEqual || kind == Node::Kind::kNotEqual;
}

/// Evaluates one jq program once; J, the type of the values, is Json or OrderedJson.
template <class J>
class Run {
 public:
  /// `most`: the bytes that the jq program may copy, compare and write.
  /// `instance`: the value of `$instance`; `now`: the result of `now`.
  Run(size_t most, const J& instance, TimePoint now)
      : most_(most), instance_(instance), now_(now) {}

  /// The value of a node. The result points to `scratch` if the value had to be made, otherwise
  /// into the input, `$instance` or the jq program. Null if there is no value: see error().
  const J* evaluate(const Node& node, const J& input, J& scratch) {
    switch (node.kind) {
      case Node::Kind::kInstance:
        return &instance_;
      case Node::Kind::kNow:
        return number(static_cast<double>(to_millis(now_)) / kMillisInSecond, scratch);
      case Node::Kind::kConstant:
        return constant(node, scratch);
      case Node::Kind::kPath:
        return path(node, input, scratch);
      case Node::Kind::kArray:
        return array(node, input, scratch);
      case Node::Kind::kObject:
        return object(node, input, scratch);
      case Node::Kind::kPipe: {
        J made;
        const J* left = evaluate(node.children[0], input, made);
        if (left == nullptr) return nullptr;
        return detached(evaluate(node.children[1], *left, scratch), left == &made, scratch);
      }
      case Node::Kind::kText:
        return text(node, input, scratch);
      case Node::Kind::kAdd:
      case Node::Kind::kSubtract:
        return arithmetic(node, input, scratch);
      case Node::Kind::kNegate: {
        const J* operand = evaluate(node.children[0], input, scratch);
        if (operand == nullptr) return nullptr;
        if (!is_any_number(*operand)) return fail_on(*operand, "cannot be negated");
        return number(-number_of(*operand), scratch);
      }
      case Node::Kind::kEqual:
      case Node::Kind::kNotEqual:
      case Node::Kind::kLess:
      case Node::Kind::kLessEqual:
      case Node::Kind::kGreater:
      case Node::Kind::kGreaterEqual:
        return comparison(node, input, scratch);
      case Node::Kind::kAnd:
      case Node::Kind::kOr: {
        const bool decides = node.kind == Node::Kind::kOr;
        const J* operand = evaluate(node.children[0], input, scratch);
        if (operand == nullptr) return nullptr;
        if (holds(*operand) == decides) return &boolean<J>(decides);
        operand = evaluate(node.children[1], input, scratch);
        if (operand == nullptr) return nullptr;
        return &boolean<J>(holds(*operand));
      }
      case Node::Kind::kAlternative: {
        const J* left = evaluate(node.children[0], input, scratch);
        if (exceeded_ || (left == nullptr ? failed() : holds(*left))) return left;
        return evaluate(node.children[1], input, scratch);
      }
      case Node::Kind::kNot:
        return &boolean<J>(!holds(input));
      case Node::Kind::kLength:
        return length(input, scratch);
    }
    CHECK(false,
          "a node of a program has an unknown kind; expected a kind that the fast lane evaluates");
  }

  /// A value of evaluate() in `scratch`: copied to it, unless it is there. Null if the jq program
  /// then needs more bytes than it may.
  const J* kept(const J* value, J& scratch) { return keep(value, scratch) ? &scratch : nullptr; }

  /// The reason why evaluate() has returned no value. The error's code is empty if the jq program
  /// has no result and no error.
  const Error& error() const { return error_; }
  /// Whether the error's message contains an object, and so shows the order of its keys.
  bool shows_order() const { return shows_order_; }
  /// Whether the jq program computed numbers that a result cannot contain; make_plain replaces
  /// them.
  bool left_json() const { return left_json_; }
  /// The bytes that the jq program has copied, compared and written.
  size_t spent() const { return spent_; }
  /// Whether the jq program needs more bytes than it may; evaluate() has then returned no value.
  bool exceeded() const { return exceeded_; }

 private:
  bool failed() const { return !error_.code.empty(); }

  const J* constant(const Node& node, J& scratch) {
    if constexpr (std::is_same_v<J, Json>) {
      return &node.constant;
    } else {
      scratch = node.constant;
      return &scratch;
    }
  }

  const J* path(const Node& node, const J& input, J& scratch) {
    if (node.children.empty()) return walk(node.steps, input);
    J made;
    const J* from = evaluate(node.children[0], input, made);
    if (from == nullptr) return nullptr;
    return detached(walk(node.steps, *from), from == &made, scratch);
  }

  const J* walk(const std::vector<Step>& steps, const J& from) {
    const J* at = &from;
    for (const Step& step : steps) {
      const J* next = step_into(*at, step);
      if (next == nullptr) return step.optional ? nullptr : cannot_index(*at, step);
      at = next;
    }
    return at;
  }

  /// The member or element of `value` that `step` names; JSON null if `value` has no such part;
  /// nullptr if `value` cannot be indexed in this way.
  static const J* step_into(const J& value, const Step& step) {
    if (value.is_null()) return &null_json<J>();
    if (const auto* key = std::get_if<std::string>(&step.to)) {
      const auto* object = value.template get_ptr<const typename J::object_t*>();
      if (object == nullptr) return nullptr;
      const auto member = object->find(*key);
      return member == object->end() ? &null_json<J>() : &member->second;
    }
    if (!value.is_array()) return nullptr;
    const auto size = static_cast<int64_t>(value.size());
    int64_t index = std::get<int64_t>(step.to);
    if (index < 0) index += size;
    return index < 0 || index >= size ? &null_json<J>() : &value[static_cast<size_t>(index)];
  }

  /// Copies `result` to `scratch` if it may be a part of a value that is about to be destroyed
  /// (`source_goes`).
  const J* detached(const J* result, bool source_goes, J& scratch) {
    if (result == nullptr || result == &scratch || !source_goes) return result;
    return keep(result, scratch) ? &scratch : nullptr;
  }

  const J* array(const Node& node, const J& input, J& scratch) {
    J built = J::array();
    auto& elements = *built.template get_ptr<typename J::array_t*>();
    elements.reserve(node.children.size());
    for (const Node& child : node.children) {
      J& element = elements.emplace_back();
      const J* value = evaluate(child, input, element);
      if (value == nullptr && failed()) return nullptr;
      if (value == nullptr) {
        elements.pop_back();
      } else if (!keep(value, element)) {
        return nullptr;
      }
    }
    scratch = std::move(built);
    return &scratch;
  }

  const J* object(const Node& node, const J& input, J& scratch) {
    J built = J::object();
    for (size_t i = 0; i < node.children.size(); ++i) {
      J& member = built[node.keys[i]];
      const J* value = evaluate(node.children[i], input, member);
      if (value == nullptr || !keep(value, member)) return nullptr;
    }
    scratch = std::move(built);
    return &scratch;
  }

  /// Copies the value to `place`, unless it is already there. False if the jq program then needs
  /// more bytes than it may.
  bool keep(const J* value, J& place) {
    if (value == &place) return true;
    if (!spend(extent(*value).bytes)) return false;
    place = *value;
    return true;
  }

  bool spend(size_t bytes) {
    spent_ += bytes;
    if (spent_ <= most_) return true;
    exceeded_ = true;
    fail(kJqMemory, "the program builds a value that is too large");
    return false;
  }

  const J* text(const Node& node, const J& input, J& scratch) {
    // libjq evaluates the parts of a string from the right, like the arguments of an operator.
    std::vector<std::string> parts(node.children.size());
    for (size_t i = parts.size(); i-- > 0;) {
      const J* value = evaluate(node.children[i], input, scratch);
      if (value == nullptr) return nullptr;
      if (value->is_string()) {
        parts[i] = text_of(*value);
      } else {
        append_jq_text(*value, parts[i]);
      }
      if (!spend(parts[i].size())) return nullptr;
    }
    std::string whole;
    for (const std::string& part : parts) whole += part;
    scratch = std::move(whole);
    return &scratch;
  }

  const J* arithmetic(const Node& node, const J& input, J& scratch) {
    // libjq evaluates the arguments of an operator from the right.
    J made;
    const J* right = evaluate(node.children[1], input, made);
    if (right == nullptr) return nullptr;
    const J* left = evaluate(node.children[0], input, scratch);
    if (left == nullptr) return nullptr;
    if (node.kind == Node::Kind::kSubtract) return difference(left, *right, scratch);
    if (right->is_null()) return left;
    if (left->is_null()) {
      if (right != &made) return right;
      scratch = std::move(made);
      return &scratch;
    }
    return sum(left, *right, scratch);
  }

  const J* sum(const J* left, const J& right, J& scratch) {
    if (is_any_number(*left) && is_any_number(right)) {
      return number(number_of(*left) + number_of(right), scratch);
    }
    const bool of_one_kind = (left->is_string() && right.is_string()) ||
                             (left->is_array() && right.is_array()) ||
                             (left->is_object() && right.is_object());
    if (!of_one_kind) return fail_on(*left, right, "cannot be added");
    if (!keep(left, scratch) || !spend(extent(right).bytes)) return nullptr;
    if (right.is_string()) {
      *scratch.template get_ptr<std::string*>() += text_of(right);
    } else if (right.is_array()) {
      scratch.insert(scratch.end(), right.begin(), right.end());
    } else {
      merge(scratch, right);
    }
    return &scratch;
  }

  const J* difference(const J* left, const J& right, J& scratch) {
    if (is_any_number(*left) && is_any_number(right)) {
      return number(number_of(*left) - number_of(right), scratch);
    }
    if (!left->is_array() || !right.is_array()) {
      return fail_on(*left, right, "cannot be subtracted");
    }
    if (!spend(kSearchFactor * (extent(*left).bytes + extent(right).bytes))) return nullptr;
    std::vector<Json> taken(right.begin(), right.end());
    std::sort(taken.begin(), taken.end(), is_before);
    J rest = J::array();
    for (const J& element : *left) {
      const Json& key = element;
      const auto found = std::lower_bound(taken.begin(), taken.end(), key, is_before);
      const bool is_taken = found != taken.end() && compare(*found, key) == 0;
      if (!is_taken) rest.push_back(element);
    }
    scratch = std::move(rest);
    return &scratch;
  }

  const J* comparison(const Node& node, const J& input, J& scratch) {
    J made;
    const J* right = evaluate(node.children[1], input, made);
    if (right == nullptr) return nullptr;
    const J* left = evaluate(node.children[0], input, scratch);
    if (left == nullptr) return nullptr;
    // jq does not compare the contents of a value with itself, so a value equals itself even if
    // there is a NaN in it. (This code does not recognise copies: an array with NaN equals its copy
    // in jq only.)
    const bool is_same = left == right && left->is_structured() && is_equality(node.kind);
    if (!is_same && left->type() == right->type() && !spend(extent(*left).bytes)) return nullptr;
    const int order = is_same ? 0 : compare(*left, *right);
    switch (node.kind) {
      case Node::Kind::kEqual:
        return &boolean<J>(order == 0);
      case Node::Kind::kNotEqual:
        return &boolean<J>(order != 0);
      case Node::Kind::kLess:
        return &boolean<J>(order < 0);
      case Node::Kind::kLessEqual:
        return &boolean<J>(order <= 0);
      case Node::Kind::kGreater:
        return &boolean<J>(order > 0);
      default:
        return &boolean<J>(order >= 0);
    }
  }

  const J* length(const J& input, J& scratch) {
    if (input.is_boolean()) return fail_on(input, "has no length");
    if (is_any_number(input)) return number(std::abs(number_of(input)), scratch);
    size_t length = input.size();  // 0 for null
    if (input.is_string()) {
      const std::string& text = text_of(input);
      if (!spend(text.size())) return nullptr;
      length = static_cast<size_t>(
          std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
    }
    scratch = static_cast<int64_t>(length);
    return &scratch;
  }

  /// Makes a computed number: an integer if jq writes it without an exponent, otherwise a double.
  const J* number(double value, J& scratch) {
    constexpr double kMaxPlainInteger = 1e17;
    if (value == std::trunc(value) && std::abs(value) < kMaxPlainInteger &&
        !(value == 0 && std::signbit(value))) {
      scratch = static_cast<int64_t>(value);
    } else {
      left_json_ = left_json_ || !std::isfinite(value) || value == 0;
      scratch = value;
    }
    return &scratch;
  }

  // Errors. Each of these functions sets error_ and returns null.

  const J* fail(std::string_view code, std::string message) {
    error_ = {std::string(code), std::move(message)};
    return nullptr;
  }

  const J* cannot_index(const J& value, const Step& step) {
    constexpr size_t kMaxShownBytes = 29;
    const auto* key = std::get_if<std::string>(&step.to);
    std::string what = fmt::format("Cannot index {} with {}", kind_name(value),
                                   key == nullptr ? "number" : "string");
    if (key != nullptr && key->size() <= kMaxShownBytes) what += fmt::format(" \"{}\"", *key);
    return fail(kJqBadCommand, std::move(what));
  }

  const J* fail_on(const J& value, std::string_view what) {
    return fail(kJqBadCommand, fmt::format("{} {}", shown(value), what));
  }

  const J* fail_on(const J& left, const J& right, std::string_view what) {
    return fail(kJqBadCommand, fmt::format("{} and {} {}", shown(left), shown(right), what));
  }

  std::string shown(const J& value) {
    const std::string excerpt = jq_excerpt(value);
    shows_order_ = shows_order_ || excerpt.find('{') != std::string::npos;
    return fmt::format("{} ({})", kind_name(value), excerpt);
  }

  static constexpr double kMillisInSecond = 1000;

  const size_t most_;
  const J& instance_;
  const TimePoint now_;
  size_t spent_ = 0;
  bool exceeded_ = false;
  bool shows_order_ = false;
  bool left_json_ = false;
  Error error_;
};

}  // namespace millrace::fast
