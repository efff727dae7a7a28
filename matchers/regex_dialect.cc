#include "matchers/regex_dialect.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "matchers/pattern_reader.h"

namespace millrace {
namespace {

using Kind = RegexNode::Kind;

bool contains_kind(const RegexNode& node, Kind kind) {
  return node.kind == kind ||
         std::any_of(node.children.begin(), node.children.end(),
                     [&](const RegexNode& child) { return contains_kind(child, kind); });
}

/// Whether every match must begin at the start of the text.
bool is_anchored(const RegexNode& node) {
  switch (node.kind) {
    case Kind::kStart:
      return true;
    case Kind::kSequence:
      return !node.children.empty() && is_anchored(node.children.front());
    case Kind::kAlternation:
      return std::all_of(node.children.begin(), node.children.end(), is_anchored);
    case Kind::kGroup:
      return is_anchored(node.children.front());
    case Kind::kRepeat:
      return node.min > 0 && is_anchored(node.children.front());
    default:
      return false;
  }
}

/// The number of code points of every match; nullopt if matches may differ in length.
std::optional<uint64_t> fixed_length(const RegexNode& node) {
  switch (node.kind) {
    case Kind::kSet:
      return 1;
    case Kind::kSequence: {
      uint64_t sum = 0;
      for (const RegexNode& child : node.children) {
        const std::optional<uint64_t> length = fixed_length(child);
        if (!length) return std::nullopt;
        sum += *length;
      }
      return sum;
    }
    case Kind::kAlternation: {
      const std::optional<uint64_t> length = fixed_length(node.children.front());
      for (const RegexNode& child : node.children) {
        if (fixed_length(child) != length) return std::nullopt;
      }
      return length;
    }
    case Kind::kRepeat: {
      const std::optional<uint64_t> length = fixed_length(node.children.front());
      if (!length || node.min != node.max) return std::nullopt;
      return *length * node.min;
    }
    case Kind::kGroup:
      return fixed_length(node.children.front());
    case Kind::kBackReference:
      return std::nullopt;
    default:
      return 0;
  }
}

/// Finds parts of a pattern that PCRE2 cannot run with JavaScript's meaning.
class FaithCheck {
 public:
  explicit FaithCheck(const Regex& regex) : regex_(regex) {}

  Status check(const RegexNode& node) {
    if (Status own = check_alone(node); !own) return own;
    path_.push_back(&node);
    for (const RegexNode& child : node.children) {
      if (Status below = check(child); !below) return below;
    }
    path_.pop_back();
    return {};
  }

 private:
  Status check_alone(const RegexNode& node) const {
    if (node.kind == Kind::kLook && node.behind) return check_look_behind(node);
    if (node.kind == Kind::kGroup) return check_group(node);
    return {};
  }

  /// PCRE2 needs a look-behind of fixed length; only its outermost alternatives may differ in
  /// length.
  static Status check_look_behind(const RegexNode& look) {
    const RegexNode& body = look.children.front();
    const bool is_fixed =
        body.kind == Kind::kAlternation
            ? std::all_of(body.children.begin(), body.children.end(),
                          [](const RegexNode& child) { return fixed_length(child).has_value(); })
            : fixed_length(body).has_value();
    if (is_fixed) return {};
    return malformed_pattern(look.at,
                             "this look-behind has no fixed length, which is not supported: write "
                             "each length as an alternative of its own, as in (?<=a|bc)");
  }

  /// JavaScript clears a group at each iteration of a repetition around it, and undoes an iteration
  /// that matched the empty text; PCRE2 does neither. JavaScript and PCRE2 agree if each iteration
  /// sets the group again and matches at least one character.
  Status check_group(const RegexNode& group) const {
    if (!std::binary_search(regex_.referenced.begin(), regex_.referenced.end(), group.group)) {
      return {};
    }
    bool may_be_skipped = false;
    for (auto at = path_.rbegin(); at != path_.rend(); ++at) {
      const RegexNode& node = **at;
      if (node.kind == Kind::kAlternation) may_be_skipped = true;
      if (node.kind == Kind::kLook && node.negative) may_be_skipped = true;
      if (node.kind != Kind::kRepeat) continue;
      if ((node.max > 1 && may_be_skipped) ||
          (node.max > node.min && matches_empty(node.children.front(), true))) {
        return malformed_pattern(group.at,
                                 "a back-reference names this group, and a repetition around it "
                                 "may skip the group or match the empty text, which is not "
                                 "supported: write the pattern without the back-reference");
      }
      if (node.min == 0) may_be_skipped = true;
    }
    return {};
  }

  const Regex& regex_;
  std::vector<const RegexNode*> path_;  // the nodes from the root to the checked node
};

class Writer {
 public:
  explicit Writer(const Regex& regex) : regex_(regex) {}

