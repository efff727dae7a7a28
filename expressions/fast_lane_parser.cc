#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/bytes.h"
#include "base/characters.h"
#include "expressions/fast_lane_node.h"
#include "expressions/fast_lane_order.h"
#include "expressions/instance_name.h"
#include "expressions/jq_syntax.h"

namespace millrace::fast {
namespace {

constexpr int kMaxNesting = 64;
/// The most levels of nesting that a jq program may add to its input. jq does not write values that
/// are nested more than 256 deep.
constexpr int kMaxConstructions = 100;
constexpr size_t kMaxDigits = 15;  // a double represents every integer with this many digits

/// Words that jq's lexer does not read as a name.
bool is_keyword(std::string_view word) {
  for (const std::string_view keyword :
       {"as", "import", "include", "module", "def", "if", "then", "else", "elif", "and", "or",
        "end", "reduce", "foreach", "try", "catch", "label", "__loc__"}) {
    if (word == keyword) return true;
  }
  return false;
}

Node join(Node::Kind kind, Node left, Node right) {
  Node node{.kind = kind};
  node.children.push_back(std::move(left));
  node.children.push_back(std::move(right));
  return node;
}

Node constant(Json value) {
  return Node{.kind = Node::Kind::kConstant, .constant = std::move(value)};
}

/// A recursive descent parser for jq 1.6's grammar. A rule returns nullopt for code that the fast
/// lane does not run. The nullopt ends the parse, so no rule has to restore the position.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<Node> program() {
    std::optional<Node> node = pipe();
    skip_space();
    if (at_ != text_.size()) return std::nullopt;
    return node;
  }

  /// Whether the jq program, after program() has read it, names `$instance`.
  bool names_instance() const { return names_instance_; }
  /// Whether the jq program, after program() has read it, names `now`.
  bool names_now() const { return names_now_; }

 private:
  std::optional<Node> pipe() {
    std::optional<Node> left = alternative();
    if (!left || !take_operator("|")) return left;
    if (++nesting_ > kMaxNesting) return std::nullopt;
    std::optional<Node> right = pipe();
    if (!right) return std::nullopt;
    --nesting_;
    return join(Node::Kind::kPipe, *std::move(left), *std::move(right));
  }

  std::optional<Node> alternative() {
    std::optional<Node> left = disjunction();
    if (!left || !take_operator("//")) return left;
    if (++nesting_ > kMaxNesting) return std::nullopt;
    std::optional<Node> right = alternative();
    if (!right) return std::nullopt;
    --nesting_;
    return join(Node::Kind::kAlternative, *std::move(left), *std::move(right));
  }

  std::optional<Node> disjunction() {
    std::optional<Node> left = conjunction();
    while (left && take_word("or")) {
      std::optional<Node> right = conjunction();
      if (!right) return std::nullopt;
      left = join(Node::Kind::kOr, *std::move(left), *std::move(right));
    }
    return left;
  }

  std::optional<Node> conjunction() {
    std::optional<Node> left = comparison();
    while (left && take_word("and")) {
      std::optional<Node> right = comparison();
      if (!right) return std::nullopt;
      left = join(Node::Kind::kAnd, *std::move(left), *std::move(right));
    }
    return left;
  }

  std::optional<Node> comparison() {
    constexpr std::pair<std::string_view, Node::Kind> kOperators[] = {
        {"==", Node::Kind::kEqual},     {"!=", Node::Kind::kNotEqual},
        {"<=", Node::Kind::kLessEqual}, {">=", Node::Kind::kGreaterEqual},
        {"<", Node::Kind::kLess},       {">", Node::Kind::kGreater}};
    std::optional<Node> left = sum();
    if (!left) return std::nullopt;
    for (const auto& [text, kind] : kOperators) {
      if (!take_operator(text)) continue;
      std::optional<Node> right = sum();
      if (!right) return std::nullopt;
      // A second such operator is a syntax error.
      return join(kind, *std::move(left), *std::move(right));
    }
    return left;
  }

  std::optional<Node> sum() {
    std::optional<Node> left = operand();
    for (int terms = 1; left; ++terms) {
      const bool adds = take_operator("+");
      if (!adds && !take_operator("-")) break;
      std::optional<Node> right = operand();
      if (!right || terms == kMaxNesting) return std::nullopt;
      left = join(adds ? Node::Kind::kAdd : Node::Kind::kSubtract, *std::move(left),
                  *std::move(right));
    }
    return left;
  }

  /// Reads a term, with or without a minus before it; that minus binds like the operator between
  /// two terms.
  std::optional<Node> operand() {
    if (!take('-')) return term();
    if (++nesting_ > kMaxNesting) return std::nullopt;
    std::optional<Node> inner = operand();
    if (!inner) return std::nullopt;
    --nesting_;
    Node node{.kind = Node::Kind::kNegate};
    node.children.push_back(*std::move(inner));
    return node;
  }

