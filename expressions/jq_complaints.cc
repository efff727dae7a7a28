#include "expressions/jq_complaints.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/characters.h"
#include "base/similar_names.h"
#include "expressions/jq_syntax.h"

namespace millrace {
namespace {

/// Whether the function is near enough to a name of a few letters, of which most names are near to
/// another: `high` is no misspelt `sinh`.
bool is_near(std::string_view name, std::string_view function) {
  constexpr size_t kFewLetters = 4;
  return name.size() > kFewLetters || name_distance(name, function).value_or(2) <= 1;
}

constexpr std::string_view kBlanks = " \t\r\n";

/// Words of jq after which a value must follow.
constexpr std::string_view kOpeningWords[] = {"and",  "or",      "if",  "then",  "elif",
                                              "else", "foreach", "try", "catch", "reduce"};

/// Functions that only newer versions of jq have.
constexpr std::string_view kNewerFunctions[] = {
    "abs",     "add/1", "debug/1", "have_decnum", "have_literal_numbers",
    "ltrim",   "pick",  "rtrim",   "scan/2",      "skip",
    "toarray", "trim",  "trimstr"};

/// Words of other languages, and what to write instead.
constexpr std::pair<std::string_view, std::string_view> kForeignWords[] = {
    {"True", "`true`"},
    {"False", "`false`"},
    {"None", "`null`"},
    {"nil", "`null`"},
    {"undefined", "`null`"},
    {"NULL", "`null`"},
    {"jq", "the query alone, without `jq(…)`"}};

/// The middle of a text that has the form `before` + middle + `behind`; nullopt if it has another
/// form.
std::optional<std::string_view> between(std::string_view what, std::string_view before,
                                        std::string_view behind) {
  if (!what.starts_with(before) || !what.ends_with(behind) ||
      what.size() < before.size() + behind.size()) {
    return std::nullopt;
  }
  return what.substr(before.size(), what.size() - before.size() - behind.size());
}

class Explainer {
 public:
  Explainer(std::span<const JqComplaint> complaints, std::string_view program,
            const JqFunctions& functions)
      : complaints_(complaints.begin(), complaints.end()),
        program_(program),
        code_(without_literals(program)),
        functions_(functions) {
    for (JqComplaint& one : complaints_) one.at = std::min(one.at, program.size());
  }

  std::string explain() const {
    if (complaints_.empty()) return "jq does not accept this query";
    if (code_.find_first_not_of(kBlanks) == std::string::npos) {
      return "the query is only a comment; write `.` for the whole input";
    }
    const JqComplaint& first = complaints_.front();
    if (first.what.starts_with("syntax error")) return syntax_error(first);
    if (const auto name = between(first.what, "$*label-", " is not defined")) {
      return fmt::format(
          "the `break ${}` at {} is not within a label of this name; write `label ${} | …` before "
          "it",
          *name, place(first.at), *name);
    }
    if (const auto name = between(first.what, "$", " is not defined")) {
      return fmt::format("the variable `${}` at {} is not bound; write `… as ${} | …` before it",
                         *name, place(first.at), *name);
    }
    if (const auto function = between(first.what, "", " is not defined")) {
      return unknown_function(*function, first.at);
    }
    if (first.what.starts_with("Invalid numeric literal")) return malformed_number(first.at);
    if (first.what.starts_with("Invalid ")) return malformed_escape(first.at);
    if (first.what == "Division by zero?") {
      return fmt::format(
          "the division at {} is by zero, whatever the input is; write another "
          "divisor",
          place(first.at));
    }
    if (const auto key = between(first.what, "Cannot use ", " as object key")) {
      return fmt::format(
          "a key of an object is a string, and {} at {} is not; write it in double quotes", *key,
          place(first.at));
    }
    return fmt::format("jq does not accept this query at {}: {}", place(first.at), first.what);
  }

 private:
  std::string place(size_t at) const { return place_in(program_, at); }

  /// The place of the last byte of code before `at`, ignoring blanks, comments and the contents of
  /// strings; npos if there is none.
  size_t before(size_t at) const {
    if (at == 0) return std::string::npos;
    return code_.find_last_not_of(kBlanks, std::min(at, code_.size()) - 1);
  }

