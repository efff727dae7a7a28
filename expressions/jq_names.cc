#include "expressions/jq_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "expressions/instance_name.h"

namespace millrace {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A part of the jq program with its own scope of variables: a pair of brackets, or a branch of an
/// `if`.
struct Scope {
  char opener;                              ///< the bracket; `i` for an `if`
  std::vector<std::string_view> variables;  ///< variables bound in the scope so far
  std::string_view called;  ///< if the bracket is the `(` of a call: the called function
  size_t arguments = 1;
};

class Reader {
 public:
  Reader(std::string_view program, const JqFunctions& functions)
      : rest_(program), functions_(functions), names_instance_(names_instance(program)) {}

  bool read() {
    while (sure_ && !rest_.empty()) read_token();
    return sure_ && scopes_.size() == 1;
  }

 private:
  void read_token() {
    const char c = rest_.front();
    if (is_space(c)) {
      rest_.remove_prefix(1);
    } else if (c == '#') {
      sure_ = false;
    } else if (begins_name(c)) {
      read_name();
      begins_key_ = false;
    } else if (c == '$') {
      rest_.remove_prefix(1);
      use_variable(take_name());
      begins_key_ = false;
    } else if (c == '"') {
      skip_string();
      begins_key_ = false;
    } else if (is_digit(c) || (c == '.' && rest_.size() > 1 && is_digit(rest_[1]))) {
      skip_number();
    } else if (c == '.' || c == '@') {
      rest_.remove_prefix(1);
      take_name();  // `.field`, `@format`; empty for `.`
      begins_key_ = false;
    } else {
      rest_.remove_prefix(1);
      read_sign(c);
    }
  }

  std::string_view take_name() {
    size_t size = 0;
    if (!rest_.empty() && begins_name(rest_.front())) {
      while (size < rest_.size() && is_in_name(rest_[size])) ++size;
    }
    const std::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return name;
  }

  char next_sign() {
    const size_t at = rest_.find_first_not_of(" \t\r\n");
    return at == std::string_view::npos ? '\0' : rest_[at];
  }

  void read_name() {
    const std::string_view name = take_name();
    if (begins_key_) return;  // {name: …}
    if (is_one_of(name, {"and", "or", "try"})) return;
    if (name == "if") {
      scopes_.push_back({.opener = 'i'});
    } else if (is_one_of(name, {"then", "elif", "else"})) {
      sure_ = sure_ && scopes_.back().opener == 'i';
      scopes_.back().variables.clear();
    } else if (name == "end") {
      close('i');
    } else if (name == "as") {
      bind();
    } else if (is_one_of(name, {"def", "reduce", "foreach", "label", "break", "catch", "import",
                                "include", "module", "__loc__"})) {
      sure_ = false;
    } else if (next_sign() == '(') {
      rest_.remove_prefix(rest_.find('(') + 1);
      scopes_.push_back({.opener = '(', .called = name});
    } else {
      call(name, 0);
    }
  }

  void call(std::string_view name, size_t arguments) {
    sure_ = sure_ && functions_.contains(fmt::format("{}/{}", name, arguments));
  }

  /// Reads the rest of `as $name |`, after `as`.
  void bind() {
    if (next_sign() != '$') {
      sure_ = false;
      return;
    }
    rest_.remove_prefix(rest_.find('$') + 1);
    const std::string_view name = take_name();
    sure_ = sure_ && !name.empty() && next_sign() == '|';
    scopes_.back().variables.push_back(name);
  }

  void use_variable(std::string_view name) {
    if (names_instance_ && name == kInstanceVariable) return;
    sure_ = sure_ && std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope& scope) {
              return std::find(scope.variables.begin(), scope.variables.end(), name) !=
                     scope.variables.end();
            });
  }

  void skip_string() {
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') return rest_.remove_prefix(i + 1);
      if (rest_[i] != '\\') continue;
      ++i;
      if (i < rest_.size() && rest_[i] == '(') break;
    }
    sure_ = false;
  }

  void skip_number() {
    const auto skip_digits = [&] {
      while (!rest_.empty() && is_digit(rest_.front())) rest_.remove_prefix(1);
    };
    skip_digits();
    if (rest_.starts_with('.')) rest_.remove_prefix(1);
    skip_digits();
    if (rest_.empty() || (rest_.front() != 'e' && rest_.front() != 'E')) return;
    size_t digits = 1;
    if (digits < rest_.size() && (rest_[digits] == '+' || rest_[digits] == '-')) ++digits;
    if (digits == rest_.size() || !is_digit(rest_[digits])) return;
    rest_.remove_prefix(digits);
    skip_digits();
  }

  void read_sign(char c) {
    begins_key_ = c == '{' || (c == ',' && scopes_.back().opener == '{');
    switch (c) {
      case '(':
      case '[':
      case '{':
        scopes_.push_back({.opener = c});
        break;
      case ')':
        close('(');
        break;
      case ']':
        close('[');
        break;
      case '}':
        close('{');
        break;
      case ',':
        if (scopes_.back().opener == '{') scopes_.back().variables.clear();
        break;
      case ';':
        ++scopes_.back().arguments;
        scopes_.back().variables.clear();
        break;
      case ':':
        if (rest_.starts_with(':')) sure_ = false;  // `module::name`
        if (scopes_.back().opener == '[') scopes_.back().variables.clear();
        break;
      case '/':
        sure_ = sure_ && !(rest_.starts_with('/') && after_question_);  // `?//`
        break;
      default:
        break;
    }
    after_question_ = c == '?';
  }

  void close(char opener) {
    if (scopes_.size() == 1 || scopes_.back().opener != opener) {
      sure_ = false;
      return;
    }
    const Scope scope = std::move(scopes_.back());
    scopes_.pop_back();
    if (!scope.called.empty()) call(scope.called, scope.arguments);
  }

  std::string_view rest_;
  const JqFunctions& functions_;
  const bool names_instance_;  ///< millrace binds `$instance`
  std::vector<Scope> scopes_ = {Scope{.opener = '\0'}};
  bool sure_ = true;
  bool begins_key_ = false;  ///< a name at this place is the key of an object
  bool after_question_ = false;
};

}  // namespace

bool names_surely_exist(std::string_view program, const JqFunctions& functions) {
  return Reader(program, functions).read();
}

}  // namespace millrace
