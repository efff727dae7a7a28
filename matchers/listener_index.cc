#include "matchers/listener_index.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "matchers/listener_keys.h"

namespace millrace {
namespace {

using PackedKind = PackedPredicate::Kind;

uint32_t hash_of_pattern(uint32_t bucket, uint32_t pattern) {
  return HashIndex::hash_of({}, seed_of(bucket, pattern) + 1);
}

/// The size in bytes of the gram under which a group with this text as key is filed.
size_t gram_size(const PackedPredicate& text) {
  return std::min(ListenerIndex::kGram, text.value.size());
}

/// The packed kind of a pattern that is plain text; nullopt for other patterns.
std::optional<PackedKind> kind_of_text(const Pattern& pattern) {
  switch (pattern.kind()) {
    case Pattern::Kind::kEquals:
      return PackedKind::kEquals;
    case Pattern::Kind::kPrefix:
      return PackedKind::kPrefix;
    case Pattern::Kind::kSuffix:
      return PackedKind::kSuffix;
    case Pattern::Kind::kContains:
      return PackedKind::kContains;
    default:
      return std::nullopt;
  }
}

/// Whether the predicate holds for the value. Precondition: the predicate is not a pattern.
bool holds_of(const PackedPredicate& predicate, std::string_view value) {
  switch (predicate.kind) {
    case PackedKind::kEquals:
      return value == predicate.value;
    case PackedKind::kPrefix:
      return value.starts_with(predicate.value);
    case PackedKind::kSuffix:
      return value.ends_with(predicate.value);
    default:
      return value.find(predicate.value) != std::string_view::npos;
  }
}

}  // namespace

Result<Matcher::Handle> ListenerIndex::add(std::string_view ns, const EventFilter& filter,
                                           uint64_t target) {
  KeptPatterns kept;
  std::vector<PackedPredicate> predicates = TRY(take(filter, kept));
  join(ns, filter.type, key_);
  const uint32_t bucket = buckets_.acquire(key_);
  put_key_first(bucket, predicates);

  std::string bytes;
  for (const PackedPredicate& predicate : predicates) pack(predicate, bytes);
  for (size_t i = 1; i < predicates.size(); ++i) {
    count_unfiled(bucket, attribute_of(predicates[i]));
  }
  Listener listener;
  listener.target = target;
  listener.predicates = PackedPredicates(bytes);
  const uint32_t slot = listeners_.add(std::move(listener));

  Place place;
  place.id = buckets_[bucket].plain;
  place.group.bucket = bucket;
  if (!predicates.empty()) place = find_place(bucket, predicates.front());
  if (place.id == kNone) {
    place.group.first = slot;
    place.id = make_group(place.group);
  } else {
    Group& group = groups_[place.id];
    listeners_[slot].next = group.first;
    listeners_[group.first].previous = slot;
    group.first = slot;
  }
  listeners_[slot].group = place.id;
  ++groups_[place.id].size;
  return Handle{slot};
}

void ListenerIndex::remove(Handle handle) {
  CHECK(handle.slot < listeners_.end() && listeners_[handle.slot].group != kNone,
        "there is no listener in slot {}; expected one that was added", handle.slot);
  const Listener& listener = listeners_[handle.slot];
  Group& group = groups_[listener.group];
  const uint32_t bucket = group.bucket;
  if (group.size == 1) {
    drop_group(listener.group);
  } else {
    --group.size;
    if (group.first == handle.slot) group.first = listener.next;
    if (listener.next != kNone) listeners_[listener.next].previous = listener.previous;
    if (listener.previous != kNone) listeners_[listener.previous].next = listener.next;
  }
  bool is_key = true;
  for (std::string_view bytes = listener.predicates.bytes(); !bytes.empty();) {
    const PackedPredicate predicate = unpack(bytes);
    if (!std::exchange(is_key, false)) discount_unfiled(bucket, attribute_of(predicate));
    give_back(predicate);
  }
  buckets_.release(bucket);
  listeners_.remove(handle.slot);
}

void ListenerIndex::match(std::string_view ns, const Attributes& event,
                          std::vector<uint64_t>& targets) {
  std::vector<uint64_t> undecided;  // stays empty
  match_within(ns, event, MatchBudget::unlimited(), targets, undecided);
}

void ListenerIndex::match_within(std::string_view ns, const Attributes& event, MatchBudget budget,
                                 std::vector<uint64_t>& targets, std::vector<uint64_t>& undecided) {
  targets.clear();
  undecided.clear();
  join(ns, event.type(), key_);
  const std::optional<uint32_t> found = buckets_.find(key_);
  if (!found) return;
  now_ = {.number = now_.number + 1,
          .event = &event,
          .targets = &targets,
          .undecided = &undecided,
          .budget = budget};
  Bucket& bucket = buckets_[*found];
  for (Column& column : bucket.columns) {
    const std::optional<std::string_view> value = value_of(column.attribute);
    if (!value) continue;
    match_texts(*found, column, *value);
    match_patterns(column, *value);
    if (column.equalities > 0) {
      const Place place = find_equality(*found, {.attribute = column.attribute, .value = *value});
      match_group(place.id);
    }
  }
  match_group(bucket.plain);
  std::sort(targets.begin(), targets.end());
  std::sort(undecided.begin(), undecided.end());
}

/// Finds the groups whose key is a text that the value begins with, ends with or contains, and adds
/// their matching members.
void ListenerIndex::match_texts(uint32_t bucket, const Column& column, std::string_view value) {
  for (size_t size = 1; size <= kGram; ++size) {
    if (column.grams[size] == 0) continue;
    for (size_t at = 0; at + size <= value.size(); ++at) {
      const uint32_t hash = hash_of_gram(bucket, column.attribute, value.substr(at, size));
      by_gram_.find(hash, [&](uint32_t id) {
        Group& group = groups_[id];
        const bool is_new = group.event != now_.number;
        if (is_new && group.bucket == bucket && group.attribute == column.attribute &&
            group.gram_at <= at && holds_at(key_of(group), value, at - group.gram_at)) {
          group.event = now_.number;
          match_group(id);
        }
        return false;
      });
    }
  }
}

/// Finds the groups whose key is a pattern that matches the value, and adds their matching members.
void ListenerIndex::match_patterns(Column& column, std::string_view value) {
  hits_.clear();
  const bool decided = column.regexes.match(value, now_.budget, hits_);
  // The patterns of the members take from the budget, so the order of the groups must be fixed.
  std::sort(hits_.begin(), hits_.end());
  for (const uint32_t group : hits_) {
    match_group(group, decided ? Decision::kYes : Decision::kUndecided);
  }
  for (const uint32_t group : column.others) {
    match_group(group, holds(key_of(groups_[group]).pattern));
  }
}

/// Adds the targets of the members of a group that match the event. `key`: whether the group's key
/// holds for the event.
void ListenerIndex::match_group(uint32_t group, Decision key) {
  if (group == kNone || key == Decision::kNo) return;
  const bool has_key = groups_[group].key != Group::Key::kNone;
  for (uint32_t at = groups_[group].first; at != kNone; at = listeners_[at].next) {
    std::string_view rest = listeners_[at].predicates.bytes();
    if (has_key) unpack(rest);
    const Decision others = hold(rest);
    if (others == Decision::kNo) continue;
    const bool is_decided = key == Decision::kYes && others == Decision::kYes;
    (is_decided ? now_.targets : now_.undecided)->push_back(listeners_[at].target);
  }
}

/// Whether all these predicates hold.
Decision ListenerIndex::hold(std::string_view predicates) {
  Decision all = Decision::kYes;
  while (!predicates.empty()) {
    const PackedPredicate predicate = unpack(predicates);
    if (predicate.kind == PackedKind::kPattern) {
      const Decision one = holds(predicate.pattern);
      if (one == Decision::kNo) return one;
      if (one == Decision::kUndecided) all = one;
      continue;
    }
    const std::optional<std::string_view> value = value_of(predicate.attribute);
    if (!value || !holds_of(predicate, *value)) return Decision::kNo;
  }
  return all;
}

Decision ListenerIndex::holds(uint32_t pattern) {
  SharedPattern& shared = patterns_[pattern];
  if (shared.event == now_.number) return shared.decision;
  shared.event = now_.number;
  const std::optional<std::string_view> value = value_of(shared.attribute);
  shared.decision =
      value ? decide(*shared.pattern, *value, now_.budget, over_limit_) : Decision::kNo;
  return shared.decision;
}

std::optional<std::string_view> ListenerIndex::value_of(uint32_t attribute) {
  Value& known = attributes_[attribute];
  if (known.event != now_.number) {
    known.event = now_.number;
    known.text = now_.event->find(attributes_.text(attribute));
  }
  return known.text;
}

/// Packs the predicates and interns their attributes and patterns; a pattern that is plain text is
/// packed as text. The values are views of the filter, or of the patterns in `kept`.
Result<std::vector<PackedPredicate>> ListenerIndex::take(const EventFilter& filter,
                                                         KeptPatterns& kept) {
  std::vector<PackedPredicate> taken;
  for (const Predicate& predicate : filter.predicates) {
    if (predicate.kind == Predicate::Kind::kEquals) {
      taken.push_back(
          {.attribute = attributes_.acquire(predicate.attribute), .value = predicate.text});
      continue;
    }
    join(predicate.attribute, predicate.text, key_);
    if (patterns_.find(key_)) {
      taken.push_back({.kind = PackedKind::kPattern, .pattern = patterns_.acquire(key_)});
      continue;
    }
    Result<std::shared_ptr<const Pattern>> pattern = Pattern::compile(predicate.text);
    if (!pattern) {
      for (const PackedPredicate& before : taken) give_back(before);
      return fail_in(fmt::format("attribute {}", predicate.attribute), pattern.error());
    }
    const uint32_t attribute = attributes_.acquire(predicate.attribute);
    if (const std::optional<PackedKind> kind = kind_of_text(**pattern)) {
      kept.push_back(*pattern);
      taken.push_back({.kind = *kind, .attribute = attribute, .value = (*pattern)->literal()});
      continue;
    }
    const uint32_t id = patterns_.acquire(key_);
    patterns_[id].pattern = *std::move(pattern);
    patterns_[id].attribute = attribute;
    taken.push_back({.kind = PackedKind::kPattern, .pattern = id});
  }
  return taken;
}

void ListenerIndex::give_back(const PackedPredicate& predicate) {
  const uint32_t attribute = attribute_of(predicate);
  if (predicate.kind != PackedKind::kPattern || patterns_.release(predicate.pattern)) {
    attributes_.release(attribute);
  }
}

uint32_t ListenerIndex::attribute_of(const PackedPredicate& predicate) const {
  return predicate.kind == PackedKind::kPattern ? patterns_[predicate.pattern].attribute
                                                : predicate.attribute;
}

/// Moves the predicate that becomes the key to the front. If there are equalities, the key is the
/// equality with the smallest group so far; of several equalities whose groups are equally small,
/// the key is the one with the longest value, which is more likely to be an id. Without an
/// equality, the key is the longest text. Without a text either, the key is the pattern that most
/// listeners share, since that pattern runs anyway; a pattern that matches everything becomes the
/// key only if there is no other pattern.
void ListenerIndex::put_key_first(uint32_t bucket, std::vector<PackedPredicate>& predicates) const {
  if (predicates.size() < 2) return;
  const auto rank = [&](const PackedPredicate& predicate) {
    const auto size = static_cast<int64_t>(predicate.value.size());
    if (predicate.kind == PackedKind::kEquals) {
      const uint32_t group = find_equality(bucket, predicate).id;
      return std::tuple(0, group == kNone ? 0 : int64_t{groups_[group].size}, -size);
    }
    if (predicate.kind != PackedKind::kPattern) return std::tuple(1, -size, int64_t{0});
    const bool is_any = patterns_[predicate.pattern].pattern->kind() == Pattern::Kind::kAny;
    return std::tuple(is_any ? 3 : 2, -int64_t{patterns_.uses(predicate.pattern)}, int64_t{0});
  };
  const auto best = std::min_element(
      predicates.begin(), predicates.end(),
      [&](const PackedPredicate& a, const PackedPredicate& b) { return rank(a) < rank(b); });
  std::iter_swap(predicates.begin(), best);
}

ListenerIndex::Place ListenerIndex::find_place(uint32_t bucket, const PackedPredicate& key) const {
  switch (key.kind) {
    case PackedKind::kEquals:
      return find_equality(bucket, key);
    case PackedKind::kPattern:
      return find_pattern(bucket, key);
    default:
      return find_text(bucket, key);
  }
}

ListenerIndex::Place ListenerIndex::find_equality(uint32_t bucket,
                                                  const PackedPredicate& key) const {
  Place place{.group = {.bucket = bucket,
                        .attribute = key.attribute,
                        .hash = hash_of_value(bucket, key.attribute, key.value),
                        .key = Group::Key::kEquality}};
  find_group(key, place);
  return place;
}

/// Finds the group of a text key. If no group has this key, the returned place has the rarest of
/// the first 257 grams of the text.
ListenerIndex::Place ListenerIndex::find_text(uint32_t bucket, const PackedPredicate& key) const {
  constexpr size_t kMostTried = 256;
  const size_t size = gram_size(key);
  const size_t last = std::min(key.value.size() - size, kMostTried);
  Place place{.group = {.bucket = bucket, .attribute = key.attribute, .key = Group::Key::kText}};
  size_t fewest = std::numeric_limits<size_t>::max();
  for (size_t at = 0; at <= last && place.id == kNone; ++at) {
    const uint32_t hash = hash_of_gram(bucket, key.attribute, key.value.substr(at, size));
    size_t others = 0;
    by_gram_.find(hash, [&](uint32_t id) {
      ++others;
      if (!is_group_of(id, bucket, key)) return false;
      place.id = id;
      return true;
    });
    if (others >= fewest) continue;
    fewest = others;
    place.group.gram_at = static_cast<uint16_t>(at);
    place.group.hash = hash;
  }
  return place;
}

ListenerIndex::Place ListenerIndex::find_pattern(uint32_t bucket,
                                                 const PackedPredicate& key) const {
  Place place{.group = {.bucket = bucket,
                        .attribute = attribute_of(key),
                        .hash = hash_of_pattern(bucket, key.pattern),
                        .key = Group::Key::kPattern}};
  find_group(key, place);
  return place;
}

/// Sets `place.id` to the group that has this key, looked up by `place.group.hash`, if there is
/// one.
void ListenerIndex::find_group(const PackedPredicate& key, Place& place) const {
  by_key_.find(place.group.hash, [&](uint32_t id) {
    if (!is_group_of(id, place.group.bucket, key)) return false;
    place.id = id;
    return true;
  });
}

bool ListenerIndex::is_group_of(uint32_t group, uint32_t bucket, const PackedPredicate& key) const {
  return groups_[group].bucket == bucket && key_of(groups_[group]) == key;
}

PackedPredicate ListenerIndex::key_of(const Group& group) const {
  std::string_view bytes = listeners_[group.first].predicates.bytes();
  return unpack(bytes);
}

std::vector<ListenerIndex::Column>::iterator ListenerIndex::find_column(Bucket& bucket,
                                                                        uint32_t attribute) {
  return std::find_if(bucket.columns.begin(), bucket.columns.end(),
                      [&](const Column& column) { return column.attribute == attribute; });
}

/// Makes a group. Precondition: its first member is already in listeners_.
uint32_t ListenerIndex::make_group(const Group& group) {
  const uint32_t id = groups_.add(group);
  Bucket& bucket = buckets_[group.bucket];
  if (group.key == Group::Key::kNone) {
    bucket.plain = id;
    return id;
  }
  index_of(group).add(group.hash, id);
  auto column = find_column(bucket, group.attribute);
  if (column == bucket.columns.end()) {
    column = bucket.columns.insert(column, Column{.attribute = group.attribute});
  }
  ++column->groups;
  const PackedPredicate key = key_of(group);
  if (key.kind == PackedKind::kEquals) {
    ++column->equalities;
  } else if (key.kind != PackedKind::kPattern) {
    ++column->grams[gram_size(key)];
  } else if (const auto& pattern = patterns_[key.pattern].pattern;
             pattern->kind() == Pattern::Kind::kLinear) {
    column->regexes.add(id, pattern);
  } else {
    column->others.push_back(id);
  }
  return id;
}

/// Removes a group. Precondition: its last member is still in listeners_.
void ListenerIndex::drop_group(uint32_t id) {
  const Group& group = groups_[id];
  Bucket& bucket = buckets_[group.bucket];
  if (group.key == Group::Key::kNone) {
    bucket.plain = kNone;
  } else {
    index_of(group).remove(group.hash, id);
    const auto column = find_column(bucket, group.attribute);
    const PackedPredicate key = key_of(group);
    if (key.kind == PackedKind::kEquals) {
      --column->equalities;
    } else if (key.kind != PackedKind::kPattern) {
      --column->grams[gram_size(key)];
    } else if (patterns_[key.pattern].pattern->kind() == Pattern::Kind::kLinear) {
      column->regexes.remove(id);
    } else {
      std::erase(column->others, id);
    }
    if (--column->groups == 0) bucket.columns.erase(column);
  }
  groups_.remove(id);
}

}  // namespace millrace
