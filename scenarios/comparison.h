// Comparison: compares a value with the expected value of a scenario file and reports each
// difference at the position of the expected value. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "language/document.h"

namespace millrace {

/// A failed expectation, with its position in the scenario file.
struct Mismatch {
  Position at;
  std::string path;     ///< `scenarios[0].expect.output.room`; empty: the scenario itself
  std::string message;  ///< one sentence: `expected "204", got "205"`

  bool operator==(const Mismatch&) const = default;
};

enum class Match {
  kWhole,  ///< the values must be equal
  kPart,   ///< objects may have additional members, at any depth; lists no additional items
};

/// All differences between the expected and the actual value, in the order of the file.
std::vector<Mismatch> compare(const Node& wanted, const std::string& path, const Json& got,
                              Match match);

/// The JSON of the value for a message, shortened to about 300 bytes.
std::string in_brief(const Json& value);

}  // namespace millrace
