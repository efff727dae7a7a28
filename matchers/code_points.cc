#include "matchers/code_points.h"

#include <algorithm>

namespace millrace {
namespace {

constexpr char32_t kLastCodePoint = 0x10ffff;

}  // namespace

CodePoints normalised(CodePoints ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const CodePointRange& a, const CodePointRange& b) { return a.first < b.first; });
  CodePoints merged;
  for (const CodePointRange& range : ranges) {
    if (!merged.empty() && range.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  CodePoints set;
  for (const CodePointRange& range : merged) {
    if (range.first < 0xd800) set.push_back({range.first, std::min<char32_t>(range.last, 0xd7ff)});
    if (range.last > 0xdfff) set.push_back({std::max<char32_t>(range.first, 0xe000), range.last});
  }
  return set;
}

CodePoints complement(const CodePoints& set) {
  CodePoints rest;
  char32_t next = 0;
  for (const CodePointRange& range : set) {
    if (range.first > next) rest.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) rest.push_back({next, kLastCodePoint});
  return normalised(std::move(rest));
}

std::u32string decode_utf8(std::string_view text) {
  std::u32string decoded;
  decoded.reserve(text.size());
  for (const char byte : text) {
    const auto b = static_cast<unsigned char>(byte);
    if (b < 0x80) {
      decoded.push_back(b);
    } else if (b >= 0xf0) {
      decoded.push_back(b & 0x07);
    } else if (b >= 0xe0) {
      decoded.push_back(b & 0x0f);
    } else if (b >= 0xc0) {
      decoded.push_back(b & 0x1f);
    } else {
      decoded.back() = decoded.back() << 6 | (b & 0x3f);
    }
  }
  return decoded;
}

void append_utf8(char32_t c, std::string& text) {
  const auto push = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto push_tail = [&](int shift) { push(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xc0 | c >> 6);
    push_tail(0);
  } else if (c < 0x10000) {
    push(0xe0 | c >> 12);
    push_tail(6);
    push_tail(0);
  } else {
    push(0xf0 | c >> 18);
    push_tail(12);
    push_tail(6);
    push_tail(0);
  }
}

}  // namespace millrace
