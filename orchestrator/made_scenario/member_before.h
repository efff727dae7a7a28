// Finds out what a transform was given: the part of one member of the data that the result of the
// transform shows. The data of an instance is in its history, the answers of its functions are not.
// Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"

namespace millrace {

/// What a transform has made, and what is asked about the data that it was given.
struct Transformed {
  Json after;                                ///< the result of the transform
  std::set<std::string, std::less<>> later;  ///< members of `after` that may have changed since
  std::string member;                        ///< the member that is asked for, such as `return`
};

/// The member, as far as a transform with this jq program shows it: parts that are not in the
/// result are missing, and null stands for a member that has no part in the result. nullopt: the
/// result does not say what the member was. Read are paths, objects that are constructed of them,
/// and `del`.
std::optional<Json> member_by_program(std::string_view program, const Transformed& transformed);

/// The same for a transform that is written as a JSON value with `jq(…)` in it.
std::optional<Json> member_by_value(const Json& transform, const Transformed& transformed);

}  // namespace millrace
