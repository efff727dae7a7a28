// A definition's tree read by the grammar: what its keys mean, wherever they stand. For what looks
// at all of a definition (lint, graph) and need not know one mapping from the other.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "language/document.h"
#include "language/grammar.h"

namespace millrace {

/// Which kind of the mapping the node is, if that is plain; else `grammar`.
const Mapping& kind_of(const Node& node, const Mapping& grammar);

/// Those of the kinds that have the key; all of them where it is none of the mapping's.
std::vector<const Mapping*> kinds_with(const std::vector<const Mapping*>& kinds,
                                       const Mapping& grammar, std::string_view key);

/// The keys that the node may have, those of an inlined mapping among them.
std::vector<Keys> keys_of(const Node& node, const Mapping& grammar);

/// A key that stands in a definition.
struct Place {
  const KeyRule& rule;
  const Node& mapping;  ///< that the key is in
  const Member& member;
  std::string path;
};

/// Calls `visit` for each key of the node that its table has, in the order of the text, and for
/// those of the mappings behind it.
void walk(const Node& node, const Mapping& grammar, const std::string& path,
          const std::function<void(const Place&)>& visit);

}  // namespace millrace
