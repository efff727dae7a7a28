#include "model/walk.h"

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
  const Member* const type = grammar.kinds.empty() ? nullptr : node.find("type");
  const Mapping* const kind = type == nullptr ? nullptr : grammar.kind(type->value.text);
  return kind == nullptr ? grammar : *kind;
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
