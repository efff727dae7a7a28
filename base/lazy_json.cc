#include "base/lazy_json.h"

#include <cstddef>

#include "base/check.h"

namespace millrace {
namespace {

constexpr size_t kParsedAtOnce = 4'096;  // bytes; a longer stored text is only checked at first

}  // namespace

LazyJson::LazyJson(Json value) : value_(std::make_shared<Json>(std::move(value))) {}

LazyJson LazyJson::of_text(std::string text) {
  LazyJson json;
  json.text_ = std::make_shared<const std::string>(std::move(text));
  return json;
}

std::optional<LazyJson> LazyJson::of_stored(std::string text) {
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

LazyJson LazyJson::object(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  return of_text(object_text(members));
}

void LazyJson::parse() const {
  if (!text_) {
    value_ = std::make_shared<Json>(nullptr);
    return;
  }
  Result<Json> parsed = parse_own_json(*text_);
  CHECK(parsed.has_value(), "the stored text of a value is not JSON: {}", parsed.error().message);
  value_ = std::make_shared<Json>(std::move(*parsed));
}

void LazyJson::write() const { text_ = std::make_shared<const std::string>(dump_json(value())); }

Json& LazyJson::edit() {
  value();
  if (value_.use_count() > 1) value_ = std::make_shared<Json>(*value_);
  text_.reset();
  return *value_;
}

bool LazyJson::is_null() const { return value_ ? value_->is_null() : (!text_ || *text_ == "null"); }

bool LazyJson::operator==(const LazyJson& other) const { return value() == other.value(); }

}  // namespace millrace
