// The syntax tree of a fast lane program: fast_lane_parser.cc makes it, fast_lane.cc runs it. A new
// operator needs a kind here, a rule in fast_lane_parser.cc and a case in fast_lane.cc.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"

namespace millrace::fast {

/// One step of a path: `.name` or `[index]`.
struct Step {
  std::variant<std::string, int64_t> to;
  bool optional = false;  ///< with `?`, which turns an error into no result
};

struct Node {
  enum class Kind {
    kInstance,  ///< the value of `$instance`
    kNow,       ///< the time, in seconds since 1970
    kConstant,  ///< a value that is not an array or object
    kPath,      ///< steps from the input, or from the only child
    kArray,     ///< an array of the children's results; a child without a result is left out
    kObject,    ///< an object of keys[i]: children[i]; of equal keys the last one counts
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
  /// Whether the jq program may write, as text, an object whose keys are not sorted. jq writes keys
  /// in the order in which they were set.
  bool shows_order = false;
  /// Whether the jq program names `$instance`, so that its result may be a part of that value.
  bool names_instance = false;
  bool names_now = false;  ///< whether the jq program names `now`
};

/// Parses a jq program. Null if the fast lane cannot run it.
std::unique_ptr<const Program> parse(std::string_view text);

}  // namespace millrace::fast
