#include "cloudevents/headers.h"

#include <algorithm>

#include "base/characters.h"

namespace millrace {

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower_case);
  return out;
}

bool same_header(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

const std::string* find_header(const Headers& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (same_header(key, name)) return &value;
  }
  return nullptr;
}

std::string_view header_text(const Headers& headers, std::string_view name) {
  const std::string* const found = find_header(headers, name);
  return found == nullptr ? std::string_view() : *found;
}

}  // namespace millrace
