// Projection: which part of a JSON value is wanted. JSON of which only a part is wanted is read
// without a tree of the rest.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace millrace {

/// All of a value, or some members of an object, by name.
struct Projection {
  bool is_whole = false;                                   ///< the value with all that is in it
  std::map<std::string, Projection, std::less<>> members;  ///< unless is_whole

  /// What is wanted of the member with that name; null: nothing.
  const Projection* member(std::string_view name) const;
  /// Adds the value at a path of names; the empty path is the whole value.
  void add(std::span<const std::string> path);
  /// Adds what another projection wants.
  void add(const Projection& other);
};

inline const Projection kWholeValue{.is_whole = true, .members = {}};

/// Reads as parse_json(text) does, with at most `depth` levels. Members of objects that are not
/// wanted may be missing in the result; they have to be valid all the same.
Result<Json> parse_json(std::string_view text, const Projection& wanted,
                        size_t depth = kMaxJsonDepth);

}  // namespace millrace
