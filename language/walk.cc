#include "language/walk.h"

#include <algorithm>

namespace millrace {
namespace {

const KeyRule* find(const std::vector<Keys>& groups, std::string_view spelling) {
  for (const Keys group : groups) {
    for (const KeyRule& key : group) {
      if (key.is(spelling)) return &key;
    }
  }
  return nullptr;
}

}  // namespace

const Mapping& kind_of(const Node& node, const Mapping& grammar) {
  if (grammar.kinds.empty()) return grammar;
  if (const Member* const word = node.find(grammar.chooser())) {
    const Mapping* const kind = grammar.kind(word->value.text);
    return kind == nullptr ? grammar : *kind;
  }
  if (grammar.chooser() == "type") return grammar;
  std::vector<const Mapping*> kinds(grammar.kinds.begin(), grammar.kinds.end());
  for (const Member& member : node.members) kinds = kinds_with(kinds, grammar, member.key);
  return kinds.size() == 1 ? *kinds.front() : grammar;
}

std::vector<const Mapping*> kinds_with(const std::vector<const Mapping*>& kinds,
                                       const Mapping& grammar, std::string_view key) {
  const auto lacks_it = [&](const Mapping* kind) { return kind->find(key) == nullptr; };
  if (std::all_of(grammar.kinds.begin(), grammar.kinds.end(), lacks_it)) return kinds;
  std::vector<const Mapping*> left = kinds;
  std::erase_if(left, lacks_it);
  return left;
}

std::vector<Keys> keys_of(const Node& node, const Mapping& grammar) {
  const Mapping& table = kind_of(node, grammar);
  std::vector<Keys> keys(table.groups.begin(), table.groups.end());
  for (const Keys group : table.groups) {
    for (const KeyRule& key : group) {
      if (!key.inlined || node.find(key.name) != nullptr) continue;
      keys.insert(keys.end(), key.object->groups.begin(), key.object->groups.end());
    }
  }
  return keys;
}

void walk(const Node& node, const Mapping& grammar, const std::string& path,
          const std::function<void(const Place&)>& visit) {
  const std::vector<Keys> keys = keys_of(node, grammar);
  for (const Member& member : node.members) {
    const KeyRule* const rule = find(keys, member.key);
    if (rule == nullptr) continue;
    const std::string member_path = path_of(path, member.key);
    visit({.rule = *rule, .mapping = node, .member = member, .path = member_path});
    if (rule->object == nullptr) continue;
    if (!rule->list) {
      walk(member.value, *rule->object, member_path, visit);
      continue;
    }
    for (size_t i = 0; i < member.value.items.size(); ++i) {
      walk(member.value.items[i], *rule->object, path_of(member_path, i), visit);
    }
  }
}

}  // namespace millrace
