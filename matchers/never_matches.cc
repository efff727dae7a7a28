#include "matchers/never_matches.h"

#include <algorithm>

namespace millrace {
namespace {

using Kind = RegexNode::Kind;

/// Whether every match of the node has at least one character.
bool consumes(const RegexNode& node) {
  switch (node.kind) {
    case Kind::kSet:
      return true;
    case Kind::kSequence:
      return std::any_of(node.children.begin(), node.children.end(), consumes);
    case Kind::kAlternation:
      return std::all_of(node.children.begin(), node.children.end(), consumes);
    case Kind::kRepeat:
      return node.min > 0 && consumes(node.children.front());
    case Kind::kGroup:
      return consumes(node.children.front());
    default:
      return false;
  }
}

/// Whether the node is empty, so that it always matches.
bool is_empty(const RegexNode& node) {
  return node.kind == Kind::kEmpty ||
         (node.kind == Kind::kSequence &&
          std::all_of(node.children.begin(), node.children.end(), is_empty));
}

bool is_impossible(const RegexNode& node, bool follows, bool is_followed);

bool is_impossible_sequence(const std::vector<RegexNode>& nodes, bool follows, bool is_followed) {
  // A node is surely followed by a character if a later node consumes one, and surely follows one
  // if an earlier node does.
  const auto last = std::find_if(nodes.rbegin(), nodes.rend(), consumes);
  const size_t consumers_end = static_cast<size_t>(nodes.rend() - last);
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (is_impossible(nodes[i], follows, is_followed || i + 1 < consumers_end)) return true;
    follows = follows || consumes(nodes[i]);
  }
  return false;
}

/// Whether the node cannot match. `follows`: a character of the match surely stands before the
/// node; `is_followed`: one surely stands after it.
bool is_impossible(const RegexNode& node, bool follows, bool is_followed) {
  switch (node.kind) {
    case Kind::kSet:
      return node.set.empty();
    case Kind::kStart:
      return follows;
    case Kind::kEnd:
      return is_followed;
    case Kind::kSequence:
      return is_impossible_sequence(node.children, follows, is_followed);
    case Kind::kAlternation:
      return std::all_of(node.children.begin(), node.children.end(), [&](const RegexNode& one) {
        return is_impossible(one, follows, is_followed);
      });
    case Kind::kRepeat:
      return node.min > 0 && is_impossible(node.children.front(), follows, is_followed);
    case Kind::kGroup:
      return is_impossible(node.children.front(), follows, is_followed);
    case Kind::kLook:
      return node.negative && is_empty(node.children.front());
    default:
      return false;
  }
}

}  // namespace

bool never_matches(const RegexNode& pattern) { return is_impossible(pattern, false, false); }

}  // namespace millrace
