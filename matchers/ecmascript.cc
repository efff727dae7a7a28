#include "matchers/ecmascript.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/bytes.h"
#include "matchers/pattern_reader.h"

namespace millrace {
namespace {

using Kind = RegexNode::Kind;

RegexNode make_set(size_t at, CodePoints set) {
  RegexNode node{.kind = Kind::kSet, .at = at};
  node.set = std::move(set);
  return node;
}

RegexNode make_literal(size_t at, char32_t c) { return make_set(at, {{c, c}}); }

RegexNode make_parent(Kind kind, size_t at, RegexNode child) {
  RegexNode node{.kind = kind, .at = at};
  node.children.push_back(std::move(child));
  return node;
}

class Parser {
 public:
  explicit Parser(std::u32string text) : in_(std::move(text)) { find_groups(); }

  Result<Regex> parse() {
    RegexNode root = TRY(disjunction());
    if (!in_.at_end()) {
      return malformed_pattern(in_.at(),
                               "this \")\" has no matching \"(\": write \"\\)\" for the character");
    }
    return Regex{std::move(root), {referenced_.begin(), referenced_.end()}};
  }

 private:
  struct Bounds {
    uint32_t min;
    uint32_t max;
  };

  /// One member of a class, which may stand on either side of a dash.
  struct ClassAtom {
    CodePoints set;
    bool is_character;  // not a set such as `\d`
  };

  /// Counts the groups and collects their names before the pattern is parsed: a number after a
  /// backslash is a back-reference only if the pattern has that many groups, and `\k` is one only
  /// if any group has a name.
  void find_groups() {
    bool in_class = false;
    const std::u32string_view text = in_.text();
    for (size_t i = 0; i < text.size(); ++i) {
      const char32_t c = text[i];
      const std::u32string_view rest = text.substr(i + 1);
      if (c == '\\') {
        ++i;
      } else if (in_class) {
        in_class = c != ']';
      } else if (c == '[') {
        in_class = true;
      } else if (c == '(' && !rest.starts_with(U"?")) {
        ++group_count_;
      } else if (c == '(' && rest.starts_with(U"?<") && !rest.starts_with(U"?<=") &&
                 !rest.starts_with(U"?<!")) {
        ++group_count_;
        const size_t end = rest.find(U'>');
        if (end != std::u32string_view::npos) {
          group_names_.emplace(std::u32string(rest.substr(2, end - 2)), group_count_);
        }
      }
    }
    has_ended_.resize(group_count_ + 1);
  }

  Result<RegexNode> disjunction() {
    const size_t at = in_.at();
    RegexNode first = TRY(alternative());
    if (!in_.next_is(U"|")) return first;
    RegexNode node = make_parent(Kind::kAlternation, at, std::move(first));
    while (in_.accept(U"|")) node.children.push_back(TRY(alternative()));
    return node;
  }

  Result<RegexNode> alternative() {
    RegexNode node{.kind = Kind::kSequence, .at = in_.at()};
    while (!in_.at_end() && !in_.next_is(U"|") && !in_.next_is(U")"))
      node.children.push_back(TRY(term()));
    return node;
  }

  Result<RegexNode> term() {
    const size_t at = in_.at();
    RegexNode atom = TRY(atom_or_assertion());
    // Annex B allows a repetition of a look-ahead, but of no other assertion. After another
    // assertion, the next call of term() reports the quantifier as an error.
    const bool repeatable = atom.kind == Kind::kLook
                                ? !atom.behind
                                : atom.kind != Kind::kStart && atom.kind != Kind::kEnd &&
                                      atom.kind != Kind::kWordBoundary &&
                                      atom.kind != Kind::kNotWordBoundary;
    if (!repeatable) return atom;
    const std::optional<Bounds> bounds = quantifier();
    if (!bounds) return atom;
    if (bounds->min > bounds->max) {
      return malformed_pattern(
          at,
          "the minimum of this repetition is above its maximum: swap the numbers in the braces");
    }
    if (bounds->min > kMaxPatternRepetitions ||
        (bounds->max > kMaxPatternRepetitions && bounds->max != RegexNode::kUnbounded)) {
      return malformed_pattern(
          at, fmt::format(
                  "this is repeated more than {} times: write a smaller number, or no upper limit",
                  kMaxPatternRepetitions));
    }
    RegexNode node = make_parent(Kind::kRepeat, at, std::move(atom));
    node.min = bounds->min;
    node.max = bounds->max;
    node.lazy = in_.accept(U"?");
    return node;
  }

