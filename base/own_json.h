// Whether a text is JSON that this program may have written, told without making a tree of it.
#pragma once

#include <string_view>

namespace millrace {

/// Whether parse_own_json (base/json.h) would take it. Costs a pass over the text.
bool is_own_json(std::string_view text);

}  // namespace millrace
