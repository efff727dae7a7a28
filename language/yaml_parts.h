// The events of a YAML text, as libyaml reads them, in one list: all that must be known before a
// tree can be built. The only unit that includes yaml.h. Pure, though it stands on C.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "language/findings.h"

namespace millrace {

/// One event. A sequence or mapping is followed by its children and a kEnd.
struct YamlPart {
  enum class Type { kScalar, kAlias, kSequence, kMapping, kEnd };
  static constexpr size_t kNone = static_cast<size_t>(-1);

  Type type = Type::kScalar;
  bool plain = false;  ///< a scalar without quotes or block style
  Position at;
  std::string text;        ///< of a scalar; the name of an alias
  std::string tag;         ///< empty if there is none
  size_t past = kNone;     ///< the index after this part and all that is in it
  size_t target = kNone;   ///< kAlias: the part that it stands for; kNone if there is none
  bool in_itself = false;  ///< kAlias: it stands within its target
};

/// The parts of the first document of a text; further ones are reported. nullopt, with a finding,
/// for no document, nesting deeper than kMaxJsonDepth, and what is neither YAML nor JSON.
///
/// Three things are done beyond libyaml: surrogate pairs (`\ud83d\ude00` in double quotes) are read
/// as JSON writes them; U+0085, U+2028 and U+2029 are characters as in YAML 1.2, no line breaks; a
/// byte order mark is skipped.
std::optional<std::vector<YamlPart>> read_yaml_parts(std::string_view text, Findings& findings);

}  // namespace millrace