  char code_at(size_t at) const { return at < code_.size() ? code_[at] : '\0'; }

  size_t end_of_name(size_t at) const {
    while (is_in_name(code_at(at))) ++at;
    return at;
  }

  /// The name that ends at byte `last`; empty if none ends there.
  std::string_view name_until(size_t last) const {
    if (last >= code_.size()) return {};
    size_t begin = last + 1;
    while (begin > 0 && is_in_name(code_[begin - 1])) --begin;
    return std::string_view(code_).substr(begin, last + 1 - begin);
  }

  // Syntax errors.

  std::string syntax_error(const JqComplaint& complaint) const {
    if (std::string detached = detached_name(complaint.at); !detached.empty()) {
      return detached;
    }
    const std::string expected = expected_at(complaint);
    return fmt::format("{} at {}{}{}{}", unexpected(complaint.at), place(complaint.at),
                       expected.empty() ? "" : "; expected ", expected, advice(complaint.at));
  }

  /// Explains `. name`, for which libjq reports an error only after the name; empty if the jq
  /// program has another error.
  std::string detached_name(size_t at) const {
    const JqComplaint* const dot = find("try .[\"field\"]");
    if (dot == nullptr || dot->at >= at) return "";
    const size_t name = code_.find_first_not_of(kBlanks, dot->at + 1);
    if (name == dot->at + 1 || name >= at || !is_in_name(code_[name])) return "";
    return fmt::format(
        "{} at {}; write `.{}` without a blank for a key, or `|` after the dot for a function",
        unexpected(name), place(name), program_.substr(name, end_of_name(name) - name));
  }

  /// The first part of a message: ``unexpected `|` ``, or `unexpected end of the query`.
  std::string unexpected(size_t at) const {
    if (at >= program_.size()) return "unexpected end of the query";
    const char c = code_at(at);
    if (c == '"') return "unexpected text in quotes";
    if (c == '`') return "unexpected backquote";
    size_t end = at + 1;
    if (is_in_name(c) || c == '@' || (c == '.' && end_of_name(at + 1) > at + 1)) {
      end = end_of_name(at + 1);
    } else if ((c == '.' && code_at(at + 1) == '.') || is_operator_of_two(at)) {
      end = at + 2;
    } else {
      while (end < program_.size() && (program_[end] & 0xc0) == 0x80) ++end;  // one character
    }
    return fmt::format("unexpected `{}`", program_.substr(at, end - at));
  }

  bool is_operator_of_two(size_t at) const {
    const char c = code_at(at);
    const char next = code_at(at + 1);
    if (next == '=') return std::string_view("=!<>+-*/%|").find(c) != std::string_view::npos;
    return (c == '/' && next == '/') || (c == '&' && next == '&');
  }

  /// What is expected at the place, in words; empty if the message should not name it.
  std::string expected_at(const JqComplaint& complaint) const {
    if (has("Possibly unterminated 'if' statement")) return "";
    constexpr std::string_view kExpecting = ", expecting ";
    if (const size_t at = complaint.what.find(kExpecting); at != std::string::npos) {
      return in_words(std::string_view(complaint.what).substr(at + kExpecting.size()));
    }
    return wants_value(complaint.at) ? "a value, such as `.key`, a number or a function"
                                     : "an operator, such as `|`, or the end";
  }

  /// Translates libjq's list of expected tokens, such as `'$' or '['`.
  static std::string in_words(std::string_view tokens) {
    constexpr std::pair<std::string_view, std::string_view> kWords[] = {
        {"'$' or '[' or '{'", "a variable, such as `$x`"},
        {"IDENT or __loc__", "the name of a variable"},
        {"FORMAT or QQSTRING_START", "a name or a text in quotes after the dot"},
        {"'}'", "`,` or `}`"},
        {"'$'", "a name that begins with `$`"},
        {"',' or ']'", "`,` or `]`"},
        {"'(' or ':'", "`(` or `:`"},
    };
    for (const auto& [token, words] : kWords) {
      if (tokens == token) return std::string(words);
    }
    std::string out(tokens);
    std::replace(out.begin(), out.end(), '\'', '`');
    return out;
  }

