// How a message shows a text that somebody wrote: it may be long, and hold any bytes.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

inline std::string excerpt(std::string_view text) {
  constexpr size_t kMost = 48;
  std::string out;
  for (const char c : text.substr(0, kMost)) out.push_back(c >= ' ' && c <= '~' ? c : '?');
  return text.size() > kMost ? out + "..." : out;
}

}  // namespace millrace
