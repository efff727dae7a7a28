#include "base/json_scan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "base/characters.h"

namespace millrace {
namespace {

constexpr uint64_t kOneInEach = 0x0101010101010101;
constexpr uint64_t kHighInEach = kOneInEach << 7;

uint64_t eight_bytes(const char* text) {
  uint64_t word = 0;
  std::memcpy(&word, text, sizeof word);
  return word;
}

/// Not zero exactly if one of the eight bytes is `c`; to be masked with kHighInEach.
uint64_t where(uint64_t word, char c) {
  const uint64_t zero = word ^ (kOneInEach * static_cast<unsigned char>(c));
  return (zero - kOneInEach) & ~zero;
}

/// Whether one of the eight bytes from `text` on is a quote or a backslash.
bool may_end_string(const char* text) {
  const uint64_t word = eight_bytes(text);
  return ((where(word, '"') | where(word, '\\')) & kHighInEach) != 0;
}

/// Whether one of the eight bytes from `text` on ends a string, begins an escape, or may not be in
/// a string.
bool is_special_in_string(const char* text) {
  const uint64_t word = eight_bytes(text);
  const uint64_t below = (word - kOneInEach * 0x20) & ~word;
  return may_end_string(text) || (below & kHighInEach) != 0;
}

/// Whether one of the eight bytes from `text` on is a quote or a bracket.
bool has_structure(const char* text) {
  const uint64_t word = eight_bytes(text);
  const uint64_t curly = word | (kOneInEach * 0x20);  // turns `[` and `]` into `{` and `}`
  return ((where(word, '"') | where(curly, '{') | where(curly, '}')) & kHighInEach) != 0;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool opens(char c) { return c == '{' || c == '['; }
bool closes(char c) { return c == '}' || c == ']'; }

/// The place behind the string whose opening quote is before `at`.
size_t end_of_string(std::string_view text, size_t at) {
  while (at < text.size()) {
    if (at + 8 <= text.size() && !may_end_string(text.data() + at)) {
      at += 8;
      continue;
    }
    const char c = text[at++];
    if (c == '"') return at;
    if (c == '\\') ++at;
  }
  return text.size();
}

/// The place behind the value that begins at `at`.
size_t end_of_value(std::string_view text, size_t at) {
  if (at >= text.size()) return text.size();
  if (text[at] == '"') return end_of_string(text, at + 1);
  if (!opens(text[at])) {
    const auto ends = [](char c) { return c == ',' || closes(c) || is_blank(c); };
    return static_cast<size_t>(
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), ends) -
        text.begin());
  }
  size_t depth = 0;
  while ((at = next_json_bracket(text, at)) < text.size()) {
    if (opens(text[at++])) {
      ++depth;
    } else if (--depth == 0) {
      return at;
    }
  }
  return text.size();
}

constexpr unsigned kNoHex = 0x10000;

/// The number that the four characters after `\u` stand for; kNoHex if they are not hexadecimal.
unsigned hex_at(std::string_view text, size_t at) {
  if (at + 4 > text.size()) return kNoHex;
  unsigned number = 0;
  for (const char c : text.substr(at, 4)) {
    const char low = lower_case(c);
    if (!is_digit(c) && (low < 'a' || low > 'f')) return kNoHex;
    number = number * 16 + static_cast<unsigned>(is_digit(c) ? c - '0' : low - 'a' + 10);
  }
  return number;
}

bool is_high_surrogate(unsigned unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low_surrogate(unsigned unit) { return unit >= 0xdc00 && unit < 0xe000; }

void append_code_point(unsigned point, std::string& out) {
  const auto put = [&out](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | (point >> 6));
    put(0x80 | (point & 0x3f));
  } else if (point < 0x10000) {
    put(0xe0 | (point >> 12));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  } else {
    put(0xf0 | (point >> 18));
    put(0x80 | ((point >> 12) & 0x3f));
    put(0x80 | ((point >> 6) & 0x3f));
    put(0x80 | (point & 0x3f));
  }
}

constexpr std::string_view kShortEscapes = "\"\\/bfnrt";
constexpr std::string_view kShortMeanings = "\"\\/\b\f\n\r\t";

/// Checks one JSON text whose bytes are valid UTF-8, from its first byte to its last one.
class JsonCheck {
 public:
  JsonCheck(std::string_view text, size_t depth) : text_(text), most_(depth) {}

