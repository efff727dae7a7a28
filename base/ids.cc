#include "base/ids.h"

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {

InstanceId make_instance_id(TimePoint time, std::array<uint8_t, 10> randomness) {
  InstanceId id;
  const auto millis = static_cast<uint64_t>(to_millis(time));
  for (size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<uint8_t>(millis >> (40 - 8 * i));
  std::copy(randomness.begin(), randomness.end(), id.bytes.begin() + 6);
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x70);  // version 7
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);  // variant of RFC 9562
  return id;
}

TimePoint time_of(const InstanceId& id) {
  int64_t millis = 0;
  for (size_t i = 0; i < 6; ++i) millis = millis << 8 | id.bytes[i];
  return from_millis(millis);
}

std::string to_string(const InstanceId& id) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(36);
  for (size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    text.push_back(kDigits[id.bytes[i] >> 4]);
    text.push_back(kDigits[id.bytes[i] & 0x0f]);
  }
  return text;
}

Result<InstanceId> parse_instance_id(std::string_view text) {
  const auto malformed = [&] {
    return fail("id.malformed", fmt::format("\"{}\" is not an instance id; expected a UUID such as "
                                            "0190b5a4-7c1e-7f2a-8000-0123456789ab",
                                            excerpt(text)));
  };
  if (text.size() != 36) return malformed();
  InstanceId id;
  size_t nibbles = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (c != '-') return malformed();
      continue;
    }
    int nibble = 0;
    if (c >= '0' && c <= '9') {
      nibble = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      nibble = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      nibble = c - 'A' + 10;
    } else {
      return malformed();
    }
    id.bytes[nibbles / 2] = static_cast<uint8_t>(id.bytes[nibbles / 2] << 4 | nibble);
    ++nibbles;
  }
  return id;
}

bool is_identifier(std::string_view name) {
  if (name.empty() || name.size() > 128) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
}

}  // namespace millrace
