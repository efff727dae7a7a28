// Resolves YAML scalars by the 1.2 core schema (YAML 1.2.2, section 10.3). Pure.
#pragma once

#include <string>
#include <string_view>

#include "language/document.h"

namespace millrace {

struct Resolved {
  Node::Kind kind = Node::Kind::kBroken;
  Json value;
  std::string problem;  ///< for kBroken: the problem, as a sentence
};

/// Resolves a plain scalar without a tag: null, bool, int, float, or else a string. Integers beyond
/// 64 bits become floats; to_json() restores their digits. Broken: `.inf`, `.nan` and all other
/// values that are not numbers in JSON.
Resolved resolve_plain(std::string_view text);

/// Resolves a scalar with a tag in libyaml's resolved form (`tag:yaml.org,2002:int`, `!`). Broken:
/// a tag outside the core schema, or a text that is not valid for the tag.
Resolved resolve_tagged(std::string_view text, std::string_view tag);

/// The problem with a tag on a list or mapping; empty if the tag is valid.
std::string collection_tag_problem(std::string_view tag, Node::Kind kind);

}  // namespace millrace
