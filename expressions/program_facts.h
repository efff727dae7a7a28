// Facts about a fast lane program that hold for every input: a constant result, the type of all
// results, the keys that it reads. Lint uses these facts to check definitions. Nothing is known
// about a jq program that a jq worker has to run. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/projection.h"
#include "expressions/evaluation.h"
#include "expressions/template.h"

namespace millrace {

struct ProgramFacts {
  std::optional<Json> value;   ///< the result, if it is the same for every input
  std::optional<Error> error;  ///< the error, if the jq program fails for every input
  /// jq's name of the type of every result: `array`, `boolean`, `null`, `number`, `object`,
  /// `string`. Empty: unknown.
  std::string_view type;
};

ProgramFacts facts_of(std::string_view program);

/// The facts about a template's value: the result of its one jq program, a text with several
/// results in it, or a constant.
ProgramFacts facts_of(const Template& value);

/// The paths of keys that the jq program reads from the input, each up to its first index: for
/// `.a["b"] | .c` they are `a`, `b` and `a`, `b`, `c`.
std::vector<std::vector<std::string>> key_paths_of(std::string_view program);

/// What the jq program reads of its input, or more. With only that, its result and its errors are
/// the same.
Projection projection_of(const Program& program);

/// Whether the jq program is a path to a member or an item of the input, such as `.a[0].b`, so that
/// it yields null if that is missing.
bool is_path_to_member(std::string_view program);

/// The keys of the object that the jq program makes: for `{a: .b} + {c}` they are `a` and `c`.
/// nullopt: they depend on the input, or the result is no object.
std::optional<std::set<std::string>> object_keys_of(std::string_view program);

}  // namespace millrace
