// Walks a definition's tree and gives each key its rule in the grammar. For code that examines a
// complete definition (lint, graph) and does not need to distinguish its mappings.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "language/document.h"
#include "language/grammar.h"

namespace millrace {

/// The kind of mapping that the node is, by its `type` or its keys; `grammar` itself if these do
/// not determine a kind.
const Mapping& kind_of(const Node& node, const Mapping& grammar);

/// The mappings in `kinds` that have the key; all of `kinds` if no kind of `grammar` has it.
std::vector<const Mapping*> kinds_with(const std::vector<const Mapping*>& kinds,
                                       const Mapping& grammar, std::string_view key);

/// The keys that the node may have, including those of an inlined mapping.
std::vector<Keys> keys_of(const Node& node, const Mapping& grammar);

/// A key in a definition.
struct Place {
  const KeyRule& rule;
  const Node& mapping;  ///< the mapping that contains the key
  const Member& member;
  std::string path;
};

/// Calls `visit` for each key of the node that the node's table has, in the order of the text.
/// After a key whose value is a mapping or a list of mappings, the keys in that value follow.
void walk(const Node& node, const Mapping& grammar, const std::string& path,
          const std::function<void(const Place&)>& visit);

}  // namespace millrace
