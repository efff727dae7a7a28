// Helpers that read a definition's document for the lint checks: they return an empty value for a
// missing key. Private to orchestrator/definition/.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/characters.h"
#include "language/document.h"
#include "language/fields.h"
#include "language/grammar.h"
#include "language/walk.h"

namespace millrace {

/// The maximum number of earlier entries of a list with which an entry is compared, because a list
/// can have thousands of entries.
inline constexpr size_t kComparedEntries = 100;

/// The value of a key; null if the mapping does not have the key.
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

/// Whether a text in the value has `jq(` in it.
inline bool has_jq(const Node& node) {
  if (node.kind == Node::Kind::kString) return mentions_jq(node.text);
  return std::any_of(node.items.begin(), node.items.end(), has_jq) ||
         std::any_of(node.members.begin(), node.members.end(),
                     [](const Member& member) { return has_jq(member.value); });
}

/// Whether the value of the key is a time that only an instance knows: `until`, or a duration with
/// jq(…) in it.
inline bool is_evaluated_time(const Place& place) {
  if (place.rule.instead == KeyRule::Kind::kUntil) return true;
  return place.rule.kind == KeyRule::Kind::kDuration && place.rule.jq && has_jq(place.member.value);
}

/// Whether the key is one whose query makes the input of the next run.
inline bool is_next_run_key(const KeyRule& rule) {
  return rule.is("continueAsNew") || rule.is("defaultContinueAsNew");
}

/// The type of a state, as the first of its names in the language (`eventAnd` for `eventsAnd`);
/// empty if the type is unknown.
inline std::string_view type_of_state(const Node& state) {
  return kind_of(state, state_grammar()).types[0];
}

/// The type of a function, as the first of its names in the language (`container` for `isolated`);
/// empty if the type is unknown.
inline std::string_view type_of_function(const Node& function) {
  static const Mapping& grammar = *workflow_grammar().find("functions")->object;
  return kind_of(function, grammar).types[0];
}

/// The index of the state with which an instance starts.
size_t first_state(const Node& document);

/// A call that a state makes, with the parts of the definition that affect it.
struct ActionSite {
  const Node* state = nullptr;
  size_t state_index = 0;
  const Node* action = nullptr;
  std::string path;                ///< the path of the action
  const Node* function = nullptr;  ///< null: the definition has no such function
  std::string function_path;
  bool is_async = false;  ///< no state waits for the result of the call
  bool is_any = false;    ///< in a parallel of mode `or`: no `catch` applies to its errors

  bool is_subflow() const { return function != nullptr && text_of(*function, "type") == "subflow"; }
};

/// All calls of a definition, in the order of the text.
std::vector<ActionSite> actions_of(const Node& document);

/// A `compensate` of a state with a function of the definition.
struct CompensationSite {
  const Node* call = nullptr;
  std::string path;
  const Node* function = nullptr;
};

/// All compensations of a definition, in the order of the text.
std::vector<CompensationSite> compensations_of(const Node& document);

}  // namespace millrace
