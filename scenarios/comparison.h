// Comparison: where a value is not what a file says it is to be, each difference at the place of
// what was wanted. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "language/document.h"

namespace millrace {

/// Something that did not come true, at its place in the scenario file.
struct Mismatch {
  Position at;
  std::string path;     ///< `scenarios[0].expect.output.room`; empty: the scenario as a whole
  std::string message;  ///< one sentence: `wanted "204", got "205"`

  bool operator==(const Mismatch&) const = default;
};

enum class Match {
  kWhole,  ///< just this value
  kPart,   ///< objects may have more members, at any depth; lists have no more items
};

/// All differences, in the order of the file.
std::vector<Mismatch> compare(const Node& wanted, const std::string& path, const Json& got,
                              Match match);

/// The value for a message: its JSON, cut when long.
std::string in_brief(const Json& value);

/// `1h30m`: the time as a scenario would write it.
std::string spelled(Duration time);

}  // namespace millrace
