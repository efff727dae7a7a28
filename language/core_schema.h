// What a scalar of YAML means by the 1.2 core schema (YAML 1.2.2, section 10.3). Pure.
#pragma once

#include <string>
#include <string_view>

#include "language/document.h"

namespace millrace {

struct Resolved {
  Node::Kind kind = Node::Kind::kBroken;
  Json value;
  std::string problem;  ///< for kBroken: what is wrong with it, as a sentence
};

/// A plain scalar without a tag: null, bool, int, float, or else a string. Integers past 64 bits
/// become floats, of which to_json() gives the digits back. Broken: `.inf`, `.nan` and all that
/// JSON has no number for.
Resolved resolve_plain(std::string_view text);

/// A scalar with a tag as libyaml resolves it (`tag:yaml.org,2002:int`, `!`). Broken: a tag outside
/// the core schema, a text that is none of the tag's kind.
Resolved resolve_tagged(std::string_view text, std::string_view tag);

/// The problem with a tag on a list or mapping; empty if there is none.
std::string collection_tag_problem(std::string_view tag, Node::Kind kind);

}  // namespace millrace
