// LazyJson: a JSON value kept as text, as a tree, or both; one is made from the other only when a
// caller asks for it. Long data that no step reads is never parsed. Copies share; changing one
// leaves the others. One thread at a time may use an object; its shared_text() may pass to others.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/json.h"

namespace millrace {

class LazyJson {
 public:
  /// JSON null.
  LazyJson() = default;
  LazyJson(Json value)  // NOLINT(google-explicit-constructor)
      : value_(std::make_shared<Json>(std::move(value))) {}

  /// `text` is JSON that this program wrote: what the store gives back.
  static LazyJson of_text(std::string text) {
    LazyJson json;
    json.text_ = std::make_shared<const std::string>(std::move(text));
    return json;
  }

  /// Text of a stored row, which may be damaged; nullopt: it is not JSON. A short text is parsed at
  /// once, because most readers ask for the value; a longer one is only checked.
  static std::optional<LazyJson> of_stored(std::string text) {
    LazyJson json;
    if (text.size() <= kParsedAtOnce) {
      Result<Json> value = parse_own_json(text);
      if (!value) return std::nullopt;
      json.value_ = std::make_shared<Json>(*std::move(value));
    } else if (!is_own_json(text)) {
      return std::nullopt;
    }
    json.text_ = std::make_shared<const std::string>(std::move(text));
    return json;
  }

  /// An object of strings, made as text.
  static LazyJson object(
      std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
    return of_text(object_text(members));
  }

  const Json& value() const {
    if (!value_ && !text_) value_ = std::make_shared<Json>(nullptr);
    if (!value_) {
      Result<Json> parsed = parse_own_json(*text_);
      CHECK(parsed.has_value(), "stored text is no JSON: {}", parsed.error().message);
      value_ = std::make_shared<Json>(std::move(*parsed));
    }
    return *value_;
  }

  /// The compact text, keys sorted.
  const std::string& text() const { return *shared_text(); }

  const std::shared_ptr<const std::string>& shared_text() const {
    if (!text_) text_ = std::make_shared<const std::string>(dump_json(value()));
    return text_;
  }

  /// For changing in place.
  Json& edit() {
    value();
    if (value_.use_count() > 1) value_ = std::make_shared<Json>(*value_);
    text_.reset();
    return *value_;
  }

  bool is_null() const { return value_ ? value_->is_null() : (!text_ || *text_ == "null"); }

  bool operator==(const LazyJson& other) const { return value() == other.value(); }

 private:
  static constexpr size_t kParsedAtOnce = 4'096;  // bytes

  // Both unset: null.
  mutable std::shared_ptr<Json> value_;
  mutable std::shared_ptr<const std::string> text_;
};

}  // namespace millrace
