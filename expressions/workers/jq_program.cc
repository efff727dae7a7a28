#include "expressions/workers/jq_program.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <unistd.h>

extern "C" {
#include <jq.h>
}

#include <fmt/format.h>

#include "base/big_integer.h"
#include "base/bytes.h"
#include "expressions/instance_name.h"
#include "expressions/jq_complaints.h"
#include "expressions/jq_names.h"
#include "expressions/jq_syntax.h"
#include "expressions/large_integers.h"

namespace millrace {
namespace {

/// The code before each jq program; the wrapped program runs on [now, input]. The prelude redefines
/// every builtin of jq that would reach outside the closed world. A builtin that is written in jq
/// and uses such a builtin is redefined, too.
constexpr std::string_view kPrelude =
    ".[0] as $__now | {} as $ENV | .[1] | def now: $__now; def env: {}; "
    "def input: error(\"`input` is not available\"); def inputs: empty; "
    "def debug: .; def stderr: .; def input_filename: null; def input_line_number: null; "
    "def halt: error(\"`halt` is not available\"); "
    "def halt_error: error(\"`halt_error` is not available\"); "
    "def halt_error(f): error(\"`halt_error` is not available\"); "
    "def get_search_list: []; def get_jq_origin: null; def get_prog_origin: null; "
    "def modulemeta: error(\"`modulemeta` is not available\"); ";

/// The code before the prelude if the jq program names `$instance`; it runs on [now, input, value].
constexpr std::string_view kBindInstance = ".[2] as $instance | ";

constexpr size_t kMaxMessageBytes = 1000;

/// One reference to a jq value. libjq's functions take ownership of their arguments: `copy` makes a
/// further reference, to be passed to such a function.
class Jv {
 public:
  explicit Jv(jv value) : value_(value) {}
  ~Jv() { jv_free(value_); }
  Jv(Jv&& other) noexcept : value_(std::exchange(other.value_, jv_null())) {}
  Jv& operator=(Jv&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  jv get() const { return value_; }
  jv copy() const { return jv_copy(value_); }
  jv_kind kind() const { return jv_get_kind(value_); }
  std::string_view text() const {
    return {jv_string_value(value_), static_cast<size_t>(jv_string_length_bytes(copy()))};
  }

 private:
  jv value_;
};

/// The digits of the input's large integers. libjq rounds them to doubles. libjq copies a number
/// like any `jv`, field by field, but makes a new `jv` when it computes a number. So a mark in a
/// field that libjq 1.6 leaves at zero in all its numbers distinguishes a number that passed
/// through unchanged from a computed one that happens to be equal.
class Literals {
 public:
  /// Makes a marked number with these digits.
  jv number(double rounded, std::string digits) {
    jv value = jv_number(rounded);
    digits_.push_back(std::move(digits));
    value.size = static_cast<int>(digits_.size());
    return value;
  }

  /// The digits of a marked number; empty if the number was computed or is not a large integer.
  std::string_view digits_of(jv number) const {
    const auto mark = static_cast<size_t>(number.size);
    return mark == 0 || mark > digits_.size() ? std::string_view() : digits_[mark - 1];
  }

 private:
  std::vector<std::string> digits_;
};

/// Converts a Json to a jq value, with its large integers marked.
Jv marked(const Json& value, Literals& literals) {
  constexpr uint64_t kFirstInexact = uint64_t{1} << 53;
  if (is_big_integer(value)) {
    return Jv(literals.number(double_of(value), std::string(big_digits(value))));
  }
  switch (value.type()) {
    case Json::value_t::array: {
      jv array = jv_array_sized(static_cast<int>(value.size()));
      for (const Json& item : value) array = jv_array_append(array, marked(item, literals).copy());
      return Jv(array);
    }
    case Json::value_t::object: {
      jv object = jv_object();
      for (auto member = value.begin(); member != value.end(); ++member) {
        const std::string& key = member.key();
        object = jv_object_set(object, jv_string_sized(key.data(), static_cast<int>(key.size())),
                               marked(*member, literals).copy());
      }
      return Jv(object);
    }
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      return Jv(jv_string_sized(text.data(), static_cast<int>(text.size())));
    }
    case Json::value_t::boolean:
      return Jv(jv_bool(value.get<bool>() ? 1 : 0));
    case Json::value_t::number_unsigned:
    case Json::value_t::number_integer: {
      const bool is_negative = !value.is_number_unsigned() && value.get<int64_t>() < 0;
      const auto bits = value.get<uint64_t>();
      const bool is_large = (is_negative ? uint64_t{0} - bits : bits) >= kFirstInexact;
      return Jv(is_large ? literals.number(value.get<double>(), dump_json(value))
                         : jv_number(value.get<double>()));
    }
    case Json::value_t::number_float:
      return Jv(jv_number(value.get<double>()));
    default:
      return Jv(jv_null());
  }
}

/// Writes jq values as compact JSON, up to the limits of a result. The text is that of dump_json(),
/// except for the spelling of some numbers.
class Writer {
 public:
  /// `sorts_keys`: false writes the keys in jq's order.
  Writer(const Literals& literals, bool sorts_keys)
      : literals_(literals), sorts_keys_(sorts_keys) {}

