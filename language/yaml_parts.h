// The parse events of a YAML text as one flat list, from which document.cc builds the tree.
// yaml_parts.cc is the only source of the program that includes yaml.h (libyaml, a C library).
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "language/findings.h"

namespace millrace {

/// One parse event of libyaml. A sequence or mapping is followed by its children and a kEnd.
struct YamlPart {
  enum class Type { kScalar, kAlias, kSequence, kMapping, kEnd };
  static constexpr size_t kNone = static_cast<size_t>(-1);

  Type type = Type::kScalar;
  bool plain = false;  ///< a scalar without quotes or block style
  Position at;
  std::string text;        ///< the text of a scalar; the name of an alias
  std::string tag;         ///< empty without a tag
  size_t past = kNone;     ///< the index after this part and its children
  size_t target = kNone;   ///< kAlias: the part with the alias's anchor; kNone if no part has it
  bool in_itself = false;  ///< kAlias: the alias is within its target
};

/// The parts of the first document of a text; a second document is reported. Returns nullopt, with
/// a finding, for an empty text, for nesting deeper than kMaxJsonDepth, and for a text that is
/// neither YAML nor JSON.
///
/// Differences from libyaml: surrogate pairs (`\ud83d\ude00` in double quotes) are read as in JSON;
/// U+0085, U+2028 and U+2029 are ordinary characters as in YAML 1.2, not line breaks; a byte order
/// mark is skipped.
std::optional<std::vector<YamlPart>> read_yaml_parts(std::string_view text, Findings& findings);

}  // namespace millrace
