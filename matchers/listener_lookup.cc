// The look-ups of ListenerIndex that need no event.
#include <algorithm>

#include "matchers/listener_index.h"
#include "matchers/listener_keys.h"

namespace millrace {
namespace {

/// How many columns of a bucket are passed in about the time of one read from memory.
constexpr size_t kColumnsInAStep = 64;

}  // namespace

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
  if (!bucket || !attribute) return;
  const std::string_view value = probe.value;
  const auto add = [&](uint32_t group) {
    uint32_t at = group == kNone ? kNone : groups_[group].first;
    for (; at != kNone && steps > 0; at = listeners_[at].next, --steps) {
      targets.push_back(listeners_[at].target);
    }
  };
  add(find_equality(*bucket, {.attribute = *attribute, .value = value}).id);
  // Many groups may be filed under one gram, so each of them takes a step.
  const auto add_text = [&](size_t at) {
    return [&, at](uint32_t id) {
      if (steps == 0) return true;
      --steps;
      const Group& group = groups_[id];
      if (group.bucket == *bucket && group.attribute == *attribute && group.gram_at <= at &&
          holds_at(key_of(group), value, at - group.gram_at)) {
        add(id);
      }
      return false;
    };
  };
  const std::vector<Column>& columns = buckets_[*bucket].columns;
  steps -= std::min(steps, columns.size() / kColumnsInAStep);
  for (const Column& column : columns) {
    if (column.attribute != *attribute) continue;
    for (size_t size = 1; size <= kGram; ++size) {
      if (column.grams[size] == 0) continue;
      for (size_t at = 0; at + size <= value.size() && steps > 0; ++at, steps -= steps > 0) {
        by_gram_.find(hash_of_gram(*bucket, *attribute, value.substr(at, size)), add_text(at));
      }
    }
  }
}

}  // namespace millrace
