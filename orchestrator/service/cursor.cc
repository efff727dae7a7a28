#include "orchestrator/service/cursor.h"

#include <charconv>

namespace millrace {

tl::unexpected<Error> malformed_cursor() {
  return fail("cursor.malformed",
              "the cursor does not belong to this list; use the `next` of the page before");
}

Result<std::optional<uint64_t>> parse_number_cursor(std::string_view text) {
  if (text.empty()) return std::optional<uint64_t>();
  uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || number == 0) return malformed_cursor();
  return std::optional(number);
}

}  // namespace millrace
