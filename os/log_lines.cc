#include "os/log_lines.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/bytes.h"

namespace millrace {
namespace {

constexpr size_t kMostKindBytes = 100;
constexpr const char* kOtherKinds = "messages of other kinds";

/// A character of UTF-8.
struct Character {
  size_t size = 0;  ///< in bytes; 0: the text does not begin with a character
  uint32_t code = 0;
};

Character first_character(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  if (byte(0) < 0x80) return {1, byte(0)};
  for (size_t size = 2; size <= std::min<size_t>(text.size(), 4); ++size) {
    if (!is_utf8(text.substr(0, size))) continue;
    uint32_t code = byte(0) & (0x7fU >> size);
    for (size_t i = 1; i < size; ++i) code = code << 6 | (byte(i) & 0x3fU);
    return {size, code};
  }
  return {};
}

/// Whether a terminal shows the character as one character in its place.
bool is_harmless(uint32_t code) {
  const auto is_between = [code](uint32_t first, uint32_t last) {
    return code >= first && code <= last;
  };
  return !(code < 0x20 || is_between(0x7f, 0x9f) || is_between(0x200b, 0x200f) ||
           is_between(0x2028, 0x202e) || is_between(0x2066, 0x2069) || code == 0xfeff);
}

std::string escaped(uint32_t code) {
  if (code == '\n') return "\\n";
  if (code == '\r') return "\\r";
  if (code == '\t') return "\\t";
  return code < 0x100 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

std::string left_out_line(uint64_t count, const std::string& kind) {
  return fmt::format("{} more messages like this were left out: {}", count, kind);
}

}  // namespace

std::string one_line(std::string_view text, size_t most) {
  std::string line;
  while (!text.empty()) {
    const Character next = first_character(text);
    std::string shown;
    if (next.size == 0) {
      shown = fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else {
      shown = is_harmless(next.code) ? std::string(text.substr(0, next.size)) : escaped(next.code);
    }
    if (line.size() + shown.size() > most) return line + "...";
    line += shown;
    text.remove_prefix(std::max<size_t>(next.size, 1));
  }
  return line;
}

std::string kind_of_message(std::string_view text) {
  std::string kind;
  std::string word;
  const auto end_word = [&] {
    // A point at the end of a word is punctuation.
    const std::string_view inner =
        std::string_view(word).substr(0, word.find_last_not_of(".,;:") + 1);
    const bool varies = inner.find_first_of("0123456789./#") != std::string_view::npos;
    kind += varies ? "#" : word;
    word.clear();
  };
  for (size_t at = 0; at < text.size() && kind.size() < kMostKindBytes; ++at) {
    const char byte = text[at];
    if (byte == '"' || byte == '`') {
      word += '#';
      at = std::min(text.find(byte, at + 1), text.size());
    } else if (byte == ' ') {
      end_word();
      kind += ' ';
    } else {
      word += byte;
    }
  }
  end_word();
  return one_line(kind, kMostKindBytes);
}

std::vector<std::string> LogLines::add(std::string_view message, TimePoint now, bool urgent) {
  std::vector<std::string> lines = end_periods(now);
  std::string kind = kind_of_message(message);
  if (kinds_.size() >= kMostKinds && !kinds_.contains(kind)) kind = kOtherKinds;
  Kind& known = kinds_.try_emplace(std::move(kind), Kind{.since = now}).first->second;
  if (known.written < kMostOfAKind || urgent) {
    ++known.written;
    lines.push_back(one_line(message, kMostBytes));
  } else {
    ++known.left_out;
  }
  return lines;
}

std::vector<std::string> LogLines::end_periods(TimePoint now) {
  std::vector<std::string> lines;
  std::erase_if(kinds_, [&](const auto& one) {
    const auto& [kind, known] = one;
    // The clock may have been set back.
    if (now >= known.since && now - known.since < kPeriod) return false;
    if (known.left_out > 0) lines.push_back(left_out_line(known.left_out, kind));
    return true;
  });
  return lines;
}

std::vector<std::string> LogLines::rest() {
  std::vector<std::string> lines;
  for (auto& [kind, known] : kinds_) {
    if (known.left_out > 0) lines.push_back(left_out_line(known.left_out, kind));
    known.left_out = 0;
  }
  return lines;
}

}  // namespace millrace
