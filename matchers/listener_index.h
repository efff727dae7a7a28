// ListenerIndex: a matcher whose work depends on the listeners that an event may match, not on the
// number of all listeners.
//
// All listeners of one (namespace, type) form a bucket. A bucket is divided into groups by one
// predicate, the key, which all members of a group have:
//  - an equality, if the filter has one: found by the hash of its value;
//  - otherwise plain text that the value begins with, ends with or contains: found by a gram, which
//    is a run of up to eight bytes of that text. Of the grams of the text, the group is filed under
//    the one under which the fewest other groups are filed;
//  - otherwise a regular expression, run once per event, together with others (pattern_set.h).
// match() looks up the values of the event's attributes, and also each gram of a value if a group
// has a text key for that attribute. The other predicates of the members are checked one by one;
// for these, each pattern runs at most once per event. Beyond the budget of an event no pattern
// runs, and listeners whose patterns did not run are undecided.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "matchers/hash_index.h"
#include "matchers/intern_table.h"
#include "matchers/match_budget.h"
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

  /// As match(), within a budget. A listener that no predicate excludes is undecided if the budget
  /// does not suffice for one of its patterns. `undecided` gets the targets of such listeners, one
  /// entry for each, ascending.
  void match_within(std::string_view ns, const Attributes& event, MatchBudget budget,
                    std::vector<uint64_t>& targets, std::vector<uint64_t>& undecided);

  /// The value of an attribute that a listener may ask for.
  struct Probe {
    std::string attribute;
    std::string value;
  };
  /// Appends the targets of the listeners of the type that are filed under an equality or a plain
  /// text which holds for the value of the probe, whatever their other predicates are; of those
  /// with the same key, the newest first. A target may be appended more than once. Takes a step
  /// from `steps` for each target, each look-up and each 64 attributes that listeners of the type
  /// ask for, and ends when no step is left.
  void find_filed(std::string_view ns, std::string_view type, const Probe& probe, size_t& steps,
                  std::vector<uint64_t>& targets) const;
  /// As find_filed(), of all types of the namespace if `type` is empty: then each type of any
  /// namespace takes a step. Returns whether `targets` has all listeners with a predicate on the
  /// attribute that holds for the value: steps are left, and each listener that has a predicate on
  /// the attribute is filed under it, and not as a regular expression.
  bool find_asking(std::string_view ns, std::string_view type, const Probe& probe, size_t& steps,
                   std::vector<uint64_t>& targets) const;
  /// The number of listeners of the type.
  size_t count(std::string_view ns, std::string_view type) const;

  /// The number of listeners, and the number of different regular expressions that they share.
  size_t size() const { return listeners_.size(); }
  size_t pattern_count() const { return patterns_.size(); }

  /// The size of the longest gram, in bytes.
  static constexpr size_t kGram = 8;

 private:
  static constexpr uint32_t kNone = 0xffffffff;

  /// The value of one attribute in the event for which it was last looked up.
  struct Value {
    uint64_t event = 0;  // the number of that event
    std::optional<std::string_view> text;
  };

  /// One pattern of one attribute, and its result for the event for which it last ran.
  struct SharedPattern {
    std::shared_ptr<const Pattern> pattern;
    uint32_t attribute = 0;
    uint64_t event = 0;
    Decision decision = Decision::kNo;
  };

  /// The groups of one bucket whose keys are predicates on the same attribute.
  struct Column {
    uint32_t attribute = 0;
    uint32_t groups = 0;
    uint32_t equalities = 0;
    // The number of groups with a text key, by the size of their gram.
    std::array<uint32_t, kGram + 1> grams{};
    PatternSet regexes;            // groups with a pattern as key, whose patterns run together
    std::vector<uint32_t> others;  // groups whose patterns run alone
  };

  struct Bucket {
    uint32_t plain = kNone;  // the group without a key
    std::vector<Column> columns;
  };
  static std::vector<Column>::iterator find_column(Bucket& bucket, uint32_t attribute);

  /// Listeners of one bucket with the same key.
  struct Group {
    enum class Key : uint8_t { kNone, kEquality, kText, kPattern };

    uint64_t event = 0;  // kText: the number of the last event that the group matched
    uint32_t bucket = 0;
    uint32_t attribute = 0;
    uint32_t hash = 0;  // the hash of the value, of the gram or of the pattern's id
    uint32_t first = kNone;
    uint32_t size = 0;
    uint16_t gram_at = 0;  // kText: the offset of the gram in the text
    Key key = Key::kNone;
  };

  /// A listener, in one cache line. Its first predicate is the key of its group, if the group has
  /// one.
  struct alignas(64) Listener {
    uint64_t target = 0;
    uint32_t group = kNone;
    uint32_t next = kNone;
    uint32_t previous = kNone;
    PackedPredicates predicates;
  };
  static_assert(sizeof(Listener) == 64);

  /// The event that is being matched, what is left of its budget, and the targets found so far.
  struct CurrentMatch {
    uint64_t number = 0;
    const Attributes* event = nullptr;
    std::vector<uint64_t>* targets = nullptr;
    std::vector<uint64_t>* undecided = nullptr;
    MatchBudget budget;
  };

  void find_in(uint32_t bucket, uint32_t attribute, std::string_view value, size_t& steps,
               std::vector<uint64_t>& targets) const;
  bool files_all(uint32_t bucket, uint32_t attribute) const;
  void count_unfiled(uint32_t bucket, uint32_t attribute);
  void discount_unfiled(uint32_t bucket, uint32_t attribute);

  std::optional<std::string_view> value_of(uint32_t attribute);
  Decision holds(uint32_t pattern);
  Decision hold(std::string_view predicates);
  void match_texts(uint32_t bucket, const Column& column, std::string_view value);
  void match_patterns(Column& column, std::string_view value);
  void match_group(uint32_t group, Decision key = Decision::kYes);

  using KeptPatterns = std::vector<std::shared_ptr<const Pattern>>;
  Result<std::vector<PackedPredicate>> take(const EventFilter& filter, KeptPatterns& kept);
  void give_back(const PackedPredicate& predicate);
  uint32_t attribute_of(const PackedPredicate& predicate) const;
  void put_key_first(uint32_t bucket, std::vector<PackedPredicate>& predicates) const;

  /// The group of a key. If the key has no group yet, `id` is kNone and `group` is the group to
  /// make.
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
  HashIndex by_gram_;  // the groups whose key is a text
  // By bucket and attribute: how many predicates are not the key of their listener's group.
  boost::unordered_flat_map<uint64_t, uint32_t> unfiled_;
  CurrentMatch now_;
  uint64_t over_limit_ = 0;
  std::string key_;             // key_ and hits_ are members only to reuse their memory
  std::vector<uint32_t> hits_;  // ids of groups
};

}  // namespace millrace
