#include "base/lazy_json.h"

#include <algorithm>

#include "base/big_integer.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/json_members.h"
#include "base/json_scan.h"

namespace millrace {
namespace {

constexpr size_t kParsedAtOnce = 4'096;  // bytes; a longer stored text is only checked at first

/// The size of a text is at most this many times the weight of its tree: an escaped character takes
/// six bytes.
constexpr size_t kMostGrowth = 6;

/// The size of the value's text in bytes, without escapes; a number counts as 8 bytes.
size_t weight_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::object: {
      size_t weight = 2;
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        weight += key.size() + 4 + weight_of(member);
      }
      return weight;
    }
    case Json::value_t::array: {
      size_t weight = 2;
      for (const Json& element : value) weight += 1 + weight_of(element);
      return weight;
    }
    case Json::value_t::string:
      return value.get_ref<const std::string&>().size() + 2;
    case Json::value_t::binary:
      return big_digits(value).size();
    default:
      return 8;
  }
}

}  // namespace

LazyJson::LazyJson(Json value) : value_(std::make_shared<Json>(std::move(value))) {}

LazyJson::LazyJson(Json::initializer_list_t items) : value_(std::make_shared<Json>(items)) {}

LazyJson LazyJson::of_text(std::string text) {
  LazyJson json;
  json.text_ = std::make_shared<const std::string>(std::move(text));
  return json;
}

LazyJson LazyJson::of_checked_text(std::string text) {
  LazyJson json = of_text(std::move(text));
  json.is_shallow_ = true;
  return json;
}