  /// Appends the value. False if the result exceeds a limit; finish() then returns the error.
  bool write(const Jv& value, size_t depth = 0) {
    if (text_.size() > kMaxResultBytes) return fail(result_too_large());
    switch (value.kind()) {
      case JV_KIND_INVALID:
      case JV_KIND_NULL:
        text_ += "null";
        return true;
      case JV_KIND_FALSE:
        text_ += "false";
        return true;
      case JV_KIND_TRUE:
        text_ += "true";
        return true;
      case JV_KIND_NUMBER:
        write_number(value.get());
        return true;
      case JV_KIND_STRING:
        append_json_string(value.text(), text_);
        return true;
      case JV_KIND_ARRAY:
      case JV_KIND_OBJECT:
        break;
    }
    if (depth == kMaxJsonDepth) return fail(result_too_deep());
    return value.kind() == JV_KIND_ARRAY ? write_array(value, depth) : write_object(value, depth);
  }

  Result<std::string> finish(bool written) && {
    if (written && text_.size() > kMaxResultBytes) written = fail(result_too_large());
    if (!written) return tl::unexpected(std::move(failure_));
    return std::move(text_);
  }

 private:
  bool fail(tl::unexpected<Error> failure) {
    failure_ = std::move(failure).value();
    return false;
  }

  bool write_array(const Jv& array, size_t depth) {
    const int length = jv_array_length(array.copy());
    text_ += '[';
    for (int i = 0; i < length; ++i) {
      if (i > 0) text_ += ',';
      if (!write(Jv(jv_array_get(array.copy(), i)), depth + 1)) return false;
    }
    text_ += ']';
    return true;
  }

  bool write_object(const Jv& object, size_t depth) {
    std::vector<std::pair<Jv, int>> members;  // their names and their places
    for (int i = jv_object_iter(object.get()); jv_object_iter_valid(object.get(), i);
         i = jv_object_iter_next(object.get(), i)) {
      members.emplace_back(Jv(jv_object_iter_key(object.get(), i)), i);
    }
    const auto is_less = [](const auto& a, const auto& b) {
      return a.first.text() < b.first.text();
    };
    if (sorts_keys_) std::sort(members.begin(), members.end(), is_less);
    char before = '{';
    for (const auto& [name, place] : members) {
      text_ += std::exchange(before, ',');
      append_json_string(name.text(), text_);
      text_ += ':';
      if (!write(Jv(jv_object_iter_value(object.get(), place)), depth + 1)) return false;
    }
    text_ += before == '{' ? "{}" : "}";
    return true;
  }

  void write_number(jv value) {
    const double number = jv_number_value(value);
    if (std::isnan(number)) {
      text_ += "null";
      return;
    }
    if (const std::string_view digits = literals_.digits_of(value); !digits.empty()) {
      text_ += digits;
      return;
    }
    constexpr double kMaxPlainInteger = 1e17;  // jq, too, writes larger numbers with an exponent
    if (number == std::trunc(number) && std::abs(number) < kMaxPlainInteger) {
      fmt::format_to(std::back_inserter(text_), "{}", static_cast<int64_t>(number));
      return;
    }
    constexpr double kLargest = std::numeric_limits<double>::max();
    char digits[32];
    const auto end = std::to_chars(std::begin(digits), std::end(digits),
                                   std::isinf(number) ? std::copysign(kLargest, number) : number);
    text_.append(digits, end.ptr);
  }

