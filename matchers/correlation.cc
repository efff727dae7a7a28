#include "matchers/correlation.h"

#include <algorithm>

#include "base/check.h"

namespace millrace {

std::optional<std::string> correlation_key(const Attributes& event,
                                           const std::vector<std::string>& attributes) {
  std::string key;
  for (const std::string& name : attributes) {
    const std::optional<std::string_view> value = event.find(name);
    if (!value) return std::nullopt;
    key += std::to_string(value->size()) + ':';
    key += *value;
  }
  return key;
}

size_t choose_entry(std::span<const uint32_t> waiting_per_entry,
                    std::span<const size_t> matching_entries) {
  CHECK(!matching_entries.empty());
  return *std::min_element(
      matching_entries.begin(), matching_entries.end(),
      [&](size_t a, size_t b) { return waiting_per_entry[a] < waiting_per_entry[b]; });
}

bool is_complete(std::span<const uint32_t> waiting_per_entry) {
  CHECK(!waiting_per_entry.empty());
  return std::all_of(waiting_per_entry.begin(), waiting_per_entry.end(),
                     [](uint32_t waiting) { return waiting > 0; });
}

}  // namespace millrace