LazyJson LazyJson::of_tree(Json value) {
  LazyJson json(std::move(value));
  json.write();
  if (!json.is_large()) return json;
  json.is_shallow_ = !json.nests_deeper(kMaxJsonDepth);
  json.value_.reset();
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

LazyJson LazyJson::of_bytes(std::string_view bytes) {
  if (bytes.size() > kLargeJson) {
    if (is_json(bytes)) return of_checked_text(std::string(bytes));
    return of_text("\"" + base64_encode(bytes) + "\"");
  }
  Result<Json> value = parse_json(bytes);
  return value ? *std::move(value) : Json(base64_encode(bytes));
}

LazyJson LazyJson::object(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  return of_text(object_text(members));
}

LazyJson LazyJson::of_members(std::map<std::string, LazyJson> members) {
  size_t weight = 2;
  for (const auto& [key, member] : members) weight += key.size() + 4 + member.weight();
  if (weight <= kLargeJson) {
    Json tree = Json::object();
    for (auto& [key, member] : members) tree.emplace(key, member.take());
    return tree;
  }
  std::string text;
  text.reserve(weight);
  for (const auto& [key, member] : members) {
    text.push_back(text.empty() ? '{' : ',');
    append_json_string(key, text);
    text.push_back(':');
    text += member.text();
  }
  return of_text(text + "}");
}

LazyJson LazyJson::of_elements(std::span<const LazyJson> elements) {
  std::vector<const LazyJson*> pointers;
  pointers.reserve(elements.size());
  for (const LazyJson& element : elements) pointers.push_back(&element);
  return of_pointers(pointers);
}

LazyJson LazyJson::of_pointers(std::span<const LazyJson* const> elements) {
  size_t weight = 2;
  for (const LazyJson* const element : elements) weight += 1 + element->weight();
  if (weight <= kLargeJson) {
    Json::array_t tree;
    tree.reserve(elements.size());
    for (const LazyJson* const element : elements) tree.push_back(element->value());
    return Json(std::move(tree));
  }
  std::string text;
  text.reserve(weight);
  for (const LazyJson* const element : elements) {
    text.push_back(text.empty() ? '[' : ',');
    text += element->text();
  }
  text.push_back(']');
  return of_text(std::move(text));
}

void LazyJson::parse() const {
  if (!text_ || *text_ == "null") {
    value_ = std::make_shared<Json>(nullptr);
    return;
  }
  Result<Json> parsed = parse_own_json(*text_);
  CHECK(parsed.has_value(), "the stored text of a value is not JSON: {}", parsed.error().message);
  value_ = std::make_shared<Json>(std::move(*parsed));
}

/// All values that are null by default share one text: an instance may have thousands of calls
/// without an input or a result.
void LazyJson::write() const {
  static const auto kNull = std::make_shared<const std::string>("null");
  text_ = value_ ? std::make_shared<const std::string>(dump_json(*value_)) : kNull;
}

bool LazyJson::is_large() const {
  if (text_) return text_->size() > kLargeJson;
  return weight() > kLargeJson / kMostGrowth && text().size() > kLargeJson;
}

size_t LazyJson::weight() const {
  if (text_) return text_->size();
  if (!value_) return 4;  // null
  if (estimate_ == 0) estimate_ = weight_of(*value_);
  return estimate_;
}

Json::value_t LazyJson::type() const {
  if (value_) return value_->type();
  if (!text_) return Json::value_t::null;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  switch (*std::find_if_not(text_->c_str(), text_->c_str() + text_->size(), is_blank)) {
    case '{':
      return Json::value_t::object;
    case '[':
      return Json::value_t::array;
    case '"':
      return Json::value_t::string;
    case 't':
    case 'f':
      return Json::value_t::boolean;
    case 'n':
      return Json::value_t::null;
    default:
      return Json::value_t::number_float;
  }
}

bool LazyJson::is_null() const { return type() == Json::value_t::null; }

const char* LazyJson::type_name() const {
  return value_ ? type_name_of(*value_) : Json(type()).type_name();
}

bool LazyJson::has_member(const std::string& key) const {
  if (value_ || !is_large()) return value().contains(key);
  for (JsonLevel level(*text_); level.next();) {
    if (level.order(key) == 0) return true;
  }
  return false;
}

std::string LazyJson::string() const {
  if (value_) return value_->get<std::string>();
  // A text from outside may have white space around the quotes.
  const std::string_view text = *text_;
  const size_t begin = std::min(text.find('"'), text.size());
  const size_t last = text.rfind('"');
  return string_of_json(text.substr(begin, last - begin + 1));
}

size_t LazyJson::size() const {
  if (value_ || !is_large()) return value().size();
  size_t count = 0;
  for (JsonLevel level(*text_); level.next();) ++count;
  return count;
}

std::vector<LazyJson> LazyJson::elements(size_t first, size_t most) const {
  std::vector<LazyJson> elements;
  if (!is_large()) {
    const Json& array = value();
    for (size_t i = first; i < array.size() && elements.size() < most; ++i) {
      elements.push_back(part(array[i]));
    }
    return elements;
  }
  size_t index = 0;
  for (JsonLevel level(text()); elements.size() < most && level.next(); ++index) {
    if (index >= first) elements.push_back(of_text(std::string(level.value())));
  }
  return elements;
}

bool LazyJson::nests_deeper(size_t depth) const {
  if (value_ || !is_large()) return millrace::nests_deeper(value(), depth);
  if (is_shallow_ && depth >= kMaxJsonDepth) return false;
  return too_deep_at(*text_, depth) != std::string_view::npos;
}

LazyJson LazyJson::part(const Json& inside) const {
  value();
  LazyJson json;
  // A part is changed only by edit(), which copies a tree that has another owner.
  json.value_ = std::shared_ptr<Json>(
      value_, const_cast<Json*>(&inside));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return json;
}

LazyJson LazyJson::without_tree() const {
  if (!text_) return *this;
  LazyJson json;
  json.text_ = text_;
  json.is_shallow_ = is_shallow_;
  return json;
}

Json LazyJson::take() {
  value();
  return value_.use_count() == 1 ? std::move(*value_) : *value_;
}

Json& LazyJson::edit() {
  value();
  if (value_.use_count() > 1) value_ = std::make_shared<Json>(*value_);
  text_.reset();
  estimate_ = 0;
  is_shallow_ = false;
  return *value_;
}

void LazyJson::set(const std::string& key, LazyJson member) {
  const size_t weight = this->weight() + key.size() + 4 + member.weight();
  if (weight > kLargeJson) {
    const JsonTextMember added{key, member.text()};
    *this = of_text(text_with(text(), {&added, 1}));
    return;
  }
  edit()[key] = member.take();
  estimate_ = weight;
}

bool LazyJson::operator==(const LazyJson& other) const {
  if (text_ && other.text_ && *text_ == *other.text_) return true;
  return value() == other.value();
}

}  // namespace millrace
