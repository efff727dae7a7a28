// LazyJson: a JSON value kept as text, as a tree, or both; one is made from the other only when a
// caller asks for it. Long data that no step reads is never parsed. Copies share; changing one
// leaves the others. One thread at a time may use an object; its shared_text() may pass to others.
#pragma once

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
  /// JSON null.
  LazyJson() = default;
  LazyJson(Json value);  // NOLINT(google-explicit-constructor)

  /// `text` is JSON that this program wrote: what the store gives back.
  static LazyJson of_text(std::string text);

  /// Text of a stored row, which may be damaged; nullopt: it is not JSON. A short text is parsed at
  /// once, because most readers ask for the value; a longer one is only checked.
  static std::optional<LazyJson> of_stored(std::string text);

  /// An object of strings, made as text.
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

  /// For changing in place.
  Json& edit();

  bool is_null() const;

  bool operator==(const LazyJson& other) const;

 private:
  void parse() const;
  void write() const;

  // Both unset: null.
  mutable std::shared_ptr<Json> value_;
  mutable std::shared_ptr<const std::string> text_;
};

}  // namespace millrace
