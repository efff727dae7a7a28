#include "model/hops.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace millrace {

uint32_t hops_of(const Event& event) {
  const auto found = event.extensions.find(std::string(kHopsAttribute));
  if (found == event.extensions.end()) return 0;
  int32_t hops = 0;
  if (const auto* number = std::get_if<int32_t>(&found->second)) {
    hops = *number;
  } else if (const auto* text = std::get_if<std::string>(&found->second)) {
    // An extension attribute that was received as a header is text.
    std::from_chars(text->data(), text->data() + text->size(), hops);
  }
  return static_cast<uint32_t>(std::clamp(hops, 0, static_cast<int32_t>(kMaxHops + 1)));
}

}  // namespace millrace
