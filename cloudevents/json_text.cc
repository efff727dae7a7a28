#include "cloudevents/json_text.h"

#include <algorithm>

#include "base/json.h"

namespace millrace {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// Walks a text that may be anything; whoever gets a `false` gives up.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
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

  /// From the quote that it stands on to the closing one.
  bool take_string(std::string_view& out) {
    skip_space();
    const size_t begin = at_;
    if (at_ >= text_.size() || text_[at_] != '"') return false;
    if (!skip_string()) return false;
    out = text_.substr(begin, at_ - begin);
    return true;
  }

  /// Finds where a value ends, by its quotes and brackets only.
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
      while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != ',' &&
             text_[at_] != ']' && text_[at_] != '}') {
        ++at_;
      }
    }
    out = text_.substr(begin, at_ - begin);
    return !out.empty();
  }

 private:
  bool skip_string() {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return true;
      }
    }
    return false;
  }

  bool skip_brackets() {
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!skip_string()) return false;
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') {
        ++depth;
      } else if ((c == '}' || c == ']') && --depth == 0) {
        return true;
      }
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
};

/// Calls `outside` with each byte that is no part of a string, `inside` with each that is.
template <class Outside, class Inside>
void for_each_byte(std::string_view text, Outside outside, Inside inside) {
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!in_string) {
      in_string = c == '"';
      in_string ? inside(c) : outside(c);
      continue;
    }
    inside(c);
    if (c == '\\' && i + 1 < text.size()) {
      inside(text[++i]);
    } else if (c == '"') {
      in_string = false;
    }
  }
}

}  // namespace

std::optional<std::vector<JsonMember>> split_object(std::string_view text) {
  Scanner scanner(text);
  std::vector<JsonMember> members;
  if (!scanner.take('{')) return std::nullopt;
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
  return std::all_of(inner.begin(), inner.end(),
                     [](char c) { return c >= 0x20 && c < 0x7f && c != '\\' && c != '"'; });
}

std::optional<std::string> read_string(std::string_view json) {
  if (is_plain_string(json)) return std::string(json.substr(1, json.size() - 2));
  if (!is_json_text(json)) return std::nullopt;
  Result<Json> value = parse_json(json);
  if (!value || !value->is_string()) return std::nullopt;
  return std::move(value->get_ref<std::string&>());
}

std::string quote_string(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool is_json_text(std::string_view text) {
  // The parser takes a NUL for the end of its input and skips a byte order mark.
  return text.find('\0') == std::string_view::npos && !text.starts_with("\xef\xbb\xbf") &&
         is_json(text);
}

std::string compact_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_byte(
      text,
      [&](char c) {
        if (!is_space(c)) out.push_back(c);
      },
      [&](char c) { out.push_back(c); });
  return out;
}

size_t depth_of_json(std::string_view text) {
  size_t depth = 0;
  size_t deepest = 0;
  for_each_byte(
      text,
      [&](char c) {
        if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
        if ((c == '}' || c == ']') && depth > 0) --depth;
      },
      [](char) {});
  return deepest;
}

}  // namespace millrace