  /// Whether the code before the place needs a value after it.
  bool wants_value(size_t at) const {
    const size_t last = before(at);
    if (last == std::string::npos) return true;
    const char c = code_[last];
    if (is_in_name(c)) {
      const std::string_view word = name_until(last);
      const bool is_key = last >= word.size() && code_[last - word.size()] == '.';
      return !is_key && std::find(std::begin(kOpeningWords), std::end(kOpeningWords), word) !=
                            std::end(kOpeningWords);
    }
    return std::string_view(".)]}\"?").find(c) == std::string_view::npos;
  }

  bool has(std::string_view what) const { return find(what) != nullptr; }

  const JqComplaint* find(std::string_view what) const {
    const auto found =
        std::find_if(complaints_.begin(), complaints_.end(),
                     [&](const JqComplaint& one) { return one.what.starts_with(what); });
    return found == complaints_.end() ? nullptr : &*found;
  }

  /// The end of a message: what to write instead of the code at the place, as `; write …`; may be
  /// empty.
  std::string advice(size_t at) const {
    std::string foreign = advice_on_operator(at);
    if (!foreign.empty()) return foreign;
    if (const JqComplaint* one = find("Possibly unterminated 'if'")) {
      return fmt::format(
          "; the `if` at {} has to be complete, with an `else`: `if … then … else … "
          "end`",
          place(one->at));
    }
    if (const JqComplaint* one = find("Possibly unterminated 'try'")) {
      return fmt::format(
          "; write the query that handles the error after the `catch` of the `try` at {}",
          place(one->at));
    }
    if (has("break requires a label")) return "; write `break $name`, within `label $name | …`";
    if (has("May need parentheses") || is_key_of_object(at)) {
      return "; write the keys of an object as names, in double quotes, or as a query in "
             "parentheses";
    }
    const bool behind_dot = at > 0 && code_at(at - 1) == '.';
    if (behind_dot && code_at(at) == '[') return "; write `.key[…]` without the second dot";
    if (behind_dot && has("try .[\"field\"]")) {
      return "; write `.[\"…\"]` for a key that is not made of letters, digits and `_`";
    }
    return advice_on_word(at);
  }

  /// Whether the last byte of code before the place is a `{`, as in `{{ .x }}`.
  bool is_key_of_object(size_t at) const {
    const size_t last = before(at);
    return last != std::string::npos && code_[last] == '{';
  }

  /// The advice for an operator of another language; empty if there is none at the place.
  std::string advice_on_operator(size_t at) const {
    const char c = code_at(at);
    const size_t last = before(at);
    const char previous = last == std::string::npos ? '\0' : code_[last];
    const bool is_joined = last != std::string::npos && last + 1 == at;
    if (c == '\'' || c == '`') return "; write a text in double quotes";
    if (c == '&') return "; write `and` for `&&`";
    if (c == '|' && previous == '|' && is_joined) return "; write `or` for `||`";
    if (c == '=' && is_joined && last > 0 && previous == '=' && code_[last - 1] == '=') {
      return "; write `==` for `===`";
    }
    if (c == '!') return "; write `… | not` for `!`";
    if (c == ':' && code_at(at + 1) == '=') return "; write `=` for `:=`";
    if (previous == '?' && last > 0 && code_[last - 1] == '?') return "; write `//` for `??`";
    const bool is_choice = c == ':' || code_.find(':', at) != std::string::npos;
    if (previous == '?' && is_choice) return "; write `if … then … else … end` for `? :`";
    if (c == '>' && previous == '=' && is_joined) {
      return "; write `>=` to compare, or the body alone for a function";
    }
    return "";
  }

