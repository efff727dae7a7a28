#include "expressions/fast_lane_order.h"

#include <algorithm>

namespace millrace::fast {
namespace {

/// Checks whether a jq program may write, as text, an object whose keys are not sorted.
class OrderCheck {
 public:
  explicit OrderCheck(const Node& root) { walk(root, true); }

  /// Whether all objects that the jq program writes as text surely have sorted keys.
  bool holds() const { return holds_; }

 private:
  /// Whether all objects in the node's value surely have sorted keys. `input`: whether all objects
  /// in the node's input surely have sorted keys.
  bool walk(const Node& node, bool input) {
    if (node.kind == Node::Kind::kPipe)
      return walk(node.children[1], walk(node.children[0], input));
    bool all = true;
    bool one_is_scalar = false;
    for (const Node& child : node.children) {
      all = walk(child, input) && all;
      one_is_scalar = one_is_scalar || child.kind == Node::Kind::kText ||
                      (child.kind == Node::Kind::kConstant && !child.constant.is_null());
    }
    switch (node.kind) {
      case Node::Kind::kPath:
        return node.children.empty() ? input : all;
      case Node::Kind::kObject:
        return all && std::is_sorted(node.keys.begin(), node.keys.end());
      case Node::Kind::kAdd:
        return one_is_scalar;  // then the sum is not an object
      case Node::Kind::kText:
        holds_ = holds_ && all;
        return true;
      case Node::Kind::kArray:
      case Node::Kind::kSubtract:
      case Node::Kind::kAlternative:
        return all;
      default:
        return true;
    }
  }

  bool holds_ = true;
};

}  // namespace

bool may_be_empty(const Node& node) {
  const auto any_child = [&] {
    return std::any_of(node.children.begin(), node.children.end(), may_be_empty);
  };
  switch (node.kind) {
    case Node::Kind::kPath:
      return any_child() || std::any_of(node.steps.begin(), node.steps.end(),
                                        [](const Step& step) { return step.optional; });
    case Node::Kind::kArray:
      return false;
    case Node::Kind::kAlternative:
      return may_be_empty(node.children[1]);
    default:
      return any_child();
  }
}

bool may_show_order(const Node& root) { return !OrderCheck(root).holds(); }

}  // namespace millrace::fast
