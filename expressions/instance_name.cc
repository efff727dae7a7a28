#include "expressions/instance_name.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/characters.h"
#include "expressions/jq_syntax.h"

namespace millrace {
namespace {

/// Searches the code of a jq program, without its literals, for uses and bindings of the variable.
class InstanceSearch {
 public:
  explicit InstanceSearch(std::string_view code) : code_(code) {}

  bool finds_use() {
    while (at_ < code_.size()) read_token();
    return is_used_ && !is_bound_;
  }

  /// After finds_use().
  std::vector<std::string> take_members() { return std::move(members_); }

 private:
  void read_token() {
    const char c = code_[at_];
    if (c == '$') {
      if (take_variable()) read_member();
    } else if (c == '.' || c == '@') {
      ++at_;
      take_name();  // `.field`, `@format`; empty for `.`
    } else if (begins_name(c)) {
      read_word(take_name());
    } else {
      ++at_;
    }
  }

  /// Reads the `.NAME` behind the variable, if there is one.
  void read_member() {
    is_used_ = true;
    if (peek() != '.' || at_ + 1 >= code_.size() || !begins_name(code_[at_ + 1])) return;
    ++at_;
    members_.emplace_back(take_name());
  }

  void read_word(std::string_view word) {
    if (word == "as") {
      do read_pattern();
      while (take("?//"));
    } else if (word == "def") {
      skip_space();
      take_name();
      skip_space();
      if (peek() == '(') read_group();
    } else if (word == "label" || word == "break") {
      read_pattern();
    }
  }

  /// Reads what `as` binds: a variable, or an array or object of patterns.
  void read_pattern() {
    skip_space();
    if (peek() == '$') {
      is_bound_ = take_variable() || is_bound_;
    } else if (peek() == '[' || peek() == '{') {
      read_group();
    }
  }

  /// Reads a pair of brackets in which variables are bound.
  void read_group() {
    size_t depth = 0;
    do {
      const char c = code_[at_];
      if (c == '$') {
        is_bound_ = take_variable() || is_bound_;
        continue;
      }
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      ++at_;
    } while (depth > 0 && at_ < code_.size());
  }

  /// Reads a `$` and a name. Returns whether it is the variable.
  bool take_variable() {
    ++at_;
    skip_space();
    return take_name() == kInstanceVariable;
  }

  std::string_view take_name() {
    const size_t begin = at_;
    if (begins_name(peek())) {
      while (is_in_name(peek())) ++at_;
    }
    return code_.substr(begin, at_ - begin);
  }

  bool take(std::string_view sign) {
    skip_space();
    if (!code_.substr(at_).starts_with(sign)) return false;
    at_ += sign.size();
    return true;
  }

  void skip_space() {
    while (is_space(peek())) ++at_;
  }

  char peek() const { return at_ < code_.size() ? code_[at_] : '\0'; }

  std::string_view code_;
  size_t at_ = 0;
  bool is_used_ = false;
  bool is_bound_ = false;
  std::vector<std::string> members_;
};

}  // namespace

bool names_instance(std::string_view program) {
  if (program.find(kInstanceVariable) == std::string_view::npos) return false;
  const std::string code = without_literals(program);
  return InstanceSearch(code).finds_use();
}

std::vector<std::string> instance_members_of(std::string_view program) {
  if (program.find(kInstanceVariable) == std::string_view::npos) return {};
  const std::string code = without_literals(program);
  InstanceSearch search(code);
  if (!search.finds_use()) return {};
  return search.take_members();
}

}  // namespace millrace
