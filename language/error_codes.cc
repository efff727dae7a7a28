#include "language/error_codes.h"

#include <algorithm>

#include "base/characters.h"
#include "language/error_table.h"

namespace millrace {

std::vector<std::string_view> error_code_names() {
  std::vector<std::string_view> names;
  for (const ErrorEntry& one : instance_errors()) names.push_back(one.code);
  return names;
}

bool is_reserved_code(std::string_view text) {
  const auto begins_with = [&](std::string_view prefix) {
    return text.size() >= prefix.size() &&
           std::equal(prefix.begin(), prefix.end(), text.begin(),
                      [](char a, char b) { return a == lower_case(b); });
  };
  return begins_with("direktiv.") || begins_with("millrace.");
}

}  // namespace millrace
