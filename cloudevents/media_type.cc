#include "cloudevents/media_type.h"

#include <algorithm>

#include "base/byte_set.h"
#include "cloudevents/headers.h"

namespace millrace {
namespace {

constexpr ByteSet kToken = kAsciiLettersAndDigits.with("!#$%&'*+-.^_`|~");

std::string_view take_token(std::string_view& text) {
  size_t size = 0;
  while (size < text.size() && kToken.has(text[size])) ++size;
  const std::string_view token = text.substr(0, size);
  text.remove_prefix(size);
  return token;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<std::string> take_quoted_string(std::string_view& text) {
  std::string value;
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return value;
    }
    if (text[i] == '\\' && ++i == text.size()) break;
    value.push_back(text[i]);
  }
  return std::nullopt;
}

std::string_view trim_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<MediaType> parse_media_type(std::string_view text) {
  const auto printable = [](char c) { return c == '\t' || (c >= ' ' && c <= '~'); };
  if (!std::all_of(text.begin(), text.end(), printable)) return std::nullopt;
  text = trim_blanks(text);

  MediaType media;
  const std::string_view type = take_token(text);
  if (type.empty() || !take_char(text, '/')) return std::nullopt;
  const std::string_view subtype = take_token(text);
  if (subtype.empty()) return std::nullopt;
  media.essence = to_lower(type) + "/" + to_lower(subtype);

  for (text = trim_blanks(text); take_char(text, ';'); text = trim_blanks(text)) {
    text = trim_blanks(text);
    if (text.empty() || text.front() == ';') continue;
    const std::string_view name = take_token(text);
    if (name.empty() || !take_char(text, '=') || text.empty()) return std::nullopt;
    if (text.front() == '"') {
      std::optional<std::string> value = take_quoted_string(text);
      if (!value) return std::nullopt;
      media.parameters.emplace_back(to_lower(name), std::move(*value));
    } else {
      const std::string_view value = take_token(text);
      if (value.empty()) return std::nullopt;
      media.parameters.emplace_back(to_lower(name), value);
    }
  }
  if (!text.empty()) return std::nullopt;
  return media;
}

}  // namespace millrace
