// What a program of the fast lane says before it has an input: a result that is always the same, a
// type that all results have, the keys that it reads. For checks of definitions; of what a worker
// has to run nothing is known. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "expressions/evaluation.h"
#include "expressions/template.h"

namespace millrace {

struct ProgramFacts {
  std::optional<Json> value;   ///< the result, whatever the input is
  std::optional<Error> error;  ///< it fails, whatever the input is
  /// jq's name of the type of every result: `array`, `boolean`, `null`, `number`, `object`,
  /// `string`. Empty: not known.
  std::string_view type;
};

ProgramFacts facts_of(std::string_view program);

/// The same of a template's value: that of its one program, of the text that several make, or of a
/// constant.
ProgramFacts facts_of(const Template& value);

/// The keys in a row that the program reads from the input itself, up to an index: of `.a["b"] |
/// .c` they are `a`, `b` and `a`, `b`, `c`.
std::vector<std::vector<std::string>> key_paths_of(std::string_view program);

}  // namespace millrace
