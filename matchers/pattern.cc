#include "matchers/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pcre2.h>
#include <re2/re2.h>

#include "base/byte_set.h"
#include "base/check.h"
#include "base/excerpt.h"
#include "matchers/ecmascript.h"
#include "matchers/regex_dialect.h"

namespace millrace {
namespace {

/// The memory of one RE2 object for its program and its automaton's cache, in bytes.
constexpr int64_t kRe2Memory = 1 << 20;

/// The memory of PCRE2's backtracking frames in one match, in KiB.
constexpr uint32_t kHeapLimit = 16 * 1024;

/// Characters that mean themselves in a pattern (kPlain), and those that do so after a backslash
/// (kMarks).
constexpr ByteSet kPlain = kAsciiLettersAndDigits.with(" !\"#%&',-/:;<=>@_`~");
constexpr ByteSet kMarks("^$\\.*+?()[]{}|/-");

struct Shape {
  Pattern::Kind kind;
  std::string literal;
};

/// Collects the nodes that must match one after the other, including those in groups and nested
/// sequences.
void flatten(const RegexNode& node, std::vector<const RegexNode*>& items) {
  if (node.kind == RegexNode::Kind::kSequence || node.kind == RegexNode::Kind::kGroup) {
    for (const RegexNode& child : node.children) flatten(child, items);
  } else if (node.kind != RegexNode::Kind::kEmpty) {
    items.push_back(&node);
  }
}

/// Whether the node is `[^]*`, which matches any text.
bool is_anything(const RegexNode& node) {
  return node.kind == RegexNode::Kind::kRepeat && node.min == 0 &&
         node.max == RegexNode::kUnbounded && node.children.front().kind == RegexNode::Kind::kSet &&
         complement(node.children.front().set).empty();
}

/// The shape of a pattern that is plain text, with or without `^` and `$`; nullopt for any other
/// pattern. At an end without an anchor, parts that may match the empty text are dropped, since a
/// search never needs them.
std::optional<Shape> plain_shape(const Regex& regex) {
  if (!regex.referenced.empty()) return std::nullopt;
  std::vector<const RegexNode*> items;
  flatten(regex.root, items);
  auto begin = items.begin();
  auto end = items.end();
  bool from_start = false;
  bool to_end = false;
  for (; begin != end && (*begin)->kind == RegexNode::Kind::kStart; ++begin) from_start = true;
  for (; begin != end && end[-1]->kind == RegexNode::Kind::kEnd; --end) to_end = true;
  if (from_start && begin != end && is_anything(**begin)) {
    from_start = false;
    ++begin;
  }
  if (to_end && begin != end && is_anything(*end[-1])) {
    to_end = false;
    --end;
  }
  if (!from_start) {
    while (begin != end && matches_empty(**begin, false)) ++begin;
  }
  if (!to_end) {
    while (begin != end && matches_empty(*end[-1], false)) --end;
  }

  Shape shape{Pattern::Kind::kAny, {}};
  for (; begin != end; ++begin) {
    const RegexNode& node = **begin;
    const bool is_literal = node.kind == RegexNode::Kind::kSet && node.set.size() == 1 &&
                            node.set[0].first == node.set[0].last;
    if (!is_literal) return std::nullopt;
    append_utf8(node.set[0].first, shape.literal);
  }
  if (from_start && to_end) {
    shape.kind = Pattern::Kind::kEquals;
  } else if (!shape.literal.empty()) {
    shape.kind = from_start ? Pattern::Kind::kPrefix
                 : to_end   ? Pattern::Kind::kSuffix
                            : Pattern::Kind::kContains;
  }
  return shape;
}

/// Finds the shape of a plain text pattern without a syntax tree, for the form that most patterns
/// have after results of `jq(…)` were quoted into them: ASCII text with escaped marks, parts of it
/// in `(?:…)`, `^` and `$` around it. nullopt if the pattern does not have this form.
std::optional<Shape> shape_at_sight(std::string_view pattern) {
  if (pattern.size() > kMaxPatternSize) return std::nullopt;
  const bool from_start = pattern.starts_with('^');
  bool to_end = false;
  bool in_brackets = false;
  Shape shape{Pattern::Kind::kContains, {}};
  for (size_t at = from_start ? 1 : 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    const bool is_last = at + 1 == pattern.size();
    if (kPlain.has(c)) {
      shape.literal += c;
    } else if (c == '\\' && !is_last && kMarks.has(pattern[at + 1])) {
      shape.literal += pattern[++at];
    } else if (!in_brackets && pattern.substr(at).starts_with("(?:")) {
      in_brackets = true;
      at += 2;
    } else if (in_brackets && c == ')') {
      in_brackets = false;
    } else if (!in_brackets && c == '$' && is_last) {
      to_end = true;
    } else {
      return std::nullopt;
    }
  }
  if (in_brackets || shape.literal.empty()) return std::nullopt;
  if (from_start) shape.kind = to_end ? Pattern::Kind::kEquals : Pattern::Kind::kPrefix;
  if (!from_start && to_end) shape.kind = Pattern::Kind::kSuffix;
  return shape;
}

/// The limit of steps for a value of that size.
uint32_t limit_of(size_t size, uint32_t steps) {
  if (size <= Pattern::kFullSize) return steps;
  return std::max(uint32_t{1}, static_cast<uint32_t>(steps * Pattern::kFullSize / size));
}

/// The pattern as messages show it: cut after its first 60 characters, on one line. A pattern that
/// is not UTF-8 may have longer parts without the first byte of a character.
std::string shown(std::string_view pattern) {
  constexpr size_t kMostBytes = 60 * 4;
  size_t characters = 0;
  size_t size = 0;
  for (; size < pattern.size() && size < kMostBytes; ++size) {
    const bool begins_one = (static_cast<unsigned char>(pattern[size]) & 0xc0) != 0x80;
    if (begins_one && ++characters > 60) break;
  }
  return fmt::format("pattern \"{}{}\"", excerpt(pattern.substr(0, size), size),
                     size < pattern.size() ? "…" : "");
}

}  // namespace

class Pattern::Linear {
 public:
  explicit Linear(const std::string& text) : re2_(text, options()) {}

