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
struct Step {
  std::variant<std::string, int64_t> to;
  bool optional = false;  ///< `?`: yields nothing where it would fail
};

struct Node {
  enum class Kind {
    kConstant,  ///< no array or object
    kPath,      ///< steps from the input, or from the one child
    kArray,     ///< of the children, as many as yield something
    kObject,    ///< keys[i]: children[i]; of equal keys the last counts
    kPipe,      ///< children[0] | children[1]
    kText,      ///< a string made of the children's texts
    kAdd,
    kSubtract,
    kNegate,
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
    kLength,
  };

  Kind kind = Kind::kConstant;
  Json constant;
  std::vector<Step> steps;
  std::vector<std::string> keys;
  std::vector<Node> children;
};

struct Program {
  Node root;
  /// Whether it writes as text an object whose keys may not be in order, as jq's are not.
  bool shows_order = false;
};

/// Null if the text is not of the fast lane.
std::unique_ptr<const Program> parse(std::string_view text);

}  // namespace millrace::fast
