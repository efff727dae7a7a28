// Whole numbers that may have a unit of bytes.
// Covers: base/quantity.cc
#include <algorithm>

#include <fmt/format.h>

#include "base/quantity.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {

FUZZ_TARGET(quantities) {
  const std::optional<uint64_t> quantity = parse_quantity(bytes);
  if (!quantity) return;
  CHECK(*quantity >= 1, "{} is zero", excerpt(bytes));
  CHECK(bytes.front() >= '0' && bytes.front() <= '9', "{} begins without a digit", excerpt(bytes));
  CHECK(parse_quantity(fmt::format("{}", *quantity)) == quantity, "{} is not {} bytes",
        excerpt(bytes), *quantity);
  const bool has_unit = bytes.ends_with('B');
  CHECK(!has_unit || *quantity % 1024 == 0, "{} is {} bytes", excerpt(bytes), *quantity);
  CHECK(has_unit || parse_quantity(std::string(bytes) + "KiB").value_or(*quantity * 1024) ==
                        *quantity * 1024,
        "{} KiB are not 1024 times as many bytes", excerpt(bytes));
}

}  // namespace millrace::fuzz
