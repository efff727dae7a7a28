#include "expressions/fast_lane_values.h"

#include <cmath>
#include <limits>
#include <unordered_map>

namespace millrace::fast {
namespace {

template <class T>
int three_way(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

}  // namespace

int compare(const Json& a, const Json& b) {
  if (const int order = three_way(rank(a), rank(b)); order != 0) return order;
  if (is_any_number(a)) {
    if (std::isnan(number_of(a))) return -1;
    return std::isnan(number_of(b)) ? 1 : three_way(number_of(a), number_of(b));
  }
  if (a.is_string()) return text_of(a).compare(text_of(b));
  if (a.is_object()) {
    auto left = a.begin();
    auto right = b.begin();
    for (; left != a.end() && right != b.end(); ++left, ++right) {
      if (const int order = left.key().compare(right.key()); order != 0) return order;
    }
  }
  if (a.is_array() || (a.is_object() && a.size() == b.size())) {
    auto left = a.begin();
    auto right = b.begin();
    for (; left != a.end() && right != b.end(); ++left, ++right) {
      if (const int order = compare(*left, *right); order != 0) return order;
    }
  }
  return a.is_structured() ? three_way(a.size(), b.size()) : 0;
}

bool is_before(const Json& a, const Json& b) { return compare(a, b) < 0 && compare(b, a) > 0; }

void merge(Json& object, const Json& right) {
  for (auto member = right.begin(); member != right.end(); ++member) {
    object[member.key()] = *member;
  }
}

/// OrderedJson finds a key by a linear search. So an index of the keys is built first.
void merge(OrderedJson& object, const OrderedJson& right) {
  auto& members = *object.get_ptr<OrderedJson::object_t*>();
  std::unordered_map<std::string, size_t> places;
  for (const auto& member : members) places.emplace(member.first, places.size());
  for (auto member = right.begin(); member != right.end(); ++member) {
    const auto [place, is_new] = places.emplace(member.key(), members.size());
    if (is_new) {
      members.emplace_back(member.key(), *member);
    } else {
      members.begin()[static_cast<std::ptrdiff_t>(place->second)].second = *member;
    }
  }
}

void make_plain(Json& value) {
  if (value.is_structured()) {
    for (Json& item : value) make_plain(item);
  } else if (value.is_number_float()) {
    const double number = number_of(value);
    if (std::isnan(number)) value = nullptr;
    if (std::isinf(number)) value = std::copysign(std::numeric_limits<double>::max(), number);
    if (number == 0) value = 0;
  }
}

}  // namespace millrace::fast
