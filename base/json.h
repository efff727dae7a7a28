// Json is nlohmann::json: object keys sorted, so that one value has one text. JSON from outside
// comes in through parse_json only, which keeps the limits that all other code may rely on.
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

/// How deep arrays and objects may nest in any JSON that is taken in.
inline constexpr size_t kMaxJsonDepth = 128;

/// Reads one JSON text (RFC 8259): valid UTF-8, no lone surrogates, numbers within a double's
/// range, nesting at most kMaxJsonDepth. Integers keep their digits, those beyond 64 bits as
/// base/big_integer.h has them; other numbers become the nearest double; of two members of one name
/// the last counts. Errors: `json.malformed` (with the byte where it stopped), `json.number`
/// (beyond a double), `json.depth`.
Result<Json> parse_json(std::string_view text);

/// Reads JSON that this program wrote: the same, but it may nest up to 1 024 deep.
Result<Json> parse_own_json(std::string_view text);

/// Whether parse_own_json would take it. Costs a pass over the text, and makes no tree.
bool is_own_json(std::string_view text);

/// Whether arrays and objects nest more than `depth` deep in the value.
bool nests_deeper(const Json& value, size_t depth);

/// Whether parse_json would take it.
bool is_json(std::string_view text);

/// The compact text: sorted keys, no white space. `value` holds valid UTF-8 strings only.
std::string dump_json(const Json& value);
/// The same, behind what `out` holds.
void append_json(const Json& value, std::string& out);
/// The text of an object of strings, made without a tree.
std::string object_text(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members);
/// A string with its quotes, of valid UTF-8.
void append_json_string(std::string_view text, std::string& out);

}  // namespace millrace
