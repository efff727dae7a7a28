#include "base/attributes.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <forward_list>
#include <numeric>
#include <vector>

#include "base/check.h"

namespace millrace {
namespace {

/// Bytes before the name of a packed attribute: two sizes and a kind.
constexpr size_t kHead = 9;

}  // namespace

/// Reads the packed attributes one after the other.
class Attributes::Walk {
 public:
  explicit Walk(std::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool next(Attribute& attribute) {
    if (at_ == end_) return false;
    uint32_t name_size = 0;
    uint32_t text_size = 0;
    std::memcpy(&name_size, at_, 4);
    std::memcpy(&text_size, at_ + 4, 4);
    const char* const name = at_ + kHead;
    const char* const text = name + name_size;
    attribute.name = {name, name_size};
    attribute.text = {text, text_size};
    attribute.kind = static_cast<Attribute::Kind>(at_[8]);
    at_ = text + text_size;
    return true;
  }

 private:
  const char* at_;
  const char* const end_;
};

Attributes::Attributes(std::span<const Attribute> attributes) {
  const size_t size = std::accumulate(attributes.begin(), attributes.end(), size_t{0},
                                      [](size_t sum, const Attribute& one) {
                                        return sum + kHead + one.name.size() + one.text.size();
                                      });
  bytes_.resize(size);
  char* at = bytes_.data();
  for (const Attribute& one : attributes) {
    const auto name_size = static_cast<uint32_t>(one.name.size());
    const auto text_size = static_cast<uint32_t>(one.text.size());
    std::memcpy(at, &name_size, 4);
    std::memcpy(at + 4, &text_size, 4);
    at[8] = static_cast<char>(one.kind);
    at = std::copy(one.name.begin(), one.name.end(), at + kHead);
    at = std::copy(one.text.begin(), one.text.end(), at);
  }
}

Attributes::Attributes(const Event& event) {
  std::vector<Attribute> attributes = {
      {"specversion", "1.0"}, {"id", event.id}, {"source", event.source}, {"type", event.type}};
  const auto add = [&](std::string_view name, const std::optional<std::string>& text) {
    if (text) attributes.push_back({name, *text});
  };
  add("subject", event.subject);
  add("time", event.time);
  add("datacontenttype", event.datacontenttype);
  add("dataschema", event.dataschema);
  std::forward_list<std::string> numbers;
  for (const auto& [name, value] : event.extensions) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      attributes.push_back({name, *text});
    } else if (const auto* flag = std::get_if<bool>(&value)) {
      attributes.push_back({name, *flag ? "true" : "false", Attribute::Kind::kBoolean});
    } else {
      numbers.push_front(std::to_string(std::get<int32_t>(value)));
      attributes.push_back({name, numbers.front(), Attribute::Kind::kInteger});
    }
  }
  *this = Attributes(attributes);
}

std::optional<std::string_view> Attributes::find(std::string_view name) const {
  Walk walk(bytes_);
  Attribute one;
  while (walk.next(one)) {
    if (one.name == name) return one.text;
  }
  return std::nullopt;
}

Event Attributes::event() const {
  Event event;
  Walk walk(bytes_);
  Attribute one;
  while (walk.next(one)) {
    if (one.name == "id") {
      event.id = one.text;
    } else if (one.name == "source") {
      event.source = one.text;
    } else if (one.name == "type") {
      event.type = one.text;
    } else if (one.name == "subject") {
      event.subject = one.text;
    } else if (one.name == "time") {
      event.time = one.text;
    } else if (one.name == "datacontenttype") {
      event.datacontenttype = one.text;
    } else if (one.name == "dataschema") {
      event.dataschema = one.text;
    } else if (one.name != "specversion") {
      AttributeValue value = std::string();
      if (one.kind == Attribute::Kind::kBoolean) {
        value = one.text == "true";
      } else if (one.kind == Attribute::Kind::kInteger) {
        int32_t number = 0;
        std::from_chars(one.text.data(), one.text.data() + one.text.size(), number);
        value = number;
      } else {
        value = std::string(one.text);
      }
      event.extensions.emplace(one.name, std::move(value));
    }
  }
  return event;
}

}  // namespace millrace
