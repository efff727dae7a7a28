// A YAML or JSON text as a tree of nodes that know where they stand. The resolution is that of the
// YAML 1.2 core schema (`no` and `on` are strings), JSON being a part of it; all limits on what
// comes from outside are kept here. Pure values, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "language/findings.h"

namespace millrace {

/// How long the text of a definition may be, in bytes.
inline constexpr size_t kMaxDocumentSize = 1 << 20;

/// How much all aliases of a document together may expand to, counted as the bytes of texts and
/// keys, plus 8 a node.
inline constexpr size_t kMaxAliasSize = 1 << 20;

struct Member;

// A move of Json throws nothing, which clang-tidy does not see.
struct Node {  // NOLINT(bugprone-exception-escape)
  /// kBroken stands where parse_document has already reported an error: readers pass over it.
  enum class Kind { kBroken, kNull, kBool, kInt, kFloat, kString, kSequence, kMapping };

  Kind kind = Kind::kNull;
  Position at;              ///< where it begins; for what an alias stands for, where the anchor is
  std::string text;         ///< scalars: the string, or the number, bool or null as written
  Json scalar;              ///< scalars: the value; integers within 64 bits keep their digits
  std::vector<Node> items;  ///< kSequence
  std::vector<Member> members;  ///< kMapping, in the order of the text, keys unique

  /// The member of that key; null if there is none, or this is no mapping.
  const Member* find(std::string_view key) const;
};

struct Member {
  std::string key;  ///< scalars that are no strings are keys as written: `1`, `true`
  Position at;      ///< of the key
  Node value;
};

/// Reads a text of one document. What is wrong is added to `findings`, all of it where the text can
/// be read on: duplicate keys, tags outside the core schema, `.inf` and `.nan`, merge keys,
/// keys that are lists or mappings, unknown anchors, aliases in themselves, aliases that expand
/// past kMaxAliasSize, further documents. nullopt, with a finding, for a text that is too long,
/// empty, nests deeper than kMaxJsonDepth, or is neither YAML nor JSON.
std::optional<Node> parse_document(std::string_view text, Findings& findings);

/// The value as JSON; kBroken becomes null.
Json to_json(const Node& node);

}  // namespace millrace
