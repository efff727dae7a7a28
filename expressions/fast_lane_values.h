// jq's rules for JSON values: their order, their truth, the names of their types, and `+` for two
// objects. The functions exist for Json, whose keys are sorted, and for OrderedJson, whose keys
// keep the order in which they were set. Private to fast_lane.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/big_integer.h"
#include "base/json.h"
#include "expressions/jq_text.h"

namespace millrace::fast {

template <class J>
const std::string& text_of(const J& string) {
  return *string.template get_ptr<const std::string*>();
}

template <class J>
double number_of(const J& number) {
  return double_of(number);
}

template <class J>
const J& null_json() {
  static const J json;
  return json;
}

template <class J>
const J& boolean(bool value) {
  static const J jsons[] = {false, true};
  return jsons[value ? 1 : 0];
}

/// jq's order of types. The rank also decides the order of two values of different types.
enum class Rank { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };

template <class J>
Rank rank(const J& value) {
  if (value.is_null()) return Rank::kNull;
  if (value.is_boolean()) return value.template get<bool>() ? Rank::kTrue : Rank::kFalse;
  if (is_any_number(value)) return Rank::kNumber;
  if (value.is_string()) return Rank::kString;
  return value.is_array() ? Rank::kArray : Rank::kObject;
}

template <class J>
std::string_view kind_name(const J& value) {
  switch (rank(value)) {
    case Rank::kNull:
      return "null";
    case Rank::kFalse:
    case Rank::kTrue:
      return "boolean";
    case Rank::kNumber:
      return "number";
    case Rank::kString:
      return "string";
    case Rank::kArray:
      return "array";
    case Rank::kObject:
      return "object";
  }
  return "";
}

/// Whether jq counts the value as true: all values except null and false.
template <class J>
bool holds(const J& value) {
  return value.is_boolean() ? value.template get<bool>() : !value.is_null();
}

/// The size of a value's JSON text in bytes, without escapes, and the depth of its nesting.
struct Extent {
  size_t bytes = 0;
  size_t depth = 0;
};

template <class J>
Extent extent(const J& value) {
  if (value.is_string()) return {text_of(value).size() + 2, 0};
  if (is_any_number(value)) return {8, 0};
  if (!value.is_structured()) return {4, 0};
  Extent whole{2, 0};
  for (auto member = value.begin(); member != value.end(); ++member) {
    const Extent inner = extent(*member);
    whole.bytes += inner.bytes + 1 + (value.is_object() ? member.key().size() + 3 : 0);
    whole.depth = std::max(whole.depth, inner.depth);
  }
  ++whole.depth;
  return whole;
}

/// Compares in jq's order: numbers as doubles, with NaN below all numbers (also below itself),
/// strings by bytes, objects first by their sorted keys. A result below 0: `a` comes first; 0: they
/// are equal.
int compare(const Json& a, const Json& b);
inline int compare(const OrderedJson& a, const OrderedJson& b) { return compare(Json(a), Json(b)); }

/// Whether `a` comes before `b` in jq's order, except that NaN does not come before itself
/// (std::sort needs that).
bool is_before(const Json& a, const Json& b);

/// Adds the members of `right` to `object`; they replace members with the same name.
void merge(Json& object, const Json& right);
void merge(OrderedJson& object, const OrderedJson& right);

/// Replaces computed numbers that a result cannot contain: NaN by null, an infinity by the largest
/// double of its sign, negative zero by 0.
void make_plain(Json& value);

}  // namespace millrace::fast