  bool ok() const { return re2_.ok(); }
  const std::string& text() const { return re2_.pattern(); }
  bool matches(std::string_view value) const {
    return re2_.Match({value.data(), value.size()}, 0, value.size(), RE2::UNANCHORED, nullptr, 0);
  }

 private:
  static RE2::Options options() {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_never_capture(true);
    options.set_max_mem(kRe2Memory);
    return options;
  }

  const RE2 re2_;
};

class Pattern::Backtracking {
 public:
  explicit Backtracking(const std::string& text) {
    int error = 0;
    size_t at = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                              PCRE2_UTF | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C,
                              &error, &at, nullptr));
  }

  bool ok() const { return code_ != nullptr; }

  Answer match(std::string_view value, uint32_t steps) const {
    const std::unique_ptr<pcre2_match_data, Free> data(pcre2_match_data_create(1, nullptr));
    CHECK(data != nullptr);
    const int rc = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(value.data()),
                               value.size(), 0, PCRE2_ANCHORED, data.get(), context_of(steps));
    if (rc >= 0) return Answer::kYes;
    switch (rc) {
      case PCRE2_ERROR_MATCHLIMIT:
      case PCRE2_ERROR_DEPTHLIMIT:
      case PCRE2_ERROR_HEAPLIMIT:
        return Answer::kOverLimit;
      default:
        return Answer::kNo;
    }
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };

  /// The context of this thread, with that limit.
  static pcre2_match_context* context_of(uint32_t steps) {
    thread_local const std::unique_ptr<pcre2_match_context, Free> context = [] {
      std::unique_ptr<pcre2_match_context, Free> made(pcre2_match_context_create(nullptr));
      CHECK(made != nullptr);
      pcre2_set_heap_limit(made.get(), kHeapLimit);
      return made;
    }();
    pcre2_set_match_limit(context.get(), steps);
    pcre2_set_depth_limit(context.get(), steps);
    return context.get();
  }

  std::unique_ptr<pcre2_code, Free> code_;
};

Pattern::Pattern(Kind kind, std::string literal) : kind_(kind), literal_(std::move(literal)) {}

Pattern::~Pattern() = default;

Result<std::shared_ptr<const Pattern>> Pattern::compile(std::string_view ecmascript) {
  if (std::optional<Shape> shape = shape_at_sight(ecmascript)) {
    return std::shared_ptr<const Pattern>(new Pattern(shape->kind, std::move(shape->literal)));
  }
  const Result<Regex> regex = parse_ecmascript(ecmascript);
  if (!regex) return fail_in(shown(ecmascript), regex.error());
  if (std::optional<Shape> shape = plain_shape(*regex)) {
    return std::shared_ptr<const Pattern>(new Pattern(shape->kind, std::move(shape->literal)));
  }
  if (!needs_backtracking(*regex)) {
    auto linear = std::make_unique<const Linear>(write_re2(*regex));
    if (linear->ok()) {
      std::shared_ptr<Pattern> pattern(new Pattern(Kind::kLinear, {}));
      pattern->linear_ = std::move(linear);
      return pattern;
    }
  }
  const Result<std::string> text = write_pcre2(*regex);
  if (!text) return fail_in(shown(ecmascript), text.error());
  auto backtracking = std::make_unique<const Backtracking>(*text);
  if (!backtracking->ok()) {
    return fail("pattern.malformed", shown(ecmascript) +
                                         ": it is too large when its repetitions are expanded: "
                                         "write smaller numbers in its braces");
  }
  std::shared_ptr<Pattern> pattern(new Pattern(Kind::kBacktracking, {}));
  pattern->backtracking_ = std::move(backtracking);
  return pattern;
}

const std::string& Pattern::re2() const { return linear_->text(); }

Pattern::Answer Pattern::match(std::string_view value, uint32_t steps) const {
  const auto answer = [](bool yes) { return yes ? Answer::kYes : Answer::kNo; };
  switch (kind_) {
    case Kind::kAny:
      return Answer::kYes;
    case Kind::kEquals:
      return answer(value == literal_);
    case Kind::kPrefix:
      return answer(value.starts_with(literal_));
    case Kind::kSuffix:
      return answer(value.ends_with(literal_));
    case Kind::kContains:
      return answer(value.find(literal_) != std::string_view::npos);
    case Kind::kLinear:
      return answer(linear_->matches(value));
    case Kind::kBacktracking:
      return backtracking_->match(value, limit_of(value.size(), steps));
  }
  CHECK(false, "a pattern has the unknown kind {}", static_cast<int>(kind_));
}

std::string quote_pattern(std::string_view literal) {
  std::string pattern = "(?:";
  for (const char c : literal) {
    if (std::string_view("^$\\.*+?()[]{}|/-").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + ")";
}

}  // namespace millrace
