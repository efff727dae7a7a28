// Key hints: what the loader says about a key that a mapping of flow control, or a compensation,
// does not have. Pure.
#pragma once

#include <string>
#include <string_view>

#include "language/grammar.h"

namespace millrace {

/// What to write in place of the unknown key, for the end of a message: `write "limit"`; empty:
/// nothing is known about it. Case, `_` and `-` in the key do not matter.
std::string_view hint_on_key(const Mapping& mapping, std::string_view key);

/// What to write in place of another value than the mapping, for the end of a message; empty: any
/// key with a value.
std::string_view hint_on_mapping(const Mapping& mapping);

/// The keys of the mapping, for a message after "the": ` keys here are "limit" and "key"`. Empty
/// for mappings other than those of flow control and compensations.
std::string keys_of_small_mapping(const Mapping& mapping);

}  // namespace millrace
