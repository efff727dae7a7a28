#include "base/json.h"

#include <array>
#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/big_integer.h"
#include "base/excerpt.h"
#include "base/json_scan.h"
#include "base/projection.h"

namespace millrace {
namespace {

/// The position of a byte order mark or NUL, which no JSON text contains (RFC 8259, sections 2 and
/// 8.1); npos if there is none. nlohmann skips a byte order mark and takes a NUL for the end of the
/// text.
size_t no_json_at(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) return 0;
  return text.find('\0');
}

/// The nesting limit for text that this program is supposed to have written. A damaged row may nest
/// deeper than the stack allows. simdjson has the same limit.
constexpr size_t kMaxOwnDepth = 1'024;

// Reading. simdjson parses most texts. nlohmann parses the following texts and decides whether they
// are valid: a text with a mistake, with an integer of more than 64 bits, with a number beyond a
// double's range or with a `\u` escape, and a very long text.

/// How many bytes of a message of nlohmann are shown.
constexpr size_t kLongestMessage = 240;

/// Longer texts are not given to simdjson: the buffers that it would retain are too large.
constexpr size_t kMostFastBytes = size_t{1} << 20;

using simdjson::dom::element_type;

std::string to_string(std::string_view text) { return std::string(text); }

Json to_json(const simdjson::dom::element& element) {
  switch (element.type()) {
    case element_type::OBJECT: {
      Json::object_t object;
      for (const auto& [key, value] : simdjson::dom::object(element)) {
        // Texts that this program wrote have sorted keys, so the end is the right place to insert.
        object.insert_or_assign(object.end(), to_string(key), to_json(value));
      }
      return object;
    }
    case element_type::ARRAY: {
      const simdjson::dom::array elements(element);
      Json::array_t array;
      array.reserve(elements.size());
      for (const auto& value : elements) array.push_back(to_json(value));
      return array;
    }
    case element_type::STRING:
      return to_string(std::string_view(element));
    case element_type::INT64: {
      const int64_t number(element);
      if (number < 0) return number;
      return static_cast<uint64_t>(number);
    }
    case element_type::UINT64:
      return uint64_t(element);
    case element_type::DOUBLE:
      return double(element);
    case element_type::BOOL:
      return bool(element);
    case element_type::NULL_VALUE:
      break;
  }
  return nullptr;
}

/// What is wanted of the element, as parse_json() with a projection says.
Json to_json(const simdjson::dom::element& element, const Projection& wanted) {
  if (wanted.is_whole || element.type() != element_type::OBJECT) return to_json(element);
  Json::object_t object;
  for (const auto& [key, value] : simdjson::dom::object(element)) {
    if (const Projection* const part = wanted.member(key)) {
      object.insert_or_assign(to_string(key), to_json(value, *part));
    }
  }
  return object;
}

/// The parser of this thread, which retains its buffers between calls.
simdjson::dom::parser& fast_parser() {
  thread_local simdjson::dom::parser parser;
  return parser;
}

/// Parses a text that has at most kMostFastBytes. simdjson copies the text with memcpy(), also an
/// empty one, whose pointer may be null.
simdjson::simdjson_result<simdjson::dom::element> parse_fast(std::string_view text) {
  if (text.empty()) return simdjson::EMPTY;
  return fast_parser().parse(text.data(), text.size());
}

/// Sets `root` if the text is one for simdjson, and simdjson accepts it.
bool read_fast(std::string_view text, simdjson::dom::element& root) {
  return text.size() <= kMostFastBytes && text.find("\\u") == std::string_view::npos &&
         parse_fast(text).get(root) == simdjson::SUCCESS;
}

/// Whether simdjson is sure that the text is JSON. simdjson and nlohmann disagree on some escapes
/// of surrogates, so a text with escapes that dump_json() does not write is not given to simdjson.
bool passes_fast_check(std::string_view text) {
  return text.size() <= kMostFastBytes && !has_foreign_escape(text) && !parse_fast(text).error();
}

/// Builds the tree as nlohmann does, except that integers beyond 64 bits become big integers.
class Builder : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  using json_sax_dom_parser::json_sax_dom_parser;

  /// nlohmann passes an integer beyond 64 bits as a float, together with its text.
  bool number_float(double value, const std::string& text) {
    if (text.find_first_of(".eE") != std::string::npos) {
      return json_sax_dom_parser::number_float(value, text);
    }
    Json::binary_t digits(std::vector<uint8_t>(text.begin(), text.end()));
    return binary(digits);
  }
};

/// The text after the id of an nlohmann message, for example after
/// "[json.exception.parse_error.101] ".
std::string_view without_id(std::string_view what) {
  const size_t bracket = what.find("] ");
  return bracket == std::string_view::npos ? what : what.substr(bracket + 2);
}

/// Checks what parse_json() refuses and parse_own_json() may accept.
Status check_outside_text(std::string_view text, size_t depth) {
  if (const size_t at = no_json_at(text); at != std::string_view::npos) {
    return fail("json.malformed",
                fmt::format("byte {} is a NUL or a byte order mark; JSON allows neither", at));
  }
  if (const size_t at = too_deep_at(text, depth); at != std::string_view::npos) {
    return fail("json.depth",
                fmt::format("JSON nests deeper than {} levels at byte {}", depth, at));
  }
  return {};
}

// Writing.

