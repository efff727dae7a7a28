#include "cloudevents/json_text.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/bytes.h"
#include "base/json.h"
#include "base/json_scan.h"

namespace millrace {
namespace {

bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// The position after the string that begins at `at`; npos if the closing quote is missing.
size_t end_of_string(std::string_view text, size_t at) {
  while ((at = text.find('"', at + 1)) != std::string_view::npos) {
    size_t backslashes = 0;
    while (text[at - 1 - backslashes] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return at + 1;
  }
  return at;
}

/// Scans a text that may be malformed. If a member function returns false, the caller must stop.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
  }

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }

  /// Takes a string, from the opening to the closing quote, after white space.
  bool take_string(std::string_view& out) {
    skip_space();
    const size_t begin = at_;
    if (at_ >= text_.size() || text_[at_] != '"') return false;
    if (!skip_string()) return false;
    out = text_.substr(begin, at_ - begin);
    return true;
  }

  /// Takes a value, after white space; the end of the value is found by quotes and brackets only.
  bool take_value(std::string_view& out) {
    skip_space();
    const size_t begin = at_;
    if (at_ >= text_.size()) return false;
    const char first = text_[at_];
    if (first == '"') {
      if (!skip_string()) return false;
    } else if (first == '{' || first == '[') {
      if (!skip_brackets()) return false;
    } else {
      // A byte order mark, which the parser would skip, is not the beginning of a value.
      if (static_cast<unsigned char>(first) >= 0x80) return false;
      while (at_ < text_.size() && !is_json_space(text_[at_]) && text_[at_] != ',' &&
             text_[at_] != ']' && text_[at_] != '}') {
        ++at_;
      }
    }
    out = text_.substr(begin, at_ - begin);
    return !out.empty();
  }

 private:
  bool skip_string() {
    at_ = end_of_string(text_, at_);
    return at_ != std::string_view::npos;
  }

  bool skip_brackets() {
    size_t depth = 0;
    while ((at_ = next_json_bracket(text_, at_)) < text_.size()) {
      const char c = text_[at_++];
      if (c == '{' || c == '[') {
        ++depth;
      } else if (--depth == 0) {
        return true;
      }
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// Whether one of the eight bytes from `text` on is a quote, white space or another control
/// character.
bool has_quote_or_space(const char* text) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  uint64_t word = 0;
  std::memcpy(&word, text, sizeof word);
  const uint64_t quotes = word ^ (kOnes * '"');
  const uint64_t found = ((quotes - kOnes) & ~quotes) | ((word - kOnes * 0x21) & ~word);
  return (found & (kOnes << 7)) != 0;
}

}  // namespace

std::optional<std::vector<JsonMember>> split_object(std::string_view text) {
  constexpr size_t kUsualMembers = 16;  // of an event
  Scanner scanner(text);
  std::vector<JsonMember> members;
  if (!scanner.take('{')) return std::nullopt;
  members.reserve(kUsualMembers);
  if (!scanner.take('}')) {
    do {
      JsonMember member;
      if (!scanner.take_string(member.key) || !scanner.take(':') ||
          !scanner.take_value(member.value)) {
        return std::nullopt;
      }
      members.push_back(member);
    } while (scanner.take(','));
    if (!scanner.take('}')) return std::nullopt;
  }
  if (!scanner.at_end()) return std::nullopt;
  return members;
}

std::optional<std::vector<std::string_view>> split_array(std::string_view text) {
  Scanner scanner(text);
  std::vector<std::string_view> elements;
  if (!scanner.take('[')) return std::nullopt;
  if (!scanner.take(']')) {
    do {
      if (!scanner.take_value(elements.emplace_back())) return std::nullopt;
    } while (scanner.take(','));
    if (!scanner.take(']')) return std::nullopt;
  }
  if (!scanner.at_end()) return std::nullopt;
  return elements;
}

bool is_plain_string(std::string_view json) {
  if (json.size() < 2 || json.front() != '"' || json.back() != '"') return false;
  const std::string_view inner = json.substr(1, json.size() - 2);
  return is_printable_ascii(inner) && inner.find('\\') == std::string_view::npos &&
         inner.find('"') == std::string_view::npos;
}

std::optional<std::string> read_string(std::string_view json) {
  if (is_plain_string(json)) return std::string(json.substr(1, json.size() - 2));
  if (!is_json_text(json)) return std::nullopt;
  if (json.starts_with('"') && json.ends_with('"')) return string_of_json(json);
  Result<Json> value = parse_json(json);
  if (!value || !value->is_string()) return std::nullopt;
  return std::move(value->get_ref<std::string&>());
}

void append_quoted(std::string_view text, std::string& out) {
  if (is_utf8(text)) {
    append_json_string(text, out);
  } else {
    out += Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

bool is_json_text(std::string_view text) {
  // The parser treats a NUL as the end of its input and skips a byte order mark.
  return text.find('\0') == std::string_view::npos && !text.starts_with("\xef\xbb\xbf") &&
         is_json(text);
}

std::string compact_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t copied = 0;
  for (size_t at = 0; at < text.size();) {
    if (at + 8 <= text.size() && !has_quote_or_space(text.data() + at)) {
      at += 8;
    } else if (text[at] == '"') {
      at = end_of_string(text, at);
    } else {
      if (is_json_space(text[at])) {
        out.append(text, copied, at - copied);
        copied = at + 1;
      }
      ++at;
    }
  }
  return out.append(text, copied);
}

size_t depth_of_json(std::string_view text) {
  size_t depth = 0;
  size_t deepest = 0;
  for (size_t at = 0; (at = next_json_bracket(text, at)) < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  return deepest;
}

}  // namespace millrace