  std::optional<Node> term() {
    skip_space();
    const char c = peek();
    if (is_digit(c)) return number();
    if (begins_name(c)) return word();
    if (++nesting_ > kMaxNesting) return std::nullopt;
    std::optional<Node> node;
    if (c == '"') {
      node = text();
    } else if (c == '.') {
      node = path();
    } else if (c == '$') {
      node = instance();
      if (node) node = suffixed(*std::move(node));
    } else if (c == '(' || c == '[' || c == '{') {
      ++at_;
      node = c == '(' ? group() : c == '[' ? array() : object();
      if (node) node = suffixed(*std::move(node));
    }
    --nesting_;
    return node;
  }

  std::optional<Node> word() {
    const std::string_view name = take_name();
    if (name == "null") return constant(nullptr);
    if (name == "true") return constant(true);
    if (name == "false") return constant(false);
    if (name == "not") return Node{.kind = Node::Kind::kNot};
    if (name == "length") return Node{.kind = Node::Kind::kLength};
    if (name == "now") {
      names_now_ = true;
      return Node{.kind = Node::Kind::kNow};
    }
    return std::nullopt;
  }

  /// Reads `$instance`. The fast lane runs no program that binds a variable, so the name is that of
  /// the value that millrace binds.
  std::optional<Node> instance() {
    ++at_;
    if (take_name() != kInstanceVariable) return std::nullopt;
    names_instance_ = true;
    return Node{.kind = Node::Kind::kInstance};
  }

  std::optional<Node> group() {
    std::optional<Node> inner = pipe();
    if (!inner || !take(')')) return std::nullopt;
    return inner;
  }

  std::optional<Node> array() {
    Node node{.kind = Node::Kind::kArray};
    if (++constructions_ > kMaxConstructions) return std::nullopt;
    if (take(']')) return node;
    do {
      std::optional<Node> element = alternative();
      if (!element) return std::nullopt;
      node.children.push_back(*std::move(element));
    } while (take(','));
    // After several elements a `|` is not supported: `[a, b | c]` means `[(a, b) | c]`.
    if (node.children.size() == 1 && take_operator("|")) {
      std::optional<Node> rest = pipe();
      if (!rest) return std::nullopt;
      node.children[0] = join(Node::Kind::kPipe, std::move(node.children[0]), *std::move(rest));
    }
    if (!take(']')) return std::nullopt;
    return node;
  }

  std::optional<Node> object() {
    Node node{.kind = Node::Kind::kObject};
    if (++constructions_ > kMaxConstructions) return std::nullopt;
    if (take('}')) return node;
    do {
      skip_space();
      bool needs_value = false;
      std::optional<std::string> key;
      if (peek() == '"') {
        key = string();
      } else if (begins_name(peek())) {
        key = std::string(take_name());
        needs_value = is_keyword(*key);
      } else if (peek() == '$') {
        std::optional<Node> value = instance();  // `{$instance}`
        if (!value) return std::nullopt;
        node.keys.emplace_back(kInstanceVariable);
        node.children.push_back(*std::move(value));
        continue;
      }
      if (!key) return std::nullopt;
      if (take(':')) {
        std::optional<Node> value = member();
        if (!value) return std::nullopt;
        node.children.push_back(*std::move(value));
      } else if (!needs_value) {
        node.children.push_back(Node{.kind = Node::Kind::kPath, .steps = {{*key}}});
      } else {
        return std::nullopt;
      }
      node.keys.push_back(*std::move(key));
    } while (take(','));
    if (!take('}')) return std::nullopt;
    return node;
  }

  /// Reads a value inside an object. The only operators in such a value are `|` and the minus
  /// before a term.
  std::optional<Node> member() {
    std::optional<Node> left = operand();
    if (!left || !take_operator("|")) return left;
    if (++nesting_ > kMaxNesting) return std::nullopt;
    std::optional<Node> right = member();
    if (!right) return std::nullopt;
    --nesting_;
    return join(Node::Kind::kPipe, *std::move(left), *std::move(right));
  }

  /// Reads a path from the input; its first step may directly follow the dot.
  std::optional<Node> path() {
    Node node{.kind = Node::Kind::kPath};
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    if (!begins_name(next)) {
      if (next == '.' || is_digit(next)) return std::nullopt;
      ++at_;
      skip_space();
      if (peek() == '"') {
        std::optional<std::string> key = string();
        if (!key) return std::nullopt;
        node.steps.push_back({*std::move(key), take_question_mark()});
      }
    }
    return suffixed(std::move(node));
  }

  /// Reads the steps after a term and adds them to `node`.
  std::optional<Node> suffixed(Node node) {
    for (;;) {
      skip_space();
      std::optional<Step> step;
      if (peek() == '.') {
        ++at_;
        if (begins_name(peek())) {
          step = Step{std::string(take_name())};
        } else {
          skip_space();
          if (peek() != '"') return std::nullopt;
          if (std::optional<std::string> key = string()) step = Step{*std::move(key)};
        }
      } else if (peek() == '[') {
        ++at_;
        step = index();
      } else {
        return node;
      }
      if (!step) return std::nullopt;
      step->optional = take_question_mark();
      if (node.kind != Node::Kind::kPath) {
        Node outer{.kind = Node::Kind::kPath};
        outer.children.push_back(std::move(node));
        node = std::move(outer);
      }
      node.steps.push_back(*std::move(step));
    }
  }

