#include "matchers/listener_index.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"

namespace millrace {
namespace {

void join(std::string_view first, std::string_view second, std::string& key) {
  key.assign(first);
  key.push_back('\0');
  key.append(second);
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
  uint32_t slot = static_cast<uint32_t>(listeners_.size());
  if (free_listeners_.empty()) {
    listeners_.emplace_back();
  } else {
    slot = free_listeners_.back();
    free_listeners_.pop_back();
  }
  const uint32_t group = group_for(bucket, predicates);
  Listener& listener = listeners_[slot];
  listener.target = target;
  listener.group = group;
  listener.next = groups_[group].first;
  listener.previous = kNone;
  listener.predicates = PackedPredicates(bytes);
  if (listener.next != kNone) listeners_[listener.next].previous = slot;
  groups_[group].first = slot;
  ++groups_[group].size;
  return Handle{slot};
}

void ListenerIndex::remove(Handle handle) {
  CHECK(handle.slot < listeners_.size() && listeners_[handle.slot].group != kNone, "no listener {}",
        handle.slot);
  Listener& listener = listeners_[handle.slot];
  const uint32_t group = listener.group;
  const uint32_t bucket = groups_[group].bucket;
  if (listener.next != kNone) listeners_[listener.next].previous = listener.previous;
  if (listener.previous != kNone) {
    listeners_[listener.previous].next = listener.next;
  } else {
    groups_[group].first = listener.next;
  }
  if (--groups_[group].size == 0) drop_group(group);
  for (std::string_view bytes = listener.predicates.bytes(); !bytes.empty();) {
    give_back(unpack(bytes));
  }
  buckets_.release(bucket);
  listener = Listener{};
  free_listeners_.push_back(handle.slot);
}

void ListenerIndex::match(std::string_view ns, const Attributes& event,
                          std::vector<uint64_t>& targets) {
  targets.clear();
  join(ns, event.type(), key_);
  const std::optional<uint32_t> found = buckets_.find(key_);
  if (!found) return;
  ++event_number_;
  const Bucket& bucket = buckets_[*found];
  for (const auto& [attribute, groups] : bucket.equalities) {
    const std::optional<std::string_view> value = value_of(attribute, event);
    if (!value) continue;
    const uint32_t hash = hash_of(*found, attribute, *value);
    match_group(find_equality(*found, attribute, *value, hash), event, targets);
  }
  for (const auto& [pattern, group] : bucket.patterns) {
    if (holds(pattern, event)) match_group(group, event, targets);
  }
  match_group(bucket.plain, event, targets);
  std::sort(targets.begin(), targets.end());
}

void ListenerIndex::match_group(uint32_t group, const Attributes& event,
                                std::vector<uint64_t>& targets) {
  if (group == kNone) return;
  const bool has_key = groups_[group].key != Group::Key::kPlain;
  for (uint32_t at = groups_[group].first; at != kNone; at = listeners_[at].next) {
    std::string_view rest = listeners_[at].predicates.bytes();
    if (has_key) unpack(rest);
    if (holds(rest, event)) targets.push_back(listeners_[at].target);
  }
}

bool ListenerIndex::holds(std::string_view predicates, const Attributes& event) {
  while (!predicates.empty()) {
    const PackedPredicate predicate = unpack(predicates);
    const bool does = predicate.is_pattern
                          ? holds(predicate.pattern, event)
                          : value_of(predicate.attribute, event) == predicate.value;
    if (!does) return false;
  }
  return true;
}

bool ListenerIndex::holds(uint32_t pattern, const Attributes& event) {
  SharedPattern& shared = patterns_[pattern];
  if (shared.event == event_number_) return shared.holds;
  shared.event = event_number_;
  shared.holds = false;
  if (const std::optional<std::string_view> value = value_of(shared.attribute, event)) {
    const Pattern::Answer answer = shared.pattern->match(*value);
    shared.holds = answer == Pattern::Answer::kYes;
    if (answer == Pattern::Answer::kOverLimit) ++over_limit_;
  }
  return shared.holds;
}

std::optional<std::string_view> ListenerIndex::value_of(uint32_t attribute,
                                                        const Attributes& event) {
  Attribute& known = attributes_[attribute];
  if (known.event != event_number_) {
    known.event = event_number_;
    known.value = event.find(attributes_.text(attribute));
  }
  return known.value;
}

/// Interns what the predicates name; a pattern that is plain text from end to end is an equality.
/// The values are views of the filter, or of the patterns in `kept`.
Result<std::vector<PackedPredicate>> ListenerIndex::take(const EventFilter& filter,
                                                         KeptPatterns& kept) {
  std::vector<PackedPredicate> taken;
  const auto give_up = [&](std::string_view attribute, Error error) {
    for (const PackedPredicate& predicate : taken) give_back(predicate);
    return fail_in(fmt::format("attribute {}", attribute), std::move(error));
  };
  for (const Predicate& predicate : filter.predicates) {
    if (predicate.kind == Predicate::Kind::kEquals) {
      taken.push_back(
          {.attribute = attributes_.acquire(predicate.attribute), .value = predicate.text});
      continue;
    }
    join(predicate.attribute, predicate.text, key_);
    if (patterns_.find(key_)) {
      taken.push_back({.is_pattern = true, .pattern = patterns_.acquire(key_)});
      continue;
    }
    Result<std::shared_ptr<const Pattern>> pattern = Pattern::compile(predicate.text);
    if (!pattern) return give_up(predicate.attribute, pattern.error());
    const uint32_t attribute = attributes_.acquire(predicate.attribute);
    if ((*pattern)->kind() == Pattern::Kind::kEquals) {
      kept.push_back(*pattern);
      taken.push_back({.attribute = attribute, .value = (*pattern)->literal()});
      continue;
    }
    const uint32_t id = patterns_.acquire(key_);
    patterns_[id].pattern = *std::move(pattern);
    patterns_[id].attribute = attribute;
    taken.push_back({.is_pattern = true, .pattern = id});
  }
  return taken;
}

void ListenerIndex::give_back(const PackedPredicate& predicate) {
  if (!predicate.is_pattern) {
    attributes_.release(predicate.attribute);
    return;
  }
  const uint32_t attribute = patterns_[predicate.pattern].attribute;
  if (patterns_.release(predicate.pattern)) attributes_.release(attribute);
}

/// The equality with the smallest group so far; among new ones the longest value, which is likelier
/// to be an id. Without one, the pattern that most listeners share, since it runs anyway; one that
/// matches everything is the last choice.
void ListenerIndex::put_key_first(uint32_t bucket, std::vector<PackedPredicate>& predicates) const {
  const auto rank = [&](const PackedPredicate& predicate) {
    if (!predicate.is_pattern) {
      const uint32_t group = find_equality(bucket, predicate.attribute, predicate.value,
                                           hash_of(bucket, predicate.attribute, predicate.value));
      const uint32_t size = group == kNone ? 0 : groups_[group].size;
      return std::tuple(0, int64_t{size}, -static_cast<int64_t>(predicate.value.size()));
    }
    const bool is_any = patterns_[predicate.pattern].pattern->kind() == Pattern::Kind::kAny;
    return std::tuple(is_any ? 2 : 1, -int64_t{patterns_.uses(predicate.pattern)}, int64_t{0});
  };
  const auto best = std::min_element(
      predicates.begin(), predicates.end(),
      [&](const PackedPredicate& a, const PackedPredicate& b) { return rank(a) < rank(b); });
  if (best != predicates.end()) std::iter_swap(predicates.begin(), best);
}

uint32_t ListenerIndex::group_for(uint32_t bucket, const std::vector<PackedPredicate>& predicates) {
  Bucket& groups = buckets_[bucket];
  if (predicates.empty()) {
    if (groups.plain == kNone) groups.plain = make_group({.bucket = bucket});
    return groups.plain;
  }
  const PackedPredicate& key = predicates.front();
  if (key.is_pattern) {
    const auto found = groups.patterns.find(key.pattern);
    if (found != groups.patterns.end()) return found->second;
    const uint32_t group =
        make_group({.key = Group::Key::kPattern, .bucket = bucket, .id = key.pattern});
    groups.patterns.emplace(key.pattern, group);
    return group;
  }
  const uint32_t hash = hash_of(bucket, key.attribute, key.value);
  const uint32_t known = find_equality(bucket, key.attribute, key.value, hash);
  if (known != kNone) return known;
  const uint32_t group = make_group(
      {.key = Group::Key::kEquality, .bucket = bucket, .id = key.attribute, .hash = hash});
  ++groups.equalities[key.attribute];
  add_to_chain(group);
  return group;
}

uint32_t ListenerIndex::make_group(Group group) {
  if (free_groups_.empty()) {
    groups_.push_back(group);
    return static_cast<uint32_t>(groups_.size() - 1);
  }
  const uint32_t id = free_groups_.back();
  free_groups_.pop_back();
  groups_[id] = group;
  return id;
}

void ListenerIndex::drop_group(uint32_t group) {
  const Group& gone = groups_[group];
  Bucket& bucket = buckets_[gone.bucket];
  switch (gone.key) {
    case Group::Key::kPlain:
      bucket.plain = kNone;
      break;
    case Group::Key::kPattern:
      bucket.patterns.erase(gone.id);
      break;
    case Group::Key::kEquality: {
      const auto count = bucket.equalities.find(gone.id);
      if (--count->second == 0) bucket.equalities.erase(count);
      remove_from_chain(group);
      break;
    }
  }
  free_groups_.push_back(group);
}

uint32_t ListenerIndex::hash_of(uint32_t bucket, uint32_t attribute, std::string_view value) {
  uint64_t hash = std::hash<std::string_view>{}(value);
  hash ^= (static_cast<uint64_t>(bucket) << 32 | attribute) * 0x9e3779b97f4a7c15;
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93;
  return static_cast<uint32_t>(hash >> 32);
}

uint32_t ListenerIndex::find_equality(uint32_t bucket, uint32_t attribute, std::string_view value,
                                      uint32_t hash) const {
  if (chains_.empty()) return kNone;
  uint32_t at = chains_[hash & (chains_.size() - 1)];
  for (; at != kNone; at = groups_[at].next_in_chain) {
    const Group& group = groups_[at];
    if (group.hash != hash || group.bucket != bucket || group.id != attribute) continue;
    std::string_view bytes = listeners_[group.first].predicates.bytes();
    if (unpack(bytes).value == value) break;
  }
  return at;
}

void ListenerIndex::add_to_chain(uint32_t group) {
  if (++equality_groups_ > chains_.size()) {
    chains_.assign(std::max<size_t>(16, chains_.size() * 2), kNone);
    for (uint32_t id = 0; id < groups_.size(); ++id) {
      if (groups_[id].size == 0 || groups_[id].key != Group::Key::kEquality) continue;
      uint32_t& chain = chains_[groups_[id].hash & (chains_.size() - 1)];
      groups_[id].next_in_chain = std::exchange(chain, id);
    }
  }
  uint32_t& chain = chains_[groups_[group].hash & (chains_.size() - 1)];
  groups_[group].next_in_chain = std::exchange(chain, group);
}

void ListenerIndex::remove_from_chain(uint32_t group) {
  uint32_t* link = &chains_[groups_[group].hash & (chains_.size() - 1)];
  while (*link != group) link = &groups_[*link].next_in_chain;
  *link = groups_[group].next_in_chain;
  --equality_groups_;
}

}  // namespace millrace
