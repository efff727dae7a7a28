// Splits JSON texts without building a tree. So the `data` of an event is passed on as its original
// text, with the same digits and the same order of keys, and no part of a text is parsed twice.
// Only the outermost level is split; the pieces are not parsed or checked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// A member of an object. Key and value are views into the text; the key includes its quotes.
struct JsonMember {
  std::string_view key;
  std::string_view value;
};

/// The members of the outermost object, in order; nullopt if the text is not an object. The text is
/// valid JSON exactly if the result is not nullopt and each key and each value is valid JSON
/// itself.
std::optional<std::vector<JsonMember>> split_object(std::string_view text);

/// The elements of the outermost array, in order; nullopt if the text is not an array. The text is
/// valid JSON exactly if the result is not nullopt and each element is valid JSON itself.
std::optional<std::vector<std::string_view>> split_array(std::string_view text);

/// Whether the text is a JSON string of printable ASCII without escapes. Most strings are of this
/// kind, and this test costs a fraction of what parsing the string costs.
bool is_plain_string(std::string_view json);

/// The value of a JSON string, given with its quotes; nullopt if `json` is not a JSON string.
std::optional<std::string> read_string(std::string_view json);

/// Appends `text` to `out` as a JSON string with quotes. Bytes that are not UTF-8 become U+FFFD.
void append_quoted(std::string_view text, std::string& out);

/// Whether the bytes are one JSON text (RFC 8259) and nothing else: no byte order mark, no NUL.
bool is_json_text(std::string_view text);

/// The JSON text without white space outside strings and otherwise unchanged.
std::string compact_json(std::string_view text);

/// How deep a JSON text nests: 0 for a scalar, 1 for `[]`.
size_t depth_of_json(std::string_view text);

}  // namespace millrace
