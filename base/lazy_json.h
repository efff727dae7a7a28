// LazyJson: a JSON value kept as text, as a tree, or both, made from each other only when asked.
// An instance that is loaded, woken and stored without anybody reading its data is never parsed.
// Copies share; changing one leaves the others. One thread at a time may use an object, but its
// shared_text() may travel.
#pragma once

#include <initializer_list>
#include <memory>
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
  // Both unset: null.
  mutable std::shared_ptr<Json> value_;
  mutable std::shared_ptr<const std::string> text_;
};

}  // namespace millrace
