// Scans the text of a JSON value without building a tree: checks it, measures how deep it nests,
// and reads its outermost level. The time is proportional to the length of the text, and far below
// that of parsing. Functions for text that is JSON end for any other text, too, with any result.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace millrace {

/// Whether the text is one JSON value (RFC 8259) as parse_json() describes it, whose arrays and
/// objects nest at most `depth` deep.
bool is_json_within(std::string_view text, size_t depth);

/// The first place from `at` on, outside strings, at which there is a bracket (`[`, `]`, `{` or
/// `}`); the size of the text if there is none. Precondition: `at` is not inside a string.
size_t next_json_bracket(std::string_view text, size_t at);

/// The first byte at which arrays and objects nest more than `depth` deep; npos if there is none.
/// Counts the brackets outside strings, so the result is right for every text that is JSON.
size_t too_deep_at(std::string_view text, size_t depth);

/// Whether the text has a `\u` escape of a character that dump_json() writes without an escape.
bool has_foreign_escape(std::string_view json);

/// The characters of a JSON string, which is given with its quotes.
std::string string_of_json(std::string_view json);

/// Reads the outermost level of the text of an array or object, item by item:
///   JsonLevel level(json);
///   while (level.next()) use(level.value());
class JsonLevel {
 public:
  /// Precondition: `json` is the text of an array or object; it must outlive the JsonLevel.
  explicit JsonLevel(std::string_view json);

  /// Goes to the next item. False if there is none.
  bool next();

  /// The text of the item's value, a view into the text of the array or object.
  std::string_view value() const { return value_; }
  /// How the name of the member compares with `name`: below 0 if it sorts before `name`, 0 if it is
  /// `name`. Precondition: the item is the member of an object.
  int order(std::string_view name) const;
  /// The place of the item in the text: of a member, the place of its name.
  size_t begin() const { return begin_; }
  /// The place of the item's value in the text.
  size_t value_at() const { return value_at_; }
  /// The place behind the latest item; after the last item, the place of the closing bracket.
  size_t end() const { return at_; }

 private:
  void skip_space();

  std::string_view json_;
  bool is_object_ = false;
  size_t at_ = 0;
  size_t begin_ = 0;
  size_t value_at_ = 0;
  std::string_view key_;  ///< with its quotes
  std::string_view value_;
};

}  // namespace millrace
