#include "language/grammar.h"

#include <algorithm>

#include "language/grammar_tables.h"

namespace millrace {
namespace {

void add_all(const Mapping& mapping, std::vector<const Mapping*>& all) {
  if (std::find(all.begin(), all.end(), &mapping) != all.end()) return;
  all.push_back(&mapping);
  for (const Mapping* kind : mapping.kinds) add_all(*kind, all);
  for (const KeyRule* key : mapping.keys()) {
    if (key->object != nullptr) add_all(*key->object, all);
  }
}

}  // namespace

std::vector<std::string_view> KeyRule::names() const {
  std::vector<std::string_view> all = {name};
  for (const std::string_view other : spellings) {
    if (!other.empty()) all.push_back(other);
  }
  return all;
}

bool KeyRule::is(std::string_view spelling) const {
  return spelling == name || (!spelling.empty() && std::find(spellings.begin(), spellings.end(),
                                                             spelling) != spellings.end());
}

std::string_view Mapping::chooser() const {
  return find("vocabulary") != nullptr ? "vocabulary" : "type";
}

const KeyRule* Mapping::find(std::string_view spelling) const {
  for (const Keys group : groups) {
    for (const KeyRule& key : group) {
      if (key.is(spelling)) return &key;
    }
  }
  return nullptr;
}

std::vector<const KeyRule*> Mapping::keys() const {
  std::vector<const KeyRule*> all;
  for (const Keys group : groups) {
    for (const KeyRule& key : group) all.push_back(&key);
  }
  return all;
}

const Mapping* Mapping::kind(std::string_view type) const {
  if (type.empty()) return nullptr;
  for (const Mapping* one : kinds) {
    if (std::find(one->types.begin(), one->types.end(), type) != one->types.end()) return one;
  }
  return nullptr;
}

const Mapping& workflow_grammar() { return grammar::kWorkflow; }
const Mapping& state_grammar() { return grammar::kState; }
const Mapping& retry_grammar() { return grammar::kRetryPolicy; }
const Mapping& service_grammar() { return grammar::kService; }

std::vector<const Mapping*> all_mappings() {
  std::vector<const Mapping*> all;
  add_all(grammar::kWorkflow, all);
  return all;
}

}  // namespace millrace
