// A JSON value as text and as a tree: dividing a value and joining its parts gives the value again,
// and the functions that read only its text give the results of the same functions on its tree. A
// string of more than kLargeJson bytes is added to the value, so that the text stays without a
// tree.
//
// Covers: base/lazy_json.cc base/json_scan.cc base/bytes.cc
#include <map>
#include <vector>

#include "base/lazy_json.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

void check_same_facts(const LazyJson& text, const LazyJson& tree) {
  CHECK(text.is_null() == tree.is_null() && text.is_string() == tree.is_string() &&
            text.is_array() == tree.is_array() && text.is_object() == tree.is_object(),
        "{} has two types", excerpt(text.text()));
  if (text.is_string()) CHECK(text.string() == tree.string(), "two strings");
  CHECK(std::string_view(text.type_name()) == tree.type_name(), "two names of a type: {}",
        excerpt(text.text()));
  for (const size_t depth : {0, 1, 2, 16, 128}) {
    CHECK(text.nests_deeper(depth) == tree.nests_deeper(depth), "two depths: {}",
          excerpt(text.text()));
  }
}

void check_elements(const LazyJson& text, const Json& value) {
  CHECK(text.size() == value.size(), "{} elements of {}", text.size(), value.size());
  const std::vector<LazyJson> elements = text.elements();
  CHECK(elements.size() == value.size(), "{} elements of {}", elements.size(), value.size());
  CHECK(LazyJson::of_elements(elements).value() == value, "the elements join to another value: {}",
        excerpt(text.text()));
  const size_t middle = value.size() / 2;
  const std::vector<LazyJson> part = text.elements(middle, 2);
  for (size_t i = 0; i < part.size(); ++i) {
    CHECK(part[i].value() == value[middle + i], "element {} is another value", middle + i);
  }
}

void check_members(const LazyJson& text, const Json& value) {
  std::map<std::string, LazyJson> members;
  for (const auto& [name, member] : value.items()) {
    CHECK(text.has_member(name), "the member {} is missing", excerpt(name));
    members.emplace(name, LazyJson::of_text(dump_json(member)));
  }
  CHECK(LazyJson::of_members(members).value() == value, "the members join to another value: {}",
        excerpt(text.text()));
  Json changed = value;
  LazyJson set = text;
  for (const char* const name : {"", "a", "zz"}) {
    CHECK(text.has_member(name) == value.contains(name), "has_member({}) is wrong", name);
    changed[name] = Json{1};
    set.set(name, LazyJson::of_text("[1]"));
    CHECK(set.value() == changed, "set({}) gives another value: {}", name, excerpt(set.text()));
  }
  CHECK(text.value() == value, "a change of a copy changes the value");
}

void check_lazy(const LazyJson& text, const Json& value) {
  const LazyJson tree(value);
  check_same_facts(text, tree);
  if (value.is_array()) check_elements(text.without_tree(), value);
  if (value.is_object()) check_members(text.without_tree(), value);
  CHECK(text == tree, "a text is not its tree: {}", excerpt(text.text()));
}

}  // namespace

FUZZ_TARGET(lazy_json) {
  if (bytes.size() > 16'384) return;
  const LazyJson any = LazyJson::of_bytes(bytes);
  CHECK(is_json(any.text()), "of_bytes() makes a text that is not JSON");
  const Result<Json> value = parse_json(bytes);
  if (!value) {
    CHECK(any.is_string() && any.string() == base64_encode(bytes), "other bytes are not Base64");
    return;
  }
  CHECK(any.value() == *value, "of_bytes() makes another value: {}", excerpt(bytes));
  CHECK(LazyJson::of_stored(std::string(bytes)).has_value(), "of_stored() refuses {}",
        excerpt(bytes));
  check_lazy(LazyJson::of_checked_text(std::string(bytes)), *value);

  static const std::string filling = "\"" + std::string(kLargeJson, 'x') + "\"";
  std::string large = "[" + std::string(bytes) + "," + filling + "]";
  if (value->is_object()) {
    large = std::string(bytes);
    large.insert(large.find('{') + 1, "\"m\":" + filling + (value->empty() ? "" : ","));
  }
  const Result<Json> large_value = parse_json(large);
  if (large_value) check_lazy(LazyJson::of_text(large), *large_value);
}

}  // namespace millrace::fuzz