  std::optional<Bounds> quantifier() {
    if (in_.accept(U"*")) return Bounds{0, RegexNode::kUnbounded};
    if (in_.accept(U"+")) return Bounds{1, RegexNode::kUnbounded};
    if (in_.accept(U"?")) return Bounds{0, 1};
    return braces();
  }

  /// Reads `{2}`, `{2,}` or `{2,3}`. Any other brace is a character (Annex B): then nothing is
  /// read.
  std::optional<Bounds> braces() {
    const size_t start = in_.at();
    if (!in_.accept(U"{")) return std::nullopt;
    const std::optional<uint32_t> min = in_.number();
    std::optional<uint32_t> max = min;
    if (min && in_.accept(U",")) max = in_.number().value_or(RegexNode::kUnbounded);
    if (min && in_.accept(U"}")) return Bounds{*min, *max};
    in_.go_back_to(start);
    return std::nullopt;
  }

  Result<RegexNode> atom_or_assertion() {
    const size_t at = in_.at();
    if (in_.next_is(U"*") || in_.next_is(U"+") || in_.next_is(U"?") || braces()) {
      return malformed_pattern(at,
                               "there is nothing to repeat before this: write a backslash "
                               "before it for the character");
    }
    if (in_.next_is(U"(")) return group();
    if (in_.next_is(U"[")) return character_class();
    const char32_t c = in_.take();
    switch (c) {
      case '^':
        return RegexNode{.kind = Kind::kStart, .at = at};
      case '$':
        return RegexNode{.kind = Kind::kEnd, .at = at};
      case '.':
        return make_set(at, complement(line_terminators()));
      case '\\':
        return escape();
      default:
        return make_literal(at, c);
    }
  }

  Result<RegexNode> group() {
    const size_t at = in_.at();
    if (++nesting_ > kMaxPatternNesting) {
      return malformed_pattern(
          at, fmt::format(
                  "groups are nested more than {} deep here: write the pattern with fewer groups",
                  kMaxPatternNesting));
    }
    RegexNode node{.kind = Kind::kGroup, .at = at};
    in_.take();
    if (in_.accept(U"?=")) {
      node.kind = Kind::kLook;
    } else if (in_.accept(U"?!")) {
      node.kind = Kind::kLook;
      node.negative = true;
    } else if (in_.accept(U"?<=")) {
      node.kind = Kind::kLook;
      node.behind = true;
    } else if (in_.accept(U"?<!")) {
      node.kind = Kind::kLook;
      node.behind = node.negative = true;
    } else if (in_.accept(U"?<")) {
      const std::u32string name = TRY(in_.group_name());
      node.group = ++groups_started_;
      if (group_names_.at(name) != node.group) {
        return malformed_pattern(at,
                                 "an earlier group has this name: give each group its own name");
      }
    } else if (!in_.accept(U"?:")) {
      if (in_.next_is(U"?")) {
        return malformed_pattern(at,
                                 "this is not a valid start of a group: write (…), (?:…), "
                                 "(?<name>…), (?=…), (?!…), (?<=…) or (?<!…)");
      }
      node.group = ++groups_started_;
    }
    if (node.behind) ++look_behinds_;
    node.children.push_back(TRY(disjunction()));
    if (!in_.accept(U")")) {
      return malformed_pattern(at,
                               "this group is not closed: add \")\", or write \"\\(\" for the "
                               "character");
    }
    if (node.behind) --look_behinds_;
    --nesting_;
    if (node.group != 0) has_ended_[node.group] = true;
    return node;
  }