  /// The pattern with its own search: `\A`, as few characters as possible, then the pattern. An
  /// anchored pattern needs no search.
  std::string write_with_search() {
    text_ = is_anchored(regex_.root) ? "(?:" : "\\A(?s:.)*?(?:";
    write(regex_.root);
    return text_ + ")";
  }

  std::string write_bare() {
    write(regex_.root);
    return text_;
  }

 private:
  void write(const RegexNode& node) {
    switch (node.kind) {
      case Kind::kEmpty:
        text_ += "(?:)";
        break;
      case Kind::kSet:
        write_set(node.set);
        break;
      case Kind::kStart:
        text_ += "\\A";
        break;
      case Kind::kEnd:
        text_ += "\\z";
        break;
      case Kind::kWordBoundary:
        text_ += "\\b";
        break;
      case Kind::kNotWordBoundary:
        text_ += "\\B";
        break;
      case Kind::kSequence:
        for (const RegexNode& child : node.children) write(child);
        break;
      case Kind::kAlternation:
        for (const RegexNode& child : node.children) {
          if (&child != &node.children.front()) text_ += '|';
          write(child);
        }
        break;
      case Kind::kRepeat:
        write(node.children.front());
        write_quantifier(node);
        break;
      case Kind::kGroup:
        write_brackets(captured_as(node.group) != 0 ? "(" : "(?:", node);
        break;
      case Kind::kLook:
        if (node.behind) {
          write_brackets(node.negative ? "(?<!" : "(?<=", node);
        } else {
          write_brackets(node.negative ? "(?!" : "(?=", node);
        }
        break;
      case Kind::kBackReference:
        text_ += fmt::format("\\g{{{}}}", captured_as(node.group));
        break;
    }
  }

  void write_brackets(std::string_view opening, const RegexNode& node) {
    text_ += opening;
    write(node.children.front());
    text_ += ')';
  }

  /// The number under which a group is captured; 0: it is not captured. Only groups that a
  /// back-reference names are captured, so these numbers differ from those in the pattern.
  size_t captured_as(uint32_t group) const {
    const auto found = std::lower_bound(regex_.referenced.begin(), regex_.referenced.end(), group);
    if (found == regex_.referenced.end() || *found != group) return 0;
    return static_cast<size_t>(found - regex_.referenced.begin()) + 1;
  }

  void write_quantifier(const RegexNode& node) {
    if (node.max != RegexNode::kUnbounded) {
      text_ += fmt::format("{{{},{}}}", node.min, node.max);
    } else if (node.min <= 1) {
      text_ += node.min == 0 ? '*' : '+';
    } else {
      text_ += fmt::format("{{{},}}", node.min);
    }
    if (node.lazy) text_ += '?';
  }

  void write_set(const CodePoints& set) {
    if (set.empty()) {
      text_ += "[^\\x{0}-\\x{10ffff}]";
    } else if (set.size() == 1 && set[0].first == set[0].last) {
      write_character(set[0].first);
    } else if (complement(set).empty()) {
      text_ += "(?s:.)";
    } else {
      text_ += '[';
      for (const CodePointRange& range : set) {
        write_character(range.first);
        if (range.last == range.first) continue;
        text_ += '-';
        write_character(range.last);
      }
      text_ += ']';
    }
  }

  void write_character(char32_t c) {
    const bool is_plain =
        (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (is_plain) {
      text_ += static_cast<char>(c);
    } else {
      text_ += fmt::format("\\x{{{:x}}}", static_cast<uint32_t>(c));
    }
  }

  const Regex& regex_;
  std::string text_;
};

}  // namespace

bool needs_backtracking(const Regex& regex) {
  return !regex.referenced.empty() || contains_kind(regex.root, Kind::kLook);
}

bool matches_empty(const RegexNode& node, bool assertions) {
  const auto child_does = [&](const RegexNode& child) { return matches_empty(child, assertions); };
  switch (node.kind) {
    case Kind::kEmpty:
      return true;
    case Kind::kSet:
      return false;
    case Kind::kSequence:
      return std::all_of(node.children.begin(), node.children.end(), child_does);
    case Kind::kAlternation:
      return std::any_of(node.children.begin(), node.children.end(), child_does);
    case Kind::kRepeat:
      return node.min == 0 || child_does(node.children.front());
    case Kind::kGroup:
      return child_does(node.children.front());
    default:
      return assertions;
  }
}

std::string write_re2(const Regex& regex) {
  // RE2's search tries every byte, and `\B` holds between the bytes of one character. So a pattern
  // with `\B` does its own search, by characters.
  const bool searches_itself = contains_kind(regex.root, Kind::kNotWordBoundary);
  Writer writer(regex);
  return searches_itself ? writer.write_with_search() : writer.write_bare();
}

Result<std::string> write_pcre2(const Regex& regex) {
  if (Status faithful = FaithCheck(regex).check(regex.root); !faithful) {
    return tl::unexpected(faithful.error());
  }
  return Writer(regex).write_with_search();
}

}  // namespace millrace
