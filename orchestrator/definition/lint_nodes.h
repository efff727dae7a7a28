// Reading a definition's tree for the checks of lint: what is missing reads as empty. Private to
// orchestrator/definition/.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/characters.h"
#include "language/document.h"
#include "language/grammar.h"
#include "language/walk.h"

namespace millrace {

/// With how many earlier entries of the same list one is compared: a text of 1 MiB has room for
/// thousands of them.
inline constexpr size_t kComparedEntries = 100;

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

/// The retry policy of a mapping, under either spelling; null if it has none.
inline const Member* find_retries(const Node& node) {
  const Member* const member = node.find("retries");
  return member == nullptr ? node.find("retry") : member;
}

/// The type of a state under the first name that the language has for it (`eventAnd` for
/// `eventsAnd`); empty if the language does not have the type.
inline std::string_view type_of_state(const Node& state) {
  return kind_of(state, state_grammar()).types[0];
}

/// A call that a state makes, with all of the definition that decides about it.
struct ActionSite {
  const Node* state = nullptr;
  size_t state_index = 0;
  const Node* action = nullptr;
  std::string path;                ///< of the action
  const Node* function = nullptr;  ///< null: the definition does not have it
  std::string function_path;
  bool is_async = false;  ///< nothing waits for it
  bool is_any = false;    ///< one of several of which one has to succeed: no `catch` is asked

  bool is_subflow() const { return function != nullptr && text_of(*function, "type") == "subflow"; }
};

/// All of them, in the order of the text.
std::vector<ActionSite> actions_of(const Node& document);

}  // namespace millrace
