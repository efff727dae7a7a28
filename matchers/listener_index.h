// The matcher whose work grows with what concerns an event, not with who waits.
//
// Listeners of one (namespace, type) are a bucket. In it they stand in groups, by one predicate,
// the key, which all members of a group have:
//  - an equality, where there is one: found by the hash of its value;
//  - else plain text that the value begins with, ends with or contains: found by a gram, a run of
//    up to eight bytes of that text, the one that the fewest others stand under;
//  - else a regular expression, run once an event, together with others (pattern_set.h).
// An event looks up its values, and every run of bytes in them where text waits for that attribute.
// What else the members of a group ask is checked one by one; for that a pattern runs at most once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matchers/hash_index.h"
#include "matchers/intern_table.h"
#include "matchers/matcher.h"
#include "matchers/packed_predicates.h"
#include "matchers/pattern.h"
#include "matchers/pattern_set.h"
#include "matchers/slab.h"

namespace millrace {

class ListenerIndex final : public Matcher {
 public:
  Result<Handle> add(std::string_view ns, const EventFilter& filter, uint64_t target) override;
  void remove(Handle handle) override;
  void match(std::string_view ns, const Attributes& event, std::vector<uint64_t>& targets) override;
  uint64_t over_limit() const override { return over_limit_; }

  /// How many listeners there are, and how many regular expressions are kept for them.
  size_t size() const { return listeners_.size(); }
  size_t pattern_count() const { return patterns_.size(); }

  /// The longest gram.
  static constexpr size_t kGram = 8;

 private:
  static constexpr uint32_t kNone = 0xffffffff;

  /// Of the name of an attribute: its value in the event that was asked for it last.
  struct Value {
    uint64_t event = 0;  // the number of that event
    std::optional<std::string_view> text;
  };

  /// One pattern of one attribute, and its answer for that event.
  struct SharedPattern {
    std::shared_ptr<const Pattern> pattern;
    uint32_t attribute = 0;
    uint64_t event = 0;
    bool holds = false;
  };

  /// The groups of one bucket whose key is about one attribute.
  struct Column {
    uint32_t attribute = 0;
    uint32_t groups = 0;
    uint32_t equalities = 0;
    std::array<uint32_t, kGram + 1> grams{};  // how many have a text, by the size of the gram
    PatternSet regexes;                       // the groups of patterns that run together
    std::vector<uint32_t> others;             // the groups of other patterns
  };

  struct Bucket {
    uint32_t plain = kNone;  // the group without a key
    std::vector<Column> columns;
  };
  static std::vector<Column>::iterator find_column(Bucket& bucket, uint32_t attribute);

  /// Listeners of one bucket with the same key.
  struct Group {
    enum class Key : uint8_t { kNone, kEquality, kText, kPattern };

    uint64_t event = 0;  // kText: the last event that it was matched with; it may be found again
    uint32_t bucket = 0;
    uint32_t attribute = 0;
    uint32_t hash = 0;  // of the value, of the gram, of the pattern's number
    uint32_t first = kNone;
    uint32_t size = 0;
    uint16_t gram_at = 0;  // kText: where in the text
    Key key = Key::kNone;
  };

  /// One cache line. The first predicate is the key of the group, if it has one.
  struct alignas(64) Listener {
    uint64_t target = 0;
    uint32_t group = kNone;
    uint32_t next = kNone;
    uint32_t previous = kNone;
    PackedPredicates predicates;
  };
  static_assert(sizeof(Listener) == 64);

  /// The event that is being matched, and what was found.
  struct InHand {
    uint64_t number = 0;
    const Attributes* event = nullptr;
    std::vector<uint64_t>* targets = nullptr;
  };

  std::optional<std::string_view> value_of(uint32_t attribute);
  bool holds(uint32_t pattern);
  bool hold(std::string_view predicates);
  void match_texts(uint32_t bucket, const Column& column, std::string_view value);
  void match_patterns(Column& column, std::string_view value);
  void match_group(uint32_t group);

  using KeptPatterns = std::vector<std::shared_ptr<const Pattern>>;
  Result<std::vector<PackedPredicate>> take(const EventFilter& filter, KeptPatterns& kept);
  void give_back(const PackedPredicate& predicate);
  uint32_t attribute_of(const PackedPredicate& predicate) const;
  void put_key_first(uint32_t bucket, std::vector<PackedPredicate>& predicates) const;

  /// Where a key stands, or would stand: `id` is kNone if it has no group yet.
  struct Place {
    uint32_t id = kNone;
    Group group;
  };
  Place find_equality(uint32_t bucket, const PackedPredicate& key) const;
  Place find_text(uint32_t bucket, const PackedPredicate& key) const;
  Place find_pattern(uint32_t bucket, const PackedPredicate& key) const;
  Place find_place(uint32_t bucket, const PackedPredicate& key) const;
  HashIndex& index_of(const Group& group) {
    return group.key == Group::Key::kText ? by_gram_ : by_key_;
  }
  void find_group(const PackedPredicate& key, Place& place) const;
  bool is_group_of(uint32_t group, uint32_t bucket, const PackedPredicate& key) const;
  PackedPredicate key_of(const Group& group) const;
  uint32_t make_group(const Group& group);
  void drop_group(uint32_t id);

  InternTable<Bucket> buckets_;          // by namespace, NUL, type
  InternTable<Value> attributes_;        // by name
  InternTable<SharedPattern> patterns_;  // by attribute, NUL, pattern
  Slab<Listener> listeners_;
  Slab<Group> groups_;
  HashIndex by_key_;   // the groups whose key is an equality or a pattern
  HashIndex by_gram_;  // those whose key is a text
  InHand now_;
  uint64_t over_limit_ = 0;
  std::string key_;             // these are kept for their capacity
  std::vector<uint32_t> hits_;  // groups
};

}  // namespace millrace
