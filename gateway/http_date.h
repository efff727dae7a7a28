// The date in the head of an answer.
#pragma once

#include <ctime>
#include <string>

namespace millrace {

/// The present time, such as `Tue, 15 Nov 1994 08:12:31 GMT` (RFC 9110, section 5.6.7).
inline std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

}  // namespace millrace
