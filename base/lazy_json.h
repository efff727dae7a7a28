// LazyJson: a JSON value stored as text, as a tree, or both; one form is made from the other only
// when a caller needs it, and a large text that no step reads is never parsed. Copies share their
// content; changing one copy does not change the others. Only one thread at a time may use an
// object; its shared_text() may be passed to other threads.
//
// The engine thread makes no tree of a large value and writes none: it uses only those functions of
// a large value that read its text. value(), edit() and operator== may parse.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace millrace {

/// A value is large if its text has more bytes than this.
inline constexpr size_t kLargeJson = size_t{64} << 10;

class LazyJson {
 public:
  /// Constructs JSON null.
  LazyJson() = default;
  LazyJson(Json value);  // NOLINT(google-explicit-constructor)
  /// The value that a Json has which is made from the same braces.
  LazyJson(Json::initializer_list_t items);  // NOLINT(google-explicit-constructor)

  /// Precondition: `text` is JSON that this program wrote, such as an undamaged stored value, or a
  /// JSON text from outside that is_json() accepts.
  static LazyJson of_text(std::string text);

  /// Precondition: is_json() accepts `text`. So the value is known to nest at most kMaxJsonDepth
  /// deep, and nests_deeper(kMaxJsonDepth) does not search the text again.
  static LazyJson of_checked_text(std::string text);

  /// The value in the form that other threads make for the engine thread: with its text, and
  /// without a tree if it is large.
  static LazyJson of_tree(Json value);

  /// The value of a stored row, which may be damaged; nullopt if the text is not JSON. A short text
  /// is parsed at once, because most readers need the value; a longer text is only checked.
  static std::optional<LazyJson> of_stored(std::string text);

  /// The value of bytes from outside: of JSON that value, of other bytes a string, which is their
  /// Base64. A large JSON text is only checked, and stays as it was received.
  static LazyJson of_bytes(std::string_view bytes);

  /// An object whose values are strings, stored as text.
  static LazyJson object(
      std::initializer_list<std::pair<std::string_view, std::string_view>> members);
  /// An object with these members.
  static LazyJson of_members(std::map<std::string, LazyJson> members);
  /// An array of these elements.
  static LazyJson of_elements(std::span<const LazyJson> elements);
  /// An array of the values to which the elements point. No copies of them are made first.
  static LazyJson of_pointers(std::span<const LazyJson* const> elements);

  const Json& value() const {
    if (!value_) parse();
    return *value_;
  }

  /// The compact text, keys sorted. Texts from outside keep the form in which they were received.
  const std::string& text() const { return *shared_text(); }

  const std::shared_ptr<const std::string>& shared_text() const {
    if (!text_) write();
    return text_;
  }

  /// Whether the text has more than kLargeJson bytes. If the value has no text yet, this makes the
  /// text of a tree that may be large; so the answer never depends on which form the value has.
  bool is_large() const;
  /// The size of the text in bytes. If the value has no text yet, an estimate: the text has at most
  /// six times as many bytes.
  size_t weight() const;

  bool is_null() const;
  bool is_string() const { return type() == Json::value_t::string; }
  bool is_array() const { return type() == Json::value_t::array; }
  bool is_object() const { return type() == Json::value_t::object; }
  /// The name of the value's type, as type_name_of() gives it.
  const char* type_name() const;

  /// Whether the object has a member with that name. Precondition: is_object().
  bool has_member(const std::string& key) const;
  /// The characters of a string. Precondition: is_string().
  std::string string() const;
  /// The number of elements. Precondition: is_array().
  size_t size() const;
  /// The elements from the index `first` on, at most `most`, in order. Precondition: is_array().
  std::vector<LazyJson> elements(size_t first = 0,
                                 size_t most = std::numeric_limits<size_t>::max()) const;
  /// Whether arrays and objects in the value nest more than `depth` deep.
  bool nests_deeper(size_t depth) const;

  /// The value at `inside`, which is a part of value(); shares the tree of this value.
  LazyJson part(const Json& inside) const;

  /// A copy that has only the text, if the text is known. edit() copies a tree that a copy shares;
  /// so a value that is kept beside a value to be changed should have no tree.
  LazyJson without_tree() const;

  /// The tree, for changes in place; copies of this object that were made before keep the old
  /// value.
  Json& edit();
  /// Adds or replaces a member. Precondition: is_object().
  void set(const std::string& key, LazyJson member);

  /// The text if it is known; null: only the tree is known.
  const std::shared_ptr<const std::string>& known_text() const { return text_; }
  /// The size of the known text in bytes; 0: only the tree is known.
  size_t known_size() const { return text_ ? text_->size() : 0; }

  bool operator==(const LazyJson& other) const;

 private:
  void parse() const;
  void write() const;
  /// Moves the tree out of the object, or copies it if another object shares it.
  Json take();
  /// The type; of a number in a text that is not parsed: number_float, whatever number it is.
  Json::value_t type() const;

  // If neither value_ nor text_ is set, the value is JSON null.
  mutable std::shared_ptr<Json> value_;
  mutable std::shared_ptr<const std::string> text_;
  mutable size_t estimate_ = 0;  ///< of a tree without a text: its weight(); 0: not known
  bool is_shallow_ = false;      ///< known to nest at most kMaxJsonDepth deep
};

}  // namespace millrace
