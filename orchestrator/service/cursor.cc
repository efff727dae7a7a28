#include "orchestrator/service/cursor.h"

#include "base/whole_number.h"

namespace millrace {

tl::unexpected<Error> malformed_cursor() {
  return fail("cursor.malformed",
              "the cursor does not belong to this list; use the `next` of the page before");
}

Result<std::optional<uint64_t>> parse_number_cursor(std::string_view text) {
  if (text.empty()) return std::optional<uint64_t>();
  const std::optional<uint64_t> number = whole_number(text);
  if (number.value_or(0) == 0) return malformed_cursor();
  return number;
}

}  // namespace millrace
