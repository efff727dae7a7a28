// Json is nlohmann::json with sorted object keys, so that equal values have equal texts. JSON from
// outside is read by parse_json only, which enforces the limits that all other code relies on.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace millrace {

using Json = nlohmann::json;

/// How deep arrays and objects may nest in JSON from outside.
inline constexpr size_t kMaxJsonDepth = 128;

/// Reads one JSON text (RFC 8259): valid UTF-8, no lone surrogates, numbers within a double's
/// range, nesting at most kMaxJsonDepth. Integers keep their digits; those beyond 64 bits are
/// stored as base/big_integer.h describes. Other numbers become the nearest double. If two members
/// of an object have the same name, the later one counts. Errors: `json.malformed` (with the byte
/// at which reading stopped), `json.number` (a number beyond a double's range), `json.depth`
/// (nested too deep).
Result<Json> parse_json(std::string_view text);

/// Reads JSON that this program wrote, as parse_json does, but nested up to 1 024 deep.
Result<Json> parse_own_json(std::string_view text);

/// Whether parse_own_json accepts the text; builds no tree.
bool is_own_json(std::string_view text);

/// Whether arrays and objects in the value nest more than `depth` deep.
bool nests_deeper(const Json& value, size_t depth);

/// Whether the text is JSON that nests at most kMaxJsonDepth deep; builds no tree.
bool is_json(std::string_view text);

/// The compact text: sorted keys, no white space. Precondition: all strings in `value` are valid
/// UTF-8.
std::string dump_json(const Json& value);
/// Appends the compact text of `value` to `out` (see dump_json).
void append_json(const Json& value, std::string& out);
/// The compact text of an object whose values are strings, made without a tree.
std::string object_text(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members);
/// Appends `text`, which must be valid UTF-8, to `out` as a JSON string with quotes.
void append_json_string(std::string_view text, std::string& out);

}  // namespace millrace
