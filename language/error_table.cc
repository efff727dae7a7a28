#include "language/error_table.h"

#include <algorithm>

namespace millrace {

const ErrorEntry* find_error(std::string_view code) {
  for (const auto group :
       {instance_errors(), request_errors(), program_errors(), definition_errors()}) {
    const auto found = std::lower_bound(
        group.begin(), group.end(), code,
        [](const ErrorEntry& one, std::string_view wanted) { return one.code < wanted; });
    if (found != group.end() && found->code == code) return &*found;
  }
  return nullptr;
}

}  // namespace millrace