  bool holds() {
    skip_space();
    if (!value()) return false;
    while (!open_.empty()) {
      skip_space();
      if (at_ == text_.size()) return false;
      const char bracket = open_.back();
      if (text_[at_] == bracket) {
        ++at_;
        open_.pop_back();
        continue;
      }
      if (text_[at_] != ',') return false;
      ++at_;
      skip_space();
      if (!item(bracket)) return false;
    }
    skip_space();
    return at_ == text_.size();
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  /// Takes an item of the innermost array or object, which ends with `bracket`.
  bool item(char bracket) {
    if (bracket == ']') return value();
    if (at_ == text_.size() || text_[at_] != '"' || !string()) return false;
    skip_space();
    if (at_ == text_.size() || text_[at_] != ':') return false;
    ++at_;
    skip_space();
    return value();
  }

  /// Takes a scalar, or the beginning of an array or object: its opening bracket and first item.
  bool value() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') return string();
      if (!opens(c)) return c == '-' || is_digit(c) ? number() : literal();
      if (open_.size() == most_) return false;
      const char bracket = c == '{' ? '}' : ']';
      ++at_;
      skip_space();
      if (at_ < text_.size() && text_[at_] == bracket) {
        ++at_;
        return true;
      }
      open_.push_back(bracket);
      if (bracket == ']') continue;
      if (at_ == text_.size() || text_[at_] != '"' || !string()) return false;
      skip_space();
      if (at_ == text_.size() || text_[at_] != ':') return false;
      ++at_;
      skip_space();
    }
    return false;
  }

  bool literal() {
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return true;
    }
    return false;
  }

  bool digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > begin;
  }

  bool number() {
    constexpr size_t kSurelyFinite = 300;  // digits of an integer
    const size_t begin = at_;
    if (text_[at_] == '-') ++at_;
    const bool is_zero = at_ < text_.size() && text_[at_] == '0';
    if (is_zero) {
      ++at_;
    } else if (!digits()) {
      return false;
    }
    bool may_overflow = at_ - begin > kSurelyFinite;
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (!digits()) return false;
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      if (!digits()) return false;
      may_overflow = true;
    }
    if (!may_overflow) return true;
    const std::string token(text_.substr(begin, at_ - begin));
    return std::isfinite(std::strtod(token.c_str(), nullptr));
  }

  bool string() {
    ++at_;
    while (at_ < text_.size()) {
      if (at_ + 8 <= text_.size() && !is_special_in_string(text_.data() + at_)) {
        at_ += 8;
        continue;
      }
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        ++at_;
      } else if (!escape()) {
        return false;
      }
    }
    return false;
  }

  bool escape() {
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    at_ += 2;
    if (c != 'u') return c != '\0' && kShortEscapes.find(c) != std::string_view::npos;
    const unsigned unit = hex_at(text_, at_);
    at_ += 4;
    if (unit == kNoHex || is_low_surrogate(unit)) return false;
    if (!is_high_surrogate(unit)) return true;
    if (text_.substr(at_, 2) != "\\u" || !is_low_surrogate(hex_at(text_, at_ + 2))) return false;
    at_ += 6;
    return true;
  }

  std::string_view text_;
  size_t most_;
  size_t at_ = 0;
  std::vector<char> open_;  ///< the closing brackets of the arrays and objects that are open
};