  std::string advice_on_word(size_t at) const {
    const char c = code_at(at);
    const size_t last = before(at);
    const std::string_view word = name_until(last);
    const bool is_key = !word.empty() && last >= word.size() && code_[last - word.size()] == '.';
    if (c == '(' && is_key) return fmt::format("; write `| {}(…)` to call a function", word);
    const bool is_called = c == ')' && last != std::string::npos && code_[last] == '(' &&
                           before(last) != std::string::npos && is_in_name(code_[before(last)]);
    if (is_called) return "; call a function that has no arguments without parentheses";
    if (c == '.' && is_digit(code_at(at + 1))) {
      return fmt::format("; write `[{}]` for an element of an array",
                         program_.substr(at + 1, end_of_name(at + 1) - at - 1));
    }
    const std::string_view name = program_.substr(std::min(at, program_.size()),
                                                  end_of_name(at) - std::min(at, code_.size()));
    if (name == "import" || name == "include" || name == "module")
      return "; jq's modules are not available";
    return advice_on_construct(at);
  }

  /// The advice for a construct of several parts, such as `if`, with one part missing or too many;
  /// may be empty.
  std::string advice_on_construct(size_t at) const {
    const char c = code_at(at);
    if (count_word("if") > count_word("end")) return "; write `if … then … else … end`";
    if (at >= code_.size() && has_word("def")) return "; write `def name: body; query`";
    const size_t opener = opener_of(at);
    if (c == ')' || c == ';') {
      const size_t last = opener == std::string::npos ? opener : before(opener);
      const std::string_view variable = name_until(last);
      const bool binds =
          !variable.empty() && last >= variable.size() && code_[last - variable.size()] == '$';
      if (binds && has_word("reduce")) return "; write `reduce … as $x (first; next)`";
      if (binds && has_word("foreach")) return "; write `foreach … as $x (first; next; result)`";
      const bool is_call = opener != std::string::npos && code_[opener] == '(';
      if (c == ';' && !is_call) return "; write `;` only between the arguments of a function";
    }
    const bool compares = !wants_value(at) && std::string_view("=<>").find(c) != std::string::npos;
    if (compares && c != '\0') return "; write parentheses around one of the operations";
    return "";
  }

  bool has_word(std::string_view word) const { return count_word(word) > 0; }

  size_t count_word(std::string_view word) const {
    size_t count = 0;
    for (size_t at = code_.find(word); at != std::string::npos; at = code_.find(word, at + 1)) {
      if ((at == 0 || (!is_in_name(code_[at - 1]) && code_[at - 1] != '.')) &&
          !is_in_name(code_at(at + word.size()))) {
        ++count;
      }
    }
    return count;
  }

  /// The place of the innermost bracket that is open at `at`; npos if none is open.
  size_t opener_of(size_t at) const {
    std::vector<size_t> open;
    for (size_t i = 0; i < std::min(at, code_.size()); ++i) {
      if (std::string_view("([{").find(code_[i]) != std::string_view::npos) {
        open.push_back(i);
      } else if (std::string_view(")]}").find(code_[i]) != std::string_view::npos &&
                 !open.empty()) {
        open.pop_back();
      }
    }
    return open.empty() ? std::string::npos : open.back();
  }

  // Unknown names.

  /// Explains an unknown function, which libjq names like `split/3`.
  std::string unknown_function(std::string_view function, size_t at) const {
    const size_t slash = function.rfind('/');
    const std::string name(function.substr(0, slash));
    const std::string arity(function.substr(slash + 1));
    if (name.find("::") != std::string::npos) {
      return fmt::format("there is no function `{}` at {}; jq's modules are not available", name,
                         place(at));
    }
    const std::vector<std::string> arities = arities_of(name);
    if (!arities.empty()) {
      return fmt::format("the function `{}` at {} has {}; expected {}", name, place(at),
                         in_arguments(arity),
                         in_arguments(fmt::format("{}", fmt::join(arities, " or "))));
    }
    return fmt::format("there is no function `{}` at {}{}", name, place(at),
                       advice_on_function(name, function, at));
  }

  std::vector<std::string> arities_of(const std::string& name) const {
    std::vector<std::string> arities;
    for (auto one = functions_.lower_bound(name + "/");
         one != functions_.end() && one->starts_with(name + "/"); ++one) {
      arities.push_back(one->substr(name.size() + 1));
    }
    return arities;
  }

  static std::string in_arguments(const std::string& arity) {
    if (arity == "0") return "no arguments";
    return arity + (arity == "1" ? " argument" : " arguments");
  }

