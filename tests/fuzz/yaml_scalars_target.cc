// YAML scalars: the first line is a tag, which may be empty, the rest a plain scalar. What it
// resolves to does not depend on where the scalar stands.
// Covers: language/core_schema.cc
#include <optional>
#include <string>

#include "language/core_schema.h"
#include "language/document.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/target.h"

namespace millrace::fuzz {
namespace {

void check_resolved(const Resolved& resolved, std::string_view text) {
  switch (resolved.kind) {
    case Node::Kind::kBroken:
      CHECK(!resolved.problem.empty() && is_utf8(resolved.problem), "{} has no problem",
            excerpt(text));
      return;
    case Node::Kind::kNull:
      CHECK(resolved.value.is_null(), "{} is no null", excerpt(text));
      return;
    case Node::Kind::kBool:
      CHECK(resolved.value.is_boolean(), "{} is no boolean", excerpt(text));
      return;
    case Node::Kind::kInt:
      CHECK(resolved.value.is_number_integer(), "{} is no integer", excerpt(text));
      return;
    case Node::Kind::kFloat:
      CHECK(resolved.value.is_number(), "{} is no number", excerpt(text));
      CHECK(parse_json(dump_json(resolved.value)), "{} is no number in JSON", excerpt(text));
      return;
    case Node::Kind::kString:
      CHECK(resolved.value == Json(std::string(text)), "{} is another string", excerpt(text));
      return;
    case Node::Kind::kSequence:
    case Node::Kind::kMapping:
      CHECK(false, "{} is a collection", excerpt(text));
  }
}

}  // namespace

FUZZ_TARGET(yaml_scalars) {
  const auto [tag, text] = first_line_and_rest(bytes);
  if (bytes.size() > 4096 || !is_utf8(bytes)) return;
  const Resolved plain = resolve_plain(text);
  check_resolved(plain, text);
  check_resolved(resolve_tagged(text, tag), text);
  CHECK(resolve_tagged(text, "tag:yaml.org,2002:str").kind == Node::Kind::kString,
        "{} is no string with the tag of one", excerpt(text));
  const Resolved number = resolve_tagged(text, "tag:yaml.org,2002:float");
  const bool is_number = plain.kind == Node::Kind::kInt || plain.kind == Node::Kind::kFloat;
  CHECK(is_number == (number.kind == Node::Kind::kFloat),
        "{} is a number only with or without a tag", excerpt(text));
  CHECK(!is_number || is_same_value(number.value, plain.value), "{} is another number with a tag",
        excerpt(text));

  // A JSON number, boolean or null is the same value as a plain scalar.
  if (const Result<Json> json = parse_json(text);
      json && !json->is_structured() && !json->is_string() && text == dump_json(*json)) {
    CHECK(plain.kind != Node::Kind::kString && plain.kind != Node::Kind::kBroken,
          "{} is JSON, but no scalar", excerpt(text));
    CHECK(is_same_value(plain.value, *json), "{} is another value than in JSON", excerpt(text));
  }
}

}  // namespace millrace::fuzz