  /// Reads an escape outside a class; its backslash has been read.
  Result<RegexNode> escape() {
    const size_t at = in_.at() - 1;
    if (const std::optional<CodePoints> set = in_.set_escape()) return make_set(at, *set);
    if (in_.accept(U"b")) return RegexNode{.kind = Kind::kWordBoundary, .at = at};
    if (in_.accept(U"B")) return RegexNode{.kind = Kind::kNotWordBoundary, .at = at};
    if (in_.next_is(U"k") && !group_names_.empty()) return named_reference(at);
    if (in_.next_is_digit() && in_.peek() != '0') {
      const size_t start = in_.at();
      const uint32_t number = *in_.number();
      if (number <= group_count_) return back_reference(at, number);
      in_.go_back_to(start);
    }
    return make_literal(at, TRY(in_.character_escape(false, !group_names_.empty())));
  }

  Result<RegexNode> named_reference(size_t at) {
    if (!in_.accept(U"k<")) {
      return malformed_pattern(at, "\"\\k\" needs the name of a group: \"\\k<name>\"");
    }
    const auto found = group_names_.find(TRY(in_.group_name()));
    if (found == group_names_.end()) {
      return malformed_pattern(at, "no group has this name: name one with \"(?<name>…)\"");
    }
    return back_reference(at, found->second);
  }

  Result<RegexNode> back_reference(size_t at, uint32_t group) {
    if (look_behinds_ > 0) {
      return malformed_pattern(at,
                               "a back-reference in a look-behind is not supported: write the "
                               "pattern without one of the two");
    }
    if (!has_ended_[group]) return RegexNode{.kind = Kind::kEmpty, .at = at};
    referenced_.insert(group);
    return RegexNode{.kind = Kind::kBackReference, .group = group, .at = at};
  }

  Result<RegexNode> character_class() {
    const size_t at = in_.at();
    in_.take();
    const bool negative = in_.accept(U"^");
    CodePoints ranges;
    const auto add = [&](const CodePoints& set) {
      ranges.insert(ranges.end(), set.begin(), set.end());
    };
    while (!in_.at_end() && !in_.next_is(U"]")) {
      const size_t first_at = in_.at();
      const ClassAtom first = TRY(class_atom());
      if (!in_.next_is(U"-") || in_.next_is(U"-]") || in_.at() + 1 == in_.text().size()) {
        add(first.set);
        continue;
      }
      in_.take();
      const ClassAtom last = TRY(class_atom());
      if (!first.is_character || !last.is_character) {  // Annex B: the dash means itself
        add(first.set);
        add(last.set);
        ranges.push_back({'-', '-'});
      } else if (first.set[0].first > last.set[0].first) {
        return malformed_pattern(first_at,
                                 "this range runs backwards: swap its ends, or write "
                                 "\"\\-\" for a dash");
      } else {
        ranges.push_back({first.set[0].first, last.set[0].first});
      }
    }
    if (!in_.accept(U"]")) {
      return malformed_pattern(at,
                               "this class is not closed: add \"]\", or write \"\\[\" for the "
                               "character");
    }
    CodePoints set = normalised(std::move(ranges));
    return make_set(at, negative ? complement(set) : std::move(set));
  }

  Result<ClassAtom> class_atom() {
    if (!in_.accept(U"\\")) {
      const char32_t c = in_.take();
      return ClassAtom{{{c, c}}, true};
    }
    if (std::optional<CodePoints> set = in_.set_escape()) return ClassAtom{std::move(*set), false};
    const char32_t c =
        in_.accept(U"b") ? U'\b' : TRY(in_.character_escape(true, !group_names_.empty()));
    return ClassAtom{{{c, c}}, true};
  }

  PatternReader in_;
  size_t nesting_ = 0;
  size_t look_behinds_ = 0;  // the number of look-behinds around the current position
  uint32_t group_count_ = 0;
  uint32_t groups_started_ = 0;
  std::map<std::u32string, uint32_t> group_names_;
  std::vector<bool> has_ended_;
  std::set<uint32_t> referenced_;
};

}  // namespace

Result<Regex> parse_ecmascript(std::string_view pattern) {
  if (!is_utf8(pattern)) {
    return fail("pattern.malformed", "the pattern is not well-formed UTF-8: encode it as UTF-8");
  }
  if (pattern.size() > kMaxPatternSize) {
    return fail(
        "pattern.malformed",
        fmt::format("the pattern has {} bytes, at most {} are allowed: write a shorter one, or "
                    "compare for equality",
                    pattern.size(), kMaxPatternSize));
  }
  return Parser(decode_utf8(pattern)).parse();
}

}  // namespace millrace
