#include "tests/tidy/definitions.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <optional>
#include <utility>

namespace millrace {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Splits a text into tokens, as tokens_of() does.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  std::vector<std::string> all() {
    std::vector<std::string> tokens;
    bool at_line_start = true;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        at_line_start = true;
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (c == '#' && at_line_start) {
        skip_directive();
      } else if (starts("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (starts("/*")) {
        skip_to("*/");
      } else {
        at_line_start = false;
        tokens.push_back(next());
      }
    }
    return tokens;
  }

 private:
  bool starts(std::string_view with) const { return text_.substr(at_).starts_with(with); }

  void skip_to(std::string_view end) {
    const size_t found = text_.find(end, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }

  void skip_directive() {
    while (at_ < text_.size() && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
  }

  void skip_quoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  std::string next() {
    if (starts("R\"")) {
      const size_t open = text_.find('(', at_);
      const std::string end = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
      skip_to(end);
      return "\"";
    }
    if (is_word(text_[at_])) {
      const size_t begin = at_;
      // A quote within a number separates its digits.
      const bool is_number = std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
      while (at_ < text_.size() && (is_word(text_[at_]) || (is_number && text_[at_] == '\''))) {
        ++at_;
      }
      return std::string(text_.substr(begin, at_ - begin));
    }
    if (text_[at_] == '"' || text_[at_] == '\'') {
      skip_quoted(text_[at_]);
      return "\"";
    }
    if (starts("::")) {
      at_ += 2;
      return "::";
    }
    return std::string(1, text_[at_++]);
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// An open brace.
struct Scope {
  bool is_namespace = false;
  std::string name;  ///< the name of the namespace; empty: unnamed
};

/// What the tokens between the last `;`, `{` or `}` and a `{` define.
struct Head {
  std::optional<Scope> ns;
  std::string defined;  ///< the class; empty: none
};

/// The name in `class [[attribute]] Name final : Base {`. A qualified name, as in
/// `struct Outer::Inner {`, gives an empty string.
std::string class_name(const std::vector<std::string>& head, size_t at) {
  if (at + 1 < head.size() && (head[at + 1] == "class" || head[at + 1] == "struct")) ++at;
  int brackets = 0;
  for (size_t i = at + 1; i < head.size(); ++i) {
    brackets += head[i] == "[" ? 1 : head[i] == "]" ? -1 : 0;
    if (brackets > 0 || !is_word(head[i].front())) continue;
    const bool is_part = i + 1 < head.size() && (head[i + 1] == "::" || head[i + 1] == "<");
    return is_part ? std::string() : head[i];
  }
  return "";
}

Head read_head(std::vector<std::string> head) {
  if (!head.empty() && head.front() == "inline") head.erase(head.begin());
  if (!head.empty() && head.front() == "namespace") {
    Scope scope{.is_namespace = true, .name = {}};
    for (size_t i = 1; i < head.size(); ++i) scope.name += head[i];
    return {.ns = scope, .defined = {}};
  }
  int angles = 0;
  for (size_t i = 0; i < head.size(); ++i) {
    angles += head[i] == "<" ? 1 : head[i] == ">" ? -1 : 0;
    if (angles > 0) continue;  // `template <class T>`
    if (head[i] == "(" || head[i] == "=") return {};
    if (head[i] == "class" || head[i] == "struct" || head[i] == "union" || head[i] == "enum") {
      return {.ns = std::nullopt, .defined = class_name(head, i)};
    }
  }
  return {};
}

/// The index of the first token after `template <…>`.
size_t after_template(const std::vector<std::string>& head) {
  if (head.empty() || head.front() != "template") return 0;
  int angles = 0;
  for (size_t i = 1; i < head.size(); ++i) {
    angles += head[i] == "<" ? 1 : head[i] == ">" ? -1 : 0;
    if (angles == 0) return i + 1;
  }
  return head.size();
}

/// The name that `using Name = …` or `typedef` defines, also for an array, a function or a function
/// pointer; empty: the tokens are neither.
std::string alias_name(const std::vector<std::string>& head) {
  const size_t begin = after_template(head);
  if (begin + 2 < head.size() && head[begin] == "using" && head[begin + 2] == "=") {
    return head[begin + 1];
  }
  if (head.empty() || head.front() != "typedef") return "";
  const auto pointer = std::adjacent_find(
      head.begin(), head.end(),
      [](const std::string& one, const std::string& next) { return one == "(" && next == "*"; });
  if (pointer != head.end() && head.end() - pointer > 2) return pointer[2];
  const auto end = std::find_if(head.begin(), head.end(), [](const std::string& token) {
    return token == "[" || token == "(";
  });
  return *std::prev(end);
}

}  // namespace

std::vector<std::string> tokens_of(std::string_view text) { return Tokens(text).all(); }

std::vector<std::string> visible_definitions(std::string_view text) {
  std::vector<std::string> found;
  std::vector<Scope> open;
  std::vector<std::string> head;
  const auto is_visible = [&] {
    return std::all_of(open.begin(), open.end(), [](const Scope& scope) {
      return scope.is_namespace && !scope.name.empty();
    });
  };
  const auto within = [&] {
    std::string name;
    for (const Scope& scope : open) name += scope.name + "::";
    return name;
  };
  for (std::string& token : tokens_of(text)) {
    if (token == ";") {
      const std::string alias = is_visible() ? alias_name(head) : std::string();
      if (!alias.empty()) found.push_back(within() + alias);
      head.clear();
    } else if (token == "}") {
      if (!open.empty()) open.pop_back();
      head.clear();
    } else if (token != "{") {
      head.push_back(std::move(token));
    } else {
      const Head begins = read_head(std::exchange(head, {}));
      if (is_visible() && !begins.defined.empty()) found.push_back(within() + begins.defined);
      open.push_back(begins.ns.value_or(Scope()));
    }
  }
  return found;
}

}  // namespace millrace
