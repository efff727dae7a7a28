// Reading a definition's tree for the checks of lint: what is missing reads as empty. Private to
// orchestrator/definition/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/document.h"

namespace millrace {

inline std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// The value of a key; null if the mapping does not have it.
inline const Node* value_of(const Node& node, std::string_view key) {
  const Member* const member = node.find(key);
  return member == nullptr ? nullptr : &member->value;
}

/// The text of a key's value.
inline std::string text_of(const Node& node, std::string_view key) {
  const Node* const value = value_of(node, key);
  return value == nullptr ? "" : value->text;
}

/// The items of a key's list.
inline const std::vector<Node>& items_of(const Node& node, std::string_view key) {
  static const std::vector<Node> none;
  const Node* const value = value_of(node, key);
  return value == nullptr ? none : value->items;
}

}  // namespace millrace