/// Whether any of the eight characters from `text` on must be escaped in a JSON string, because it
/// is below 0x20, `"` or `\`.
bool has_special(const char* text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHighs = kOnes << 7;
  uint64_t word = 0;
  std::memcpy(&word, text, sizeof word);
  const auto zeros = [](uint64_t bytes) { return (bytes - kOnes) & ~bytes; };
  const uint64_t below = (word - kOnes * 0x20) & ~word;
  return ((below | zeros(word ^ kOnes * '"') | zeros(word ^ kOnes * '\\')) & kHighs) != 0;
}

bool is_special(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

void append_escaped(char c, std::string& out) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
  }
}

template <class T>
void append_integer(T number, std::string& out) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

/// A message of nlohmann with its quotation shortened. nlohmann quotes the whole token that it read
/// last, which may be as long as a value and contain bytes that are not UTF-8.
std::string with_excerpt(std::string_view message) {
  const size_t begin = message.find('\'');
  const size_t end = message.rfind('\'');
  if (begin == end) return excerpt(message, kLongestMessage);
  const std::string_view quoted = message.substr(begin + 1, end - begin - 1);
  return excerpt(std::string(message.substr(0, begin + 1)) + excerpt(quoted) +
                     std::string(message.substr(end)),
                 kLongestMessage);
}

/// Reads a text that simdjson does not read, or refuses.
Result<Json> parse_with_nlohmann(std::string_view text) {
  if (const size_t at = too_deep_at(text, kMaxOwnDepth); at != std::string_view::npos) {
    return fail("json.depth",
                fmt::format("JSON nests deeper than {} levels at byte {}", kMaxOwnDepth, at));
  }
  try {
    Json json;
    Builder builder(json);
    Json::sax_parse(text.begin(), text.end(), &builder);
    return json;
  } catch (const Json::out_of_range& e) {
    return fail("json.number", with_excerpt(without_id(e.what())) +
                                   "; expected a number of at most about 1.8e308");
  } catch (const Json::exception& e) {
    return fail("json.malformed", with_excerpt(without_id(e.what())));
  }
}

}  // namespace

const Projection* Projection::member(std::string_view name) const {
  if (is_whole) return this;
  const auto found = members.find(name);
  return found == members.end() ? nullptr : &found->second;
}

void Projection::add(std::span<const std::string> path) {
  if (is_whole) return;
  if (!path.empty()) return members[path.front()].add(path.subspan(1));
  is_whole = true;
  members.clear();
}

void Projection::add(const Projection& other) {
  if (other.is_whole) add(std::span<const std::string>());
  if (is_whole) return;
  for (const auto& [name, part] : other.members) members[name].add(part);
}

Result<Json> parse_json(std::string_view text) {
  TRY(check_outside_text(text, kMaxJsonDepth));
  return parse_own_json(text);
}

Result<Json> parse_json(std::string_view text, const Projection& wanted, size_t depth) {
  TRY(check_outside_text(text, depth));
  simdjson::dom::element root;
  return read_fast(text, root) ? to_json(root, wanted) : parse_with_nlohmann(text);
}

Result<Json> parse_own_json(std::string_view text) {
  simdjson::dom::element root;
  return read_fast(text, root) ? to_json(root) : parse_with_nlohmann(text);
}

bool is_own_json(std::string_view text) {
  return passes_fast_check(text) || is_json_within(text, kMaxOwnDepth);
}

bool is_json(std::string_view text) {
  const bool is_within = no_json_at(text) == std::string_view::npos &&
                         too_deep_at(text, kMaxJsonDepth) == std::string_view::npos;
  return is_within && (passes_fast_check(text) || is_json_within(text, kMaxJsonDepth));
}

bool nests_deeper(const Json& value, size_t depth) {
  if (!value.is_structured()) return false;
  if (depth == 0) return true;
  return std::any_of(value.begin(), value.end(),
                     [&](const Json& item) { return nests_deeper(item, depth - 1); });
}

void append_json_string(std::string_view text, std::string& out) {
  out.push_back('"');
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    if (at + 8 <= text.size() && !has_special(text.data() + at)) {
      at += 8;
    } else if (!is_special(text[at])) {
      ++at;
    } else {
      out.append(text, done, at - done);
      append_escaped(text[at], out);
      done = ++at;
    }
  }
  out.append(text, done);
  out.push_back('"');
}

void append_json(const Json& value, std::string& out) {
  switch (value.type()) {
    case Json::value_t::object: {
      char before = '{';
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        out.push_back(std::exchange(before, ','));
        append_json_string(key, out);
        out.push_back(':');
        append_json(member, out);
      }
      out += before == '{' ? "{}" : "}";
      return;
    }
    case Json::value_t::array: {
      char before = '[';
      for (const Json& element : value) {
        out.push_back(std::exchange(before, ','));
        append_json(element, out);
      }
      out += before == '[' ? "[]" : "]";
      return;
    }
    case Json::value_t::string:
      return append_json_string(value.get_ref<const std::string&>(), out);
    case Json::value_t::number_unsigned:
      return append_integer(value.get<uint64_t>(), out);
    case Json::value_t::number_integer:
      return append_integer(value.get<int64_t>(), out);
    case Json::value_t::binary:
      out += big_digits(value);
      return;
    default:
      out += value.dump();  // a double as the shortest digits that read back as the same double
  }
}

std::string object_text(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  std::vector<std::pair<std::string_view, std::string_view>> sorted(members);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (const auto& [key, value] : sorted) {
    text.push_back(text.empty() ? '{' : ',');
    append_json_string(key, text);
    text.push_back(':');
    append_json_string(value, text);
  }
  return text.empty() ? "{}" : text + "}";
}

std::string dump_json(const Json& value) {
  std::string text;
  append_json(value, text);
  return text;
}

}  // namespace millrace
