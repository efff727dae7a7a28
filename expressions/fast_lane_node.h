// The tree of a fast lane program: made by fast_lane_parser.cc, run by fast_lane.cc. A new operator
// is a kind here, a rule there and a case in the other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace millrace::fast {

/// `.name` or `[index]`.
using Step = std::variant<std::string, int64_t>;

struct Node {
  enum class Kind {
    kConstant,
    kPath,    ///< steps from the input, or from the one child
    kArray,   ///< of the children
    kObject,  ///< keys[i]: children[i]; of equal keys the last counts
    kPipe,    ///< children[0] | children[1]
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kAnd,
    kOr,
    kAlternative,  ///< children[0] // children[1]
    kNot,
  };

  Kind kind = Kind::kConstant;
  Json constant;
  std::vector<Step> steps;
  std::vector<std::string> keys;
  std::vector<Node> children;
};

/// Null if the text is not of the fast lane.
std::unique_ptr<const Node> parse(std::string_view program);

}  // namespace millrace::fast
