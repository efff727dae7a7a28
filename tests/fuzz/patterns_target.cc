// Patterns: the first line is an ECMAScript regular expression, the rest a value. The engine that
// runs the pattern gives the answer of a backtracking search over the parsed tree, which follows
// ECMA-262 step by step, wherever that search ends within its limits.
// Covers: matchers/pattern.cc matchers/ecmascript.cc matchers/pattern_reader.cc
// Covers: matchers/regex_dialect.cc matchers/code_points.cc matchers/match_budget.cc
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "matchers/code_points.h"
#include "matchers/ecmascript.h"
#include "matchers/match_budget.h"
#include "matchers/pattern.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

constexpr size_t kMostPatternBytes = 200;
constexpr size_t kMostValueBytes = 80;

bool is_in_set(const CodePoints& set, char32_t c) {
  return std::any_of(set.begin(), set.end(),
                     [c](const CodePointRange& one) { return one.first <= c && c <= one.last; });
}

bool is_word_character(char32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/// Searches for a pattern in a value, as ECMA-262 section 22.2.2 describes it: each node gets a
/// place and what follows it, and goes forward, or backward within a look-behind.
class TreeSearch {
 public:
  explicit TreeSearch(std::u32string value) : value_(std::move(value)) {}

  /// Whether the pattern matches somewhere; nullopt: the search would take too long.
  std::optional<bool> search(const RegexNode& root) {
    for (size_t at = 0; at <= value_.size(); ++at) {
      captures_.clear();
      const bool found = run(root, at, false, [](size_t) { return true; });
      if (gave_up_) return std::nullopt;
      if (found) return true;
    }
    return false;
  }

 private:
  using Next = std::function<bool(size_t at)>;
  using Captures = std::map<uint32_t, std::pair<size_t, size_t>>;

  static constexpr size_t kMostSteps = 20'000;
  static constexpr size_t kDeepest = 500;

  bool run(const RegexNode& node, size_t at, bool backward, const Next& next) {
    if (gave_up_ || ++steps_ > kMostSteps || depth_ >= kDeepest) {
      gave_up_ = true;
      return false;
    }
    ++depth_;
    const bool found = run_node(node, at, backward, next);
    --depth_;
    return found;
  }

  bool run_node(const RegexNode& node, size_t at, bool backward, const Next& next) {
    switch (node.kind) {
      case RegexNode::Kind::kEmpty:
        return next(at);
      case RegexNode::Kind::kSet: {
        if (at == (backward ? 0 : value_.size())) return false;
        const size_t taken = backward ? at - 1 : at;
        return is_in_set(node.set, value_[taken]) && next(backward ? at - 1 : at + 1);
      }
      case RegexNode::Kind::kStart:
        return at == 0 && next(at);
      case RegexNode::Kind::kEnd:
        return at == value_.size() && next(at);
      case RegexNode::Kind::kWordBoundary:
        return is_boundary(at) && next(at);
      case RegexNode::Kind::kNotWordBoundary:
        return !is_boundary(at) && next(at);
      case RegexNode::Kind::kSequence:
        return run_sequence(node, 0, at, backward, next);
      case RegexNode::Kind::kAlternation:
        return std::any_of(node.children.begin(), node.children.end(),
                           [&](const RegexNode& one) { return run(one, at, backward, next); });
      case RegexNode::Kind::kRepeat:
        return run_repeat(node, 0, at, backward, next);
      case RegexNode::Kind::kGroup:
        return run(node.children.front(), at, backward, [&](size_t end) {
          if (node.group == 0) return next(end);
          const Captures before = captures_;
          captures_[node.group] = {std::min(at, end), std::max(at, end)};
          if (next(end)) return true;
          captures_ = before;
          return false;
        });
      case RegexNode::Kind::kLook:
        return run_look(node, at, next);
      case RegexNode::Kind::kBackReference:
        return run_reference(node, at, backward, next);
    }
    return false;
  }

  bool is_boundary(size_t at) const {
    const bool before = at > 0 && is_word_character(value_[at - 1]);
    const bool behind = at < value_.size() && is_word_character(value_[at]);
    return before != behind;
  }

  bool run_sequence(const RegexNode& node, size_t done, size_t at, bool backward,
                    const Next& next) {
    if (done == node.children.size()) return next(at);
    const size_t which = backward ? node.children.size() - 1 - done : done;
    return run(node.children[which], at, backward,
               [&](size_t end) { return run_sequence(node, done + 1, end, backward, next); });
  }

  bool run_repeat(const RegexNode& node, uint32_t done, size_t at, bool backward,
                  const Next& next) {
    const auto once_more = [&] {
      const Captures before = captures_;
      forget_groups_in(node.children.front());
      const bool found = run(node.children.front(), at, backward, [&](size_t end) {
        // An iteration that is not required must not match the empty text.
        if (end == at && done >= node.min) return false;
        return run_repeat(node, done + 1, end, backward, next);
      });
      if (!found) captures_ = before;
      return found;
    };
    if (done >= node.max) return next(at);
    if (done < node.min) return once_more();
    return node.lazy ? next(at) || once_more() : once_more() || next(at);
  }

  bool run_look(const RegexNode& node, size_t at, const Next& next) {
    const Captures before = captures_;
    const bool found = run(node.children.front(), at, node.behind, [](size_t) { return true; });
    if (node.negative) captures_ = before;
    if (gave_up_ || found == node.negative) {
      captures_ = before;
      return false;
    }
    if (next(at)) return true;
    captures_ = before;
    return false;
  }

  bool run_reference(const RegexNode& node, size_t at, bool backward, const Next& next) {
    const auto found = captures_.find(node.group);
    if (found == captures_.end()) return next(at);
    const std::u32string_view text = std::u32string_view(value_).substr(
        found->second.first, found->second.second - found->second.first);
    if (text.size() > (backward ? at : value_.size() - at)) return false;
    const size_t begin = backward ? at - text.size() : at;
    if (std::u32string_view(value_).substr(begin, text.size()) != text) return false;
    return next(backward ? begin : begin + text.size());
  }

  void forget_groups_in(const RegexNode& node) {
    if (node.kind == RegexNode::Kind::kGroup) captures_.erase(node.group);
    for (const RegexNode& child : node.children) forget_groups_in(child);
  }

  std::u32string value_;
  Captures captures_;
  size_t steps_ = 0;
  size_t depth_ = 0;
  bool gave_up_ = false;
};

void check_quoted(std::string_view value) {
  const auto exact = Pattern::compile("^" + quote_pattern(value) + "$");
  CHECK(exact, "a quoted text is not a pattern: {}", exact.error().message);
  CHECK((*exact)->matches(value), "a quoted text does not match itself: {}", excerpt(value));
  CHECK(!(*exact)->matches(std::string(value) + "a"), "a quoted text matches more: {}",
        excerpt(value));
}

}  // namespace

