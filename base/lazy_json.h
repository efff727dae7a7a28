// LazyJson: a JSON value stored as text, as a tree, or both; one form is made from the other only
// when a caller needs it, and a large text that no step reads is never parsed. Copies share their
// content; changing one copy does not change the others. Only one thread at a time may use an
// object; its shared_text() may be passed to other threads.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace millrace {

class LazyJson {
 public:
  /// Constructs JSON null.
  LazyJson() = default;
  LazyJson(Json value);  // NOLINT(google-explicit-constructor)

  /// Precondition: `text` is JSON that this program wrote, such as an undamaged stored value.
  static LazyJson of_text(std::string text);

  /// The value of a stored row, which may be damaged; nullopt if the text is not JSON. A short text
  /// is parsed at once, because most readers need the value; a longer text is only checked.
  static std::optional<LazyJson> of_stored(std::string text);

  /// An object whose values are strings, stored as text.
  static LazyJson object(
      std::initializer_list<std::pair<std::string_view, std::string_view>> members);

  const Json& value() const {
    if (!value_) parse();
    return *value_;
  }

  /// The compact text, keys sorted.
  const std::string& text() const { return *shared_text(); }

  const std::shared_ptr<const std::string>& shared_text() const {
    if (!text_) write();
    return text_;
  }

  /// The tree, for changes in place; copies of this object that were made before keep the old
  /// value.
  Json& edit();

  bool is_null() const;

  /// The text if it is known; null: only the tree is known.
  const std::shared_ptr<const std::string>& known_text() const { return text_; }
  /// The size of the known text in bytes; 0: only the tree is known.
  size_t known_size() const { return text_ ? text_->size() : 0; }

  bool operator==(const LazyJson& other) const;

 private:
  void parse() const;
  void write() const;

  // If neither value_ nor text_ is set, the value is JSON null.
  mutable std::shared_ptr<Json> value_;
  mutable std::shared_ptr<const std::string> text_;
};

}  // namespace millrace