  const Literals& literals_;
  const bool sorts_keys_;
  std::string text_;
  Error failure_;
};

/// Whether a switch condition with this jq value matches: like is_true for Json. NaN counts as
/// null, since results contain null in its place.
bool is_true(const Jv& value) {
  switch (value.kind()) {
    case JV_KIND_INVALID:
    case JV_KIND_NULL:
    case JV_KIND_FALSE:
      return false;
    case JV_KIND_TRUE:
      return true;
    case JV_KIND_NUMBER: {
      const double number = jv_number_value(value.get());
      return !std::isnan(number) && number != 0;
    }
    case JV_KIND_STRING:
      return !value.text().empty();
    case JV_KIND_ARRAY:
      return jv_array_length(value.copy()) > 0;
    case JV_KIND_OBJECT:
      return jv_object_length(value.copy()) > 0;
  }
  return false;
}

/// Makes an error message from any text: cut to kMaxMessageBytes, and always valid UTF-8.
std::string message_text(std::string_view text) {
  std::string message(text.substr(0, kMaxMessageBytes));
  while (!message.empty() && !is_utf8(message) && text.size() > kMaxMessageBytes &&
         message.size() + 4 > kMaxMessageBytes) {
    message.pop_back();  // the cut was inside a character
  }
  if (!is_utf8(message)) std::erase_if(message, [](char c) { return (c & 0x80) != 0; });
  if (text.size() > kMaxMessageBytes) message += "…";
  return message;
}

/// The text of a jq error, which is the value passed to jq's `error`: a string as it is, any other
/// value as JSON.
std::string error_text(const Jv& message) {
  if (message.kind() == JV_KIND_STRING) return message_text(message.text());
  const Literals none;
  Writer writer(none, false);
  const bool written = writer.write(message);
  const auto text = std::move(writer).finish(written);
  return text ? message_text(*text) : text.error().message;
}

/// Collects jq's messages for a text that does not compile; the places are bytes of that text.
struct Complaints {
  std::string_view text;
  std::vector<JqComplaint> all;
};

/// The byte at which line `line` (from 1) of the text begins.
size_t begin_of_line(std::string_view text, size_t line) {
  size_t at = 0;
  for (; line > 1; --line) {
    const size_t end = text.find('\n', at);
    if (end == std::string_view::npos) return text.size();
    at = end + 1;
  }
  return at;
}

/// Parses "jq: error: <what> at <top-level>, line 1:\n<the line><blanks>\n". The number of blanks
/// after the line is the number of bytes of the line before the place.
void collect_complaint(void* complaints, jv message) {
  const Jv formatted(jq_format_error(message));
  std::string_view said = formatted.text();
  constexpr std::string_view kError = "jq: error: ";
  if (!said.starts_with(kError)) return;  // "jq: 2 compile errors"
  said.remove_prefix(kError.size());
  auto& [text, all] = *static_cast<Complaints*>(complaints);
  JqComplaint complaint{.what = std::string(said), .at = text.size()};
  constexpr std::string_view kPlace = " at <top-level>, line ";
  if (const size_t place = said.find(kPlace); place != std::string_view::npos) {
    complaint.what.resize(place);
    const std::string_view where = said.substr(place + kPlace.size());
    size_t line = 1;
    std::from_chars(where.data(), where.data() + where.size(), line);
    const size_t begin = begin_of_line(text, line);
    const size_t length = text.substr(begin, text.find('\n', begin) - begin).size();
    const size_t shown = where.substr(std::min(where.find('\n'), where.size() - 1) + 1).size();
    complaint.at = begin + (shown > length ? shown - length : 0);
  }
  constexpr std::string_view kQuoting = " (Unix shell quoting issues?)";
  if (const size_t at = complaint.what.find(kQuoting); at != std::string::npos) {
    complaint.what.erase(at, kQuoting.size());
  }
  all.push_back(std::move(complaint));
}

void leave_out_of_memory(void*) { _exit(kOutOfMemoryExit); }

}  // namespace

void exit_when_out_of_memory() { jv_nomem_handler(leave_out_of_memory, nullptr); }

struct JqInput::Value {
  Literals literals;
  Jv json{jv_null()};  // holds an invalid value if jq does not accept the input
};

JqInput::JqInput(std::string_view json) : value_(std::make_unique<Value>()) {
  if (has_large_integer(json)) {
    if (const Result<Json> parsed = parse_json(json)) {
      value_->json = marked(*parsed, value_->literals);
      return;
    }
  }
  value_->json = Jv(jv_parse_sized(json.data(), static_cast<int>(json.size())));
}

JqInput::~JqInput() = default;

struct JqProgram::State {
  State() : jq(jq_init()) {}
  ~State() { jq_teardown(&jq); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  jq_state* jq;
};

JqProgram::JqProgram(std::unique_ptr<State> state) : state_(std::move(state)) {}
JqProgram::~JqProgram() = default;
JqProgram::JqProgram(JqProgram&&) noexcept = default;
JqProgram& JqProgram::operator=(JqProgram&&) noexcept = default;

tl::expected<JqProgram, std::vector<JqComplaint>> JqProgram::compile_wrapped(
    const std::string& text) {
  auto state = std::make_unique<State>();
  if (state->jq == nullptr) _exit(kOutOfMemoryExit);
  jq_set_nomem_handler(state->jq, leave_out_of_memory, nullptr);
  Complaints complaints{.text = text, .all = {}};
  jq_set_error_cb(state->jq, collect_complaint, &complaints);
  const bool compiled = jq_compile(state->jq, text.c_str()) != 0;
  jq_set_error_cb(state->jq, nullptr, nullptr);
  if (!compiled) return tl::unexpected(std::move(complaints.all));
  return JqProgram(std::move(state));
}

Result<JqProgram> JqProgram::compile(std::string_view program) {
  if (const Status status = check_program_text(program); !status) {
    return tl::unexpected(status.error());
  }
  // The line break ends a comment at the end of the jq program. jq counts lines from the first, so
  // the program begins on the first line.
  const std::string prelude =
      fmt::format("{}{}", names_instance(program) ? kBindInstance : "", kPrelude);
  auto compiled = compile_wrapped(fmt::format("{}({}\n)", prelude, program));
  if (compiled) {
    compiled->names_instance_ = names_instance(program);
    return *std::move(compiled);
  }
  for (JqComplaint& one : compiled.error()) {
    one.at = std::min(one.at - std::min(one.at, prelude.size() + 1), program.size());
  }
  return fail("jq.syntax",
              message_text(explain_complaints(compiled.error(), program, functions())));
}

const JqFunctions& JqProgram::functions() {
  static const JqFunctions known = [] {
    JqFunctions names;
    auto program = compile_wrapped(fmt::format("{}builtins", kPrelude));
    if (!program) return names;
    const auto text = program->run(JqInput("null"), TimePoint(), Query::Mode::kOne);
    const Result<Json> list = text ? parse_json(*text) : parse_json("[]");
    for (const Json& name : list.value_or(Json::array())) names.insert(name.get<std::string>());
    return names;
  }();
  return known;
}

bool JqProgram::all_parse(std::span<const std::string> programs) {
  // libjq parses a text to its end before it resolves the names in it, which takes most of the
  // time. So the text ends with a deliberate syntax error, and all jq programs parse if that is the
  // only error.
  std::string text;
  for (const std::string& program : programs) {
    fmt::format_to(std::back_inserter(text), "({}\n), ", program);
  }
  text += "\n|";
  const auto compiled = compile_wrapped(text);
  return !compiled && compiled.error().size() == 1 &&
         compiled.error()[0].what == "syntax error, unexpected '|'" &&
         compiled.error()[0].at + 1 == text.size();
}

Status JqProgram::check(std::span<const std::string> programs) {
  for (const std::string& program : programs) TRY(check_program_text(program));
  const bool all_are_jq = all_parse(programs);
  // The jq programs are joined by commas, and are not one function each: libjq searches all code
  // after a function for uses of it.
  std::string text = fmt::format("{}null", kPrelude);
  bool all_names_exist = true;
  for (const std::string& program : programs) {
    if (all_are_jq && names_surely_exist(program, functions())) continue;
    all_names_exist = false;
    fmt::format_to(std::back_inserter(text), ", ({}({}\n))",
                   names_instance(program) ? "null as $instance | " : "", program);
  }
  if (all_names_exist) return {};
  if (compile_wrapped(text)) return {};
  if (programs.size() > 1) return fail("jq.syntax", "one of the jq programs does not compile");
  TRY(compile(programs.front()));
  return {};
  // The compiled jq program is owned by the Result; clang-tidy does not recognise that.
}  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks)

Result<std::string> JqProgram::run(const JqInput& input, TimePoint now, Query::Mode mode,
                                   std::string_view instance) {
  const JqInput::Value& value = *input.value_;
  if (value.json.kind() == JV_KIND_INVALID) {
    return fail(std::string(kJqBadCommand), "jq does not accept the input");
  }
  jq_state* jq = state_->jq;
  // Ends the evaluation, so that the jq_state holds no value until the next evaluation.
  struct Reset {
    jq_state* jq;
    ~Reset() { jq_start(jq, jv_null(), 0); }
  } const reset{jq};

  const jv seconds = jv_number(static_cast<double>(to_millis(now)) / 1000);
  const bool has_value = names_instance_ && !instance.empty();
  const jv own =
      has_value ? jv_parse_sized(instance.data(), static_cast<int>(instance.size())) : jv_null();
  jq_start(jq, JV_ARRAY(seconds, value.json.copy(), own), 0);
  const bool is_condition = mode == Query::Mode::kCondition;
  std::optional<Jv> result;
  for (;;) {
    Jv next(jq_next(jq));
    if (next.kind() == JV_KIND_INVALID) {
      if (jv_invalid_has_msg(next.copy()) != 0) {
        return fail(std::string(kJqBadCommand), error_text(Jv(jv_invalid_get_msg(next.copy()))));
      }
      break;
    }
    if (is_condition) {
      if (is_true(next)) return "true";
      continue;
    }
    if (result) {
      return fail(std::string(kJqBadCommand), "the program has several results, expected one");
    }
    result = std::move(next);
  }
  if (is_condition) return "false";
  if (!result) {
    return fail(std::string(kJqBadCommand), "the program has no result, expected one");
  }
  Writer writer(value.literals, true);
  const bool written = writer.write(*result);
  return std::move(writer).finish(written);
}

}  // namespace millrace