  std::string advice_on_function(const std::string& name, std::string_view function,
                                 size_t at) const {
    const bool is_newer =
        std::any_of(std::begin(kNewerFunctions), std::end(kNewerFunctions),
                    [&](std::string_view newer) { return newer == name || newer == function; });
    if (code_.find("def " + name) != std::string::npos) {
      return "; it is defined with another number of arguments, or not before this place";
    }
    if (is_newer) return " in jq 1.6; newer versions of jq have it";
    if (at > 1 && code_at(at - 1) == '-' && is_in_name(code_at(at - 2))) {
      const std::string_view head = name_until(at - 2);
      if (at >= head.size() + 2 && code_[at - head.size() - 2] == '.') {
        return fmt::format("; write `.[\"{}-{}\"]` for a key with a hyphen", head, name);
      }
    }
    for (const auto& [foreign, mend] : kForeignWords) {
      if (name == foreign) return fmt::format("; write {}", mend);
    }
    std::vector<std::string_view> names;
    for (const std::string_view one : functions_) {
      if (!one.starts_with('_')) names.push_back(one.substr(0, one.find('/')));
    }
    if (const auto meant = nearest_name(name, names); meant && is_near(name, *meant)) {
      return fmt::format("; did you mean `{}`?", *meant);
    }
    return fmt::format("; write `.{}` for a key, or \"{}\" for a text", name, name);
  }

  // Malformed literals.

  std::string malformed_number(size_t at) const {
    size_t end = at;
    while (is_digit(code_at(end)) || code_at(end) == '.') ++end;
    return fmt::format("`{}` at {} is not a number; write digits with one point at most",
                       program_.substr(at, end - at), place(at));
  }

  /// Explains a string with an invalid escape. A series of escapes begins at `at`; the function
  /// finds the first invalid escape of the series.
  std::string malformed_escape(size_t at) const {
    const auto is_hex = [&](size_t i) { return i < program_.size() && is_hex_digit(program_[i]); };
    while (at + 1 < program_.size() && program_[at] == '\\') {
      const char kind = program_[at + 1];
      if (kind != 'u') {
        if (std::string_view("\"\\/bfnrt").find(kind) == std::string_view::npos) {
          size_t end = at + 2;
          while (end < program_.size() && (program_[end] & 0xc0) == 0x80) ++end;
          return fmt::format(
              "the escape `{}` at {} is not valid; expected \\\" \\\\ \\/ \\b \\f \\n \\r \\t or "
              "\\uXXXX; write `\\\\` for a backslash",
              program_.substr(at, end - at), place(at));
        }
        at += 2;
        continue;
      }
      size_t end = at + 2;
      while (end < at + 6 && is_hex(end)) ++end;
      if (end < at + 6) {
        return fmt::format(
            "the escape `{}` at {} is not valid; write four hexadecimal digits after `\\u`",
            program_.substr(at, end - at), place(at));
      }
      const char high = program_[at + 2];
      const char low = lower_case(program_[at + 3]);
      const bool is_half =
          (high == 'd' || high == 'D') && (low == '8' || low == '9' || (low >= 'a' && low <= 'f'));
      const bool has_other = program_.substr(std::min(end, program_.size())).starts_with("\\u") &&
                             is_hex(end + 2) && is_hex(end + 3) && is_hex(end + 4) &&
                             is_hex(end + 5) && low <= 'b';
      if (is_half && !has_other) {
        return fmt::format(
            "the escape `{}` at {} is one half of a pair; write both halves, or the "
            "character itself",
            program_.substr(at, end - at), place(at));
      }
      at = is_half ? end + 6 : end;
    }
    return fmt::format(
        "the text at {} has an escape that is not valid; expected \\\" \\\\ \\/ \\b "
        "\\f \\n \\r \\t or \\uXXXX",
        place(at));
  }

  std::vector<JqComplaint> complaints_;
  std::string_view program_;
  const std::string code_;  ///< the jq program without comments and literal texts, byte for byte
  const JqFunctions& functions_;
};

}  // namespace

std::string explain_complaints(std::span<const JqComplaint> complaints, std::string_view program,
                               const JqFunctions& functions) {
  return Explainer(complaints, program, functions).explain();
}

}  // namespace millrace