/// How often the text has the character; more than `most` if it has it more often than that.
size_t count_to(std::string_view text, char c, size_t most) {
  size_t count = 0;
  for (size_t at = 0; count <= most && (at = text.find(c, at)) != std::string_view::npos; ++at) {
    ++count;
  }
  return count;
}

}  // namespace

bool is_json_within(std::string_view text, size_t depth) {
  return is_utf8(text) && JsonCheck(text, depth).holds();
}

size_t next_json_bracket(std::string_view text, size_t at) {
  while (at < text.size()) {
    if (at + 8 <= text.size() && !has_structure(text.data() + at)) {
      at += 8;
      continue;
    }
    const char c = text[at];
    if (opens(c) || closes(c)) return at;
    at = c == '"' ? end_of_string(text, at + 1) : at + 1;
  }
  return text.size();
}

size_t too_deep_at(std::string_view text, size_t depth) {
  // JSON that is deeper has more than `depth` opening brackets. Most texts have fewer, also if
  // those in strings count.
  if (text.size() / 2 <= depth) return std::string_view::npos;
  if (count_to(text, '{', depth) + count_to(text, '[', depth) <= depth) {
    return std::string_view::npos;
  }
  size_t open = 0;
  for (size_t at = 0; (at = next_json_bracket(text, at)) < text.size(); ++at) {
    if (opens(text[at])) {
      if (++open > depth) return at;
    } else if (open > 0) {
      --open;
    }
  }
  return std::string_view::npos;
}

bool has_foreign_escape(std::string_view json) {
  for (size_t at = 0; (at = json.find('\\', at)) != std::string_view::npos; at += 2) {
    if (json.substr(at + 1, 1) == "u" && hex_at(json, at + 2) >= 0x20) return true;
  }
  return false;
}

std::string string_of_json(std::string_view json) {
  if (json.size() < 2) return {};
  const std::string_view inner = json.substr(1, json.size() - 2);
  std::string text;
  text.reserve(inner.size());
  for (size_t at = 0; at < inner.size();) {
    const size_t next = std::min(inner.find('\\', at), inner.size());
    text.append(inner, at, next - at);
    at = next + 2;
    if (at > inner.size()) break;
    if (inner[next + 1] != 'u') {
      const size_t which = kShortEscapes.find(inner[next + 1]);
      text.push_back(which < kShortMeanings.size() ? kShortMeanings[which] : inner[next + 1]);
      continue;
    }
    unsigned point = hex_at(inner, at);
    at += 4;
    if (is_high_surrogate(point)) {
      const unsigned low = hex_at(inner, at + 2);
      if (is_low_surrogate(low)) point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
      at += 6;
    }
    append_code_point(point, text);
  }
  return text;
}

JsonLevel::JsonLevel(std::string_view json) : json_(json) {
  skip_space();
  is_object_ = at_ < json_.size() && json_[at_] == '{';
  at_ = std::min(at_ + 1, json_.size());
}

void JsonLevel::skip_space() {
  while (at_ < json_.size() && is_blank(json_[at_])) ++at_;
}

bool JsonLevel::next() {
  skip_space();
  if (at_ < json_.size() && json_[at_] == ',') {
    ++at_;
    skip_space();
  }
  if (at_ >= json_.size() || closes(json_[at_])) return false;
  begin_ = at_;
  if (is_object_) {
    at_ = end_of_string(json_, at_ + 1);
    key_ = json_.substr(begin_, at_ - begin_);
    skip_space();
    at_ = std::min(at_ + 1, json_.size());  // the colon
    skip_space();
  }
  value_at_ = at_;
  at_ = end_of_value(json_, at_);
  value_ = json_.substr(value_at_, at_ - value_at_);
  return true;
}

int JsonLevel::order(std::string_view name) const {
  if (key_.find('\\') != std::string_view::npos) return string_of_json(key_).compare(name);
  // A key in a text that is JSON has two quotes.
  return key_.size() < 2 ? -1 : key_.substr(1, key_.size() - 2).compare(name);
}

}  // namespace millrace
