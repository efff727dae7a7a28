// The look-ups of ListenerIndex that need no event.
#include <algorithm>
#include <numeric>

#include "matchers/listener_index.h"
#include "matchers/listener_keys.h"

namespace millrace {
namespace {

/// How many columns of a bucket are passed in about the time of one read from memory.
constexpr size_t kColumnsInAStep = 64;

uint64_t place_of(uint32_t bucket, uint32_t attribute) {
  return uint64_t{bucket} << 32 | attribute;
}

}  // namespace

void ListenerIndex::count_unfiled(uint32_t bucket, uint32_t attribute) {
  ++unfiled_[place_of(bucket, attribute)];
}

void ListenerIndex::discount_unfiled(uint32_t bucket, uint32_t attribute) {
  const auto found = unfiled_.find(place_of(bucket, attribute));
  if (--found->second == 0) unfiled_.erase(found);
}

size_t ListenerIndex::count(std::string_view ns, std::string_view type) const {
  std::string key;
  join(ns, type, key);
  const std::optional<uint32_t> bucket = buckets_.find(key);
  return bucket ? buckets_.uses(*bucket) : 0;
}

void ListenerIndex::find_filed(std::string_view ns, std::string_view type, const Probe& probe,
                               size_t& steps, std::vector<uint64_t>& targets) const {
  std::string key;
  join(ns, type, key);
  const std::optional<uint32_t> bucket = buckets_.find(key);
  const std::optional<uint32_t> attribute = attributes_.find(probe.attribute);
  if (bucket && attribute) find_in(*bucket, *attribute, probe.value, steps, targets);
}

bool ListenerIndex::find_asking(std::string_view ns, std::string_view type, const Probe& probe,
                                size_t& steps, std::vector<uint64_t>& targets) const {
  const std::optional<uint32_t> attribute = attributes_.find(probe.attribute);
  if (!attribute) return true;
  std::string key;
  join(ns, type, key);
  bool has_all = true;
  const auto look_in = [&](uint32_t bucket) {
    find_in(bucket, *attribute, probe.value, steps, targets);
    has_all = has_all && steps > 0 && files_all(bucket, *attribute);
    return has_all;
  };
  if (!type.empty()) {
    if (const std::optional<uint32_t> bucket = buckets_.find(key)) look_in(*bucket);
    return has_all;
  }
  // Without a type, `key` is what the keys of all buckets of the namespace begin with.
  buckets_.each([&](std::string_view text, uint32_t bucket) {
    steps -= std::min<size_t>(steps, 1);
    has_all = steps > 0;
    return has_all && (!text.starts_with(key) || look_in(bucket));
  });
  return has_all;
}

/// Whether each listener of the bucket that has a predicate on the attribute is filed under an
/// equality or a plain text on it.
bool ListenerIndex::files_all(uint32_t bucket, uint32_t attribute) const {
  if (unfiled_.contains(place_of(bucket, attribute))) return false;
  const std::vector<Column>& columns = buckets_[bucket].columns;
  return std::none_of(columns.begin(), columns.end(), [&](const Column& column) {
    const uint32_t filed =
        std::accumulate(column.grams.begin(), column.grams.end(), column.equalities);
    return column.attribute == attribute && column.groups > filed;
  });
}

void ListenerIndex::find_in(uint32_t bucket, uint32_t attribute, std::string_view value,
                            size_t& steps, std::vector<uint64_t>& targets) const {
  const auto add = [&](uint32_t group) {
    uint32_t at = group == kNone ? kNone : groups_[group].first;
    for (; at != kNone && steps > 0; at = listeners_[at].next, --steps) {
      targets.push_back(listeners_[at].target);
    }
  };
  add(find_equality(bucket, {.attribute = attribute, .value = value}).id);
  // Many groups may be filed under one gram, so each of them takes a step.
  const auto add_text = [&](size_t at) {
    return [&, at](uint32_t id) {
      if (steps == 0) return true;
      --steps;
      const Group& group = groups_[id];
      if (group.bucket == bucket && group.attribute == attribute && group.gram_at <= at &&
          holds_at(key_of(group), value, at - group.gram_at)) {
        add(id);
      }
      return false;
    };
  };
  const std::vector<Column>& columns = buckets_[bucket].columns;
  steps -= std::min(steps, columns.size() / kColumnsInAStep);
  for (const Column& column : columns) {
    if (column.attribute != attribute) continue;
    for (size_t size = 1; size <= kGram; ++size) {
      if (column.grams[size] == 0) continue;
      for (size_t at = 0; at + size <= value.size() && steps > 0; ++at, steps -= steps > 0) {
        by_gram_.find(hash_of_gram(bucket, attribute, value.substr(at, size)), add_text(at));
      }
    }
  }
}

}  // namespace millrace
