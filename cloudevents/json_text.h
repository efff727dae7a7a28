// JSON texts taken apart without a tree: an event's `data` is handed on as the text that it was,
// with its digits and the order of its keys, and nothing is read twice. Only the outermost level is
// looked at here; the pieces are as yet unread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// A member of an object: both are views into the text, the key with its quotes.
struct JsonMember {
  std::string_view key;
  std::string_view value;
};

/// The members of the outermost object, in order, or nullopt where the text is no object. The text
/// is JSON exactly if this is not nullopt and each key and value, on its own, is JSON.
std::optional<std::vector<JsonMember>> split_object(std::string_view text);

/// The same for the elements of an array.
std::optional<std::vector<std::string_view>> split_array(std::string_view text);

/// Whether it is a JSON string of printable ASCII without escapes: what most strings are, and known
/// for a fraction of what the parser costs.
bool is_plain_string(std::string_view json);

/// The text of a string, from its JSON with the quotes; nullopt if that is no JSON string.
std::optional<std::string> read_string(std::string_view json);

/// `text` as a JSON string. Bytes that are no UTF-8 become U+FFFD.
std::string quote_string(std::string_view text);

/// Whether the bytes are one JSON text (RFC 8259) and nothing else: no byte order mark, no NUL.
bool is_json_text(std::string_view text);

/// A JSON text without white space outside of strings; all else as it is.
std::string compact_json(std::string_view text);

/// How deep a JSON text nests: 0 for a scalar, 1 for `[]`.
size_t depth_of_json(std::string_view text);

}  // namespace millrace
