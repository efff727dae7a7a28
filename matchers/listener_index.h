// The matcher whose work grows with what concerns an event, not with who waits. Listeners stand in
// groups: one for each (namespace, type, attribute, value), chosen by the most selective equality;
// one for each pattern where there is no equality; one for each type where there is no predicate.
// An event looks up the groups that it may concern; what else their members ask is checked one by
// one. A pattern runs at most once an event and attribute, however many listeners share it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "matchers/intern_table.h"
#include "matchers/matcher.h"
#include "matchers/packed_predicates.h"
#include "matchers/pattern.h"

namespace millrace {

class ListenerIndex final : public Matcher {
 public:
  Result<Handle> add(std::string_view ns, const EventFilter& filter, uint64_t target) override;
  void remove(Handle handle) override;
  void match(std::string_view ns, const Attributes& event, std::vector<uint64_t>& targets) override;
  uint64_t over_limit() const override { return over_limit_; }

  /// How many listeners there are, and how many patterns are kept for them.
  size_t size() const { return listeners_.size() - free_listeners_.size(); }
  size_t pattern_count() const { return patterns_.size(); }

 private:
  static constexpr uint32_t kNone = 0xffffffff;

  /// One attribute name, and its value in the event in hand.
  struct Attribute {
    uint64_t event = 0;  // the number of the event that `value` is of
    std::optional<std::string_view> value;
  };

  /// One pattern of one attribute, and its answer for the event in hand.
  struct SharedPattern {
    std::shared_ptr<const Pattern> pattern;
    uint32_t attribute = 0;
    uint64_t event = 0;
    bool holds = false;
  };

  /// The groups of one (namespace, type).
  struct Bucket {
    uint32_t plain = kNone;                             // the group without predicates
    std::unordered_map<uint32_t, uint32_t> patterns;    // the group of each pattern
    std::unordered_map<uint32_t, uint32_t> equalities;  // how many groups each attribute has
  };

  /// Listeners of one bucket with the same first predicate.
  struct Group {
    enum class Key : uint8_t { kPlain, kPattern, kEquality };

    Key key = Key::kPlain;
    uint32_t bucket = 0;
    uint32_t id = 0;                 // of the pattern or of the attribute
    uint32_t hash = 0;               // kEquality
    uint32_t next_in_chain = kNone;  // kEquality
    uint32_t first = kNone;
    uint32_t size = 0;
  };

  /// One cache line. Of a group with a key the first predicate is that key.
  struct Listener {
    uint64_t target = 0;
    uint32_t group = kNone;
    uint32_t next = kNone;
    uint32_t previous = kNone;
    PackedPredicates predicates;
  };
  static_assert(sizeof(Listener) == 64);

  std::optional<std::string_view> value_of(uint32_t attribute, const Attributes& event);
  bool holds(uint32_t pattern, const Attributes& event);
  bool holds(std::string_view predicates, const Attributes& event);
  void match_group(uint32_t group, const Attributes& event, std::vector<uint64_t>& targets);

  using KeptPatterns = std::vector<std::shared_ptr<const Pattern>>;
  Result<std::vector<PackedPredicate>> take(const EventFilter& filter, KeptPatterns& kept);
  void give_back(const PackedPredicate& predicate);
  void put_key_first(uint32_t bucket, std::vector<PackedPredicate>& predicates) const;

  uint32_t group_for(uint32_t bucket, const std::vector<PackedPredicate>& predicates);
  uint32_t make_group(Group group);
  void drop_group(uint32_t group);

  static uint32_t hash_of(uint32_t bucket, uint32_t attribute, std::string_view value);
  uint32_t find_equality(uint32_t bucket, uint32_t attribute, std::string_view value,
                         uint32_t hash) const;
  void add_to_chain(uint32_t group);
  void remove_from_chain(uint32_t group);

  InternTable<Bucket> buckets_;          // by namespace, NUL, type
  InternTable<Attribute> attributes_;    // by name
  InternTable<SharedPattern> patterns_;  // by attribute, NUL, pattern
  std::deque<Listener> listeners_;
  std::vector<uint32_t> free_listeners_;
  std::deque<Group> groups_;
  std::vector<uint32_t> free_groups_;
  std::vector<uint32_t> chains_;  // by hash: the first equality group; a power of two long, or none
  size_t equality_groups_ = 0;
  uint64_t event_number_ = 0;
  uint64_t over_limit_ = 0;
  std::string key_;  // kept for its capacity
};

}  // namespace millrace