FUZZ_TARGET(patterns) {
  const auto [text, value] = first_line_and_rest(bytes);
  if (text.size() > kMostPatternBytes || value.size() > kMostValueBytes) return;
  const Result<Regex> regex = parse_ecmascript(text);
  const auto pattern = Pattern::compile(text);
  CHECK(regex || !pattern, "a pattern compiles that does not parse: {}", excerpt(text));
  if (!pattern) {
    check_shown_error(pattern.error());
    CHECK(pattern.error().code == "pattern.malformed", "{}", pattern.error().code);
    return;
  }
  if (!is_utf8(value)) return;
  check_quoted(value);
  const Pattern::Answer answer = (*pattern)->match(value);
  MatchBudget budget = MatchBudget::unlimited();
  uint64_t over_limit = 0;
  const Decision decision = decide(**pattern, value, budget, over_limit);
  CHECK(decision == (answer == Pattern::Answer::kYes ? Decision::kYes : Decision::kNo),
        "{} is decided otherwise within a budget", excerpt(text));
  if (answer == Pattern::Answer::kOverLimit) return;
  const std::optional<bool> expected = TreeSearch(decode_utf8(value)).search(regex->root);
  if (!expected) return;
  CHECK(*expected == (answer == Pattern::Answer::kYes), "{} on {}: {} is wrong", excerpt(text, 200),
        excerpt(value), !*expected);
}

}  // namespace millrace::fuzz
