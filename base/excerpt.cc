#include "base/excerpt.h"

#include <algorithm>

#include "base/bytes.h"

namespace millrace {
namespace {

constexpr size_t kLongestCharacter = 4;

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

/// At most the first `most` bytes of the text, not cut within a character.
std::string_view head(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  size_t size = most;
  for (size_t i = 1; i < kLongestCharacter && size > 0 && is_continuation(text[size]); ++i) --size;
  return text.substr(0, size);
}

/// The length in bytes of the first character of the text; 0 if that character is a control
/// character or not valid UTF-8.
size_t character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return lead >= ' ' && lead <= '~' ? 1 : 0;
  for (size_t size = 2; size <= std::min(text.size(), kLongestCharacter); ++size) {
    if (is_utf8(text.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

std::string shorten(std::string_view text, size_t most) {
  const std::string_view kept = head(text, most);
  std::string out(kept);
  if (kept.size() < text.size()) out += "...";
  return out;
}

std::string excerpt(std::string_view text, size_t most) {
  const std::string_view kept = head(text, most);
  std::string out;
  for (size_t at = 0; at < kept.size();) {
    const size_t size = character(kept.substr(at));
    if (size == 0) {
      out.push_back('?');
    } else {
      out.append(kept.substr(at, size));
    }
    at += std::max<size_t>(size, 1);
  }
  if (kept.size() < text.size()) out += "...";
  return out;
}

}  // namespace millrace
