// Which JSON texts are also YAML with the same meaning. Any thread.
#pragma once

#include <algorithm>
#include <string>

#include "base/json.h"
#include "matchers/code_points.h"

namespace millrace::fuzz {

/// Whether libyaml reads the text of the value as it is. libyaml accepts some characters only as
/// escapes, which dump_json() does not write, takes others for line breaks, and accepts no key of
/// more than 1 024 characters.
inline bool is_readable_json(const Json& value) {
  const auto is_readable = [](const std::string& text) {
    const std::u32string characters = decode_utf8(text);
    return std::none_of(characters.begin(), characters.end(), [](char32_t c) {
      return (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe ||
             c == 0xffff;
    });
  };
  if (value.is_string()) return is_readable(value.get_ref<const std::string&>());
  for (auto item = value.begin(); value.is_structured() && item != value.end(); ++item) {
    if (value.is_object() && (item.key().size() > 1000 || !is_readable(item.key()))) return false;
    if (!is_readable_json(*item)) return false;
  }
  return true;
}

}  // namespace millrace::fuzz
