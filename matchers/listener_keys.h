// The keys by which ListenerIndex files its listeners: how they are hashed, and where a plain text
// stands in a value. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "matchers/hash_index.h"
#include "matchers/packed_predicates.h"

namespace millrace {

/// Joins two texts of a key by NUL.
inline void join(std::string_view first, std::string_view second, std::string& key) {
  key.assign(first);
  key.push_back('\0');
  key.append(second);
}

/// A hash seed that separates equal bytes of different buckets or attributes.
inline uint64_t seed_of(uint32_t bucket, uint32_t attribute) {
  return (static_cast<uint64_t>(bucket) << 32 | attribute) * 0x9e3779b97f4a7c15;
}

inline uint32_t hash_of_value(uint32_t bucket, uint32_t attribute, std::string_view value) {
  return HashIndex::hash_of(value, seed_of(bucket, attribute));
}

inline uint32_t hash_of_gram(uint32_t bucket, uint32_t attribute, std::string_view gram) {
  return HashIndex::hash_of(gram, ~seed_of(bucket, attribute));
}

/// Whether the predicate holds for the value because its text stands at offset `begin`.
inline bool holds_at(const PackedPredicate& text, std::string_view value, size_t begin) {
  if (!value.substr(begin).starts_with(text.value)) return false;
  switch (text.kind) {
    case PackedPredicate::Kind::kPrefix:
      return begin == 0;
    case PackedPredicate::Kind::kSuffix:
      return begin + text.value.size() == value.size();
    default:
      return true;
  }
}

}  // namespace millrace
