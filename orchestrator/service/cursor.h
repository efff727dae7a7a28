// Cursors: where a page of a list continues. A cursor is the `next` of the page before. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// The error of a cursor that no page of the list has returned: `cursor.malformed`.
tl::unexpected<Error> malformed_cursor();

/// A cursor that is a number from 1; nullopt: the first page, whose cursor is empty. Error
/// `cursor.malformed`.
Result<std::optional<uint64_t>> parse_number_cursor(std::string_view text);

}  // namespace millrace