  std::optional<Step> index() {
    skip_space();
    std::optional<Step> step;
    if (peek() == '"') {
      if (std::optional<std::string> key = string()) step = Step{*std::move(key)};
    } else {
      const bool negative = take('-');
      skip_space();
      const std::optional<Node> node = number();
      constexpr int64_t kMaxIndex = 1'000'000'000;
      if (!node || !node->constant.is_number_integer()) return std::nullopt;
      const int64_t value = node->constant.get<int64_t>();
      if (value > kMaxIndex) return std::nullopt;
      step = Step{negative ? -value : value};
    }
    if (!step || !take(']')) return std::nullopt;
    return step;
  }

  /// Reads digits with at most one point between them; `01` is refused.
  std::optional<Node> number() {
    const size_t begin = at_;
    while (is_digit(peek())) ++at_;
    const size_t integer_digits = at_ - begin;
    if (integer_digits == 0 || (integer_digits > 1 && text_[begin] == '0')) return std::nullopt;
    if (peek() == '.') {
      ++at_;
      if (!is_digit(peek())) return std::nullopt;
      while (is_digit(peek())) ++at_;
    }
    if (at_ - begin > kMaxDigits || is_in_name(peek()) || peek() == '.') return std::nullopt;
    double value = 0;
    std::from_chars(text_.data() + begin, text_.data() + at_, value);
    if (value == std::floor(value)) return constant(static_cast<int64_t>(value));
    return constant(value);
  }

  /// Reads a string, with or without `\(…)` in it.
  std::optional<Node> text() {
    Node node{.kind = Node::Kind::kText};
    std::string literal;
    ++at_;
    for (;;) {
      if (!append_literal(literal)) return std::nullopt;
      if (take_now("\"")) break;
      if (!take_now("\\(")) return std::nullopt;
      std::optional<Node> part = group();
      if (!part) return std::nullopt;
      node.children.push_back(constant(std::exchange(literal, {})));
      node.children.push_back(*std::move(part));
    }
    if (node.children.empty()) return constant(std::move(literal));
    node.children.push_back(constant(std::move(literal)));
    return node;
  }

  /// Reads a string without `\(…)`.
  std::optional<std::string> string() {
    std::string value;
    ++at_;
    if (!append_literal(value) || !take_now("\"")) return std::nullopt;
    return value;
  }

  /// Reads a string up to its closing quote or an interpolation. False if the string has an escape
  /// that the fast lane does not support, or if the text ends before its closing quote.
  bool append_literal(std::string& literal) {
    for (; at_ < text_.size() && peek() != '"'; ++at_) {
      if (peek() != '\\') {
        literal.push_back(peek());
        continue;
      }
      constexpr std::string_view kEscapes = "\"\\/nrtbf";
      constexpr std::string_view kMeanings = "\"\\/\n\r\t\b\f";
      if (text_.substr(at_, 2) == "\\(") return true;
      ++at_;
      const size_t which = kEscapes.find(peek());
      if (which == std::string_view::npos) return false;
      literal.push_back(kMeanings[which]);
    }
    return at_ < text_.size();
  }

  std::string_view take_name() {
    const size_t begin = at_;
    while (is_in_name(peek())) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  bool take(char c) {
    skip_space();
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  /// Reads `text` if it begins exactly here, without skipping white space.
  bool take_now(std::string_view text) {
    if (text_.substr(at_, text.size()) != text) return false;
    at_ += text.size();
    return true;
  }

  /// Reads a `?`, but not the `?` of `?//`.
  bool take_question_mark() {
    skip_space();
    if (peek() != '?' || text_.substr(at_, 3) == "?//") return false;
    ++at_;
    return true;
  }

  bool take_word(std::string_view word) {
    skip_space();
    const size_t begin = at_;
    if (take_name() == word) return true;
    at_ = begin;
    return false;
  }

  /// Reads the operator, unless it is the beginning of a longer operator.
  bool take_operator(std::string_view text) {
    skip_space();
    if (text_.substr(at_, text.size()) != text) return false;
    const char next = at_ + text.size() < text_.size() ? text_[at_ + text.size()] : '\0';
    if (next == '=' || (text == "|" && next == '|')) return false;
    at_ += text.size();
    return true;
  }

  void skip_space() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n') ++at_;
  }

  /// The next byte; NUL at the end (no jq program contains NUL, see check_program_text).
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool names_instance_ = false;
  bool names_now_ = false;
  std::string_view text_;
  size_t at_ = 0;
  int nesting_ = 0;
  int constructions_ = 0;
};

}  // namespace

std::unique_ptr<const Program> parse(std::string_view text) {
  if (!check_program_text(text) || !is_utf8(text)) return nullptr;
  Parser parser(text);
  std::optional<Node> root = parser.program();
  if (!root || may_be_empty(*root)) return nullptr;
  const bool shows_order = may_show_order(*root);
  return std::make_unique<const Program>(
      Program{*std::move(root), shows_order, parser.names_instance(), parser.names_now()});
}

}  // namespace millrace::fast
