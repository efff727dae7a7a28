// Parses a YAML or JSON text into a tree of nodes with their positions. Scalars are resolved by the
// YAML 1.2 core schema (`no` and `on` are strings), of which JSON is a subset. All limits on such
// untrusted texts are enforced here. Pure values, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "language/findings.h"

namespace millrace {

/// The maximum size of a definition's text, in bytes.
inline constexpr size_t kMaxDocumentSize = 1 << 20;

/// The maximum size to which all aliases of a document together may expand: the bytes of texts and
/// keys, plus 8 for each node.
inline constexpr size_t kMaxAliasSize = 1 << 20;

struct Member;

// Moving a Json does not throw, but clang-tidy cannot see that.
struct Node {  // NOLINT(bugprone-exception-escape)
  /// kBroken marks a node for which parse_document has already reported an error. Readers skip it.
  enum class Kind { kBroken, kNull, kBool, kInt, kFloat, kString, kSequence, kMapping };

  Kind kind = Kind::kNull;
  Position at;       ///< where the node begins; for an alias, where the anchor's value begins
  std::string text;  ///< scalars: the string, or the number, bool or null as written
  Json scalar;       ///< scalars: the value; integers within 64 bits keep their digits
  std::vector<Node> items;      ///< kSequence
  std::vector<Member> members;  ///< kMapping, in the order of the text, keys unique

  /// The member with that key; null if it does not exist, or if the node is not a mapping.
  const Member* find(std::string_view key) const;
};

struct Member {
  std::string key;  ///< a scalar that is not a string is a key as written: `1`, `true`
  Position at;      ///< the position of the key
  Node value;
};

/// Parses a text that holds one document. Reading continues after these mistakes, and each one is
/// added to `findings`: duplicate keys, tags outside the core schema, `.inf` and `.nan`, merge
/// keys, keys that are lists or mappings, unknown anchors, aliases inside their own anchor, aliases
/// that expand beyond kMaxAliasSize, further documents. Returns nullopt, with a finding, for a text
/// that is too long, empty, nested deeper than kMaxJsonDepth, or neither YAML nor JSON.
std::optional<Node> parse_document(std::string_view text, Findings& findings);

/// The value as JSON; kBroken becomes null.
Json to_json(const Node& node);

}  // namespace millrace
