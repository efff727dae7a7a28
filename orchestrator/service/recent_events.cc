#include "orchestrator/service/recent_events.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "matchers/match_budget.h"
#include "matchers/pattern_results.h"
#include "model/event_target.h"
#include "orchestrator/memory/dedupe.h"

namespace millrace {
namespace {

/// The memory of an entry besides the bytes of its event, about.
constexpr size_t kBytesOfAnEntry = 200;

/// An attribute gets into the index if at least so many events have the type.
constexpr size_t kFewestToLearn = 64;
/// The most types with such attributes, and attributes of one type.
constexpr size_t kMostTypes = 256;
constexpr size_t kMostNames = 8;

/// The budget of the patterns of one search.
constexpr MatchBudget kBudget{.has_long_runs = true, .steps = 1'000'000, .bytes = size_t{16} << 20};

/// The size from which removed places are erased from a list that consists of them by half.
constexpr size_t kFewestErased = 64;

/// The search of one listener through the places that may match it.
struct Walk {
  const EarlyListener* listener = nullptr;
  const std::vector<uint64_t>* places = nullptr;
  size_t next = 0;
};

}  // namespace

Error beyond_lookback(std::string_view what) {
  return {kLookbackLimit, fmt::format("the events in the window of `lookback` cannot all be read: "
                                      "{}; write a shorter lookback, or catch this error",
                                      what)};
}

TimePoint window_of(const LookBack& asked) {
  TimePoint since = TimePoint::max();
  for (const EarlyListener& one : asked.listeners) since = std::min(since, one.since);
  return since;
}

RecentEvents::Key RecentEvents::key_of(std::string_view type, std::string_view name,
                                       std::string_view text) {
  constexpr size_t kFactor = 0x9e3779b97f4a7c15;
  const std::hash<std::string_view> hash;
  return (hash(type) * kFactor + hash(name)) * kFactor + hash(text);
}

/// Calls `see` with each key under which the event is in the index.
template <class See>
void RecentEvents::each_key(const Attributes& event, const See& see) const {
  const std::string_view type = event.type();
  see(key_of(type));
  const auto learned = learned_.find(type);
  if (learned == learned_.end()) return;
  for (const std::string& name : learned->second) {
    if (const auto text = event.find(name)) see(key_of(type, name, *text));
  }
}

void RecentEvents::add(StoredEvent stored) {
  Result<EncodedEvent> event = EncodedEvent::take(stored.message);
  if (!event) return;  // it became a dead letter
  const TimePoint latest = entries_.empty() ? stored.stamped : std::max(newest(), stored.stamped);
  const uint64_t place = removed_ + entries_.size();
  entries_.push_back({.sequence = stored.sequence,
                      .stamped = stored.stamped,
                      .latest = latest,
                      .event = *std::move(event)});
  Entry& entry = entries_.back();
  entry.bytes = entry.event.size() + kBytesOfAnEntry;
  bytes_ += entry.bytes;
  each_key(entry.event.attributes(), [&](Key key) { index_[key].places.push_back(place); });
}

void RecentEvents::drop_oldest() {
  const Entry& entry = entries_.front();
  each_key(entry.event.attributes(), [&](Key key) {
    const auto found = index_.find(key);
    Places& list = found->second;
    if (++list.first == list.places.size()) {
      index_.erase(found);
    } else if (list.first >= kFewestErased && list.first * 2 >= list.places.size()) {
      list.places.erase(list.places.begin(),
                        list.places.begin() + static_cast<ptrdiff_t>(list.first));
      list.first = 0;
    }
  });
  bytes_ -= entry.bytes;
  entries_.pop_front();
  ++removed_;
}

void RecentEvents::drop_before(TimePoint since) {
  while (!entries_.empty() && oldest() < since) drop_oldest();
}

void RecentEvents::clear() {
  entries_.clear();
  index_.clear();
  learned_.clear();
  removed_ = 0;
  bytes_ = 0;
}

const RecentEvents::Places* RecentEvents::places_of(Key key) const {
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &found->second;
}

/// Puts an attribute of the events of a type into the index. Returns whether it is there.
bool RecentEvents::learn(const std::string& type, const std::string& name) {
  auto learned = learned_.find(type);
  if (learned == learned_.end()) {
    if (learned_.size() >= kMostTypes) return false;
    learned = learned_.emplace(type, std::vector<std::string>()).first;
  }
  std::vector<std::string>& names = learned->second;
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  if (names.size() >= kMostNames) return false;
  names.push_back(name);
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Attributes& event = entries_[i].event.attributes();
    if (event.type() != type) continue;
    if (const auto text = event.find(name)) {
      index_[key_of(type, name, *text)].places.push_back(removed_ + i);
    }
  }
  return true;
}

/// The shortest list of places in which each event that the filter matches is; null: there is no
/// such event.
const RecentEvents::Places* RecentEvents::fewest(const EventFilter& filter) {
  const Places* best = places_of(key_of(filter.type));
  if (best == nullptr || best->size() < kFewestToLearn) return best;
  for (const Predicate& predicate : filter.predicates) {
    const bool is_indexed =
        predicate.kind == Predicate::Kind::kEquals && learn(filter.type, predicate.attribute);
    if (!is_indexed) continue;
    const Places* const list = places_of(key_of(filter.type, predicate.attribute, predicate.text));
    if (list == nullptr) return nullptr;
    if (list->size() < best->size()) best = list;
  }
  return best;
}

/// Whether the window has events of which it is not known whether the instance has taken them.
bool RecentEvents::has_forgotten(const LookBack& asked) const {
  if (asked.consumed.stream != asked.until.stream || asked.consumed.forgotten == 0) return false;
  const auto first =
      std::lower_bound(entries_.begin(), entries_.end(), window_of(asked),
                       [](const Entry& one, TimePoint since) { return one.latest < since; });
  return first != entries_.end() && first->sequence <= asked.consumed.forgotten;
}

EarlyEvents RecentEvents::find(const LookBack& asked) {
  if (has_forgotten(asked)) {
    return tl::unexpected(beyond_lookback(
        fmt::format("the instance has taken more than {} events in it", ConsumedEvents::kMost)));
  }
  std::vector<Walk> walks;
  std::set<std::pair<uint64_t, size_t>> next;  // the next place of each walk, and its index
  for (const EarlyListener& listener : asked.listeners) {
    const Places* const list = fewest(listener.filter);
    if (list == nullptr) continue;
    const auto from = std::lower_bound(
        list->places.begin() + static_cast<ptrdiff_t>(list->first), list->places.end(),
        listener.since, [&](uint64_t place, TimePoint since) { return at(place).latest < since; });
    if (from == list->places.end()) continue;
    next.emplace(*from, walks.size());
    walks.push_back({&listener, &list->places, static_cast<size_t>(from - list->places.begin())});
  }

  std::set<Fingerprint> taken;
  for (const ConsumedEvent& one : asked.consumed.events) taken.insert(one.known_as);
  // may_take() needs no other fields.
  const Instance instance{.id = asked.instance, .ns = asked.ns, .revision = {asked.workflow, 0}};
  std::vector<EarlyEvent> found;
  size_t found_bytes = 0;
  PatternResults results;
  MatchBudget budget = kBudget;
  uint64_t over_limit = 0;
  size_t looked_at = 0;
  std::optional<uint64_t> settled;  // the place of an event that no further listener may take
  while (!next.empty()) {
    const auto [place, index] = *next.begin();
    next.erase(next.begin());
    Walk& walk = walks[index];
    const Entry& entry = at(place);
    if (entry.sequence > asked.until.sequence) break;
    bool is_taken = false;
    if (settled != place && entry.stamped >= walk.listener->since) {
      if (++looked_at > limits_.looked_at) {
        return tl::unexpected(beyond_lookback(fmt::format(
            "more than {} of them have the type that the state waits for", limits_.looked_at)));
      }
      const Result<Decision> decision = results.decide(
          walk.listener->filter, place, entry.event.attributes(), budget, over_limit);
      if (decision && *decision == Decision::kUndecided) {
        return tl::unexpected(beyond_lookback("the patterns of the state need too many steps"));
      }
      if (decision && *decision == Decision::kYes) {
        settled = place;
        auto event = std::make_shared<const Event>(entry.event.event());
        const Fingerprint known_as = fingerprint_of(asked.space, *event);
        if (may_take(*event, instance) && taken.insert(known_as).second) {
          is_taken = true;
          if (found.size() == limits_.found ||
              (!found.empty() && found_bytes > limits_.found_bytes)) {
            return tl::unexpected(beyond_lookback(
                fmt::format("the state would get more than {} events or {} MiB at once",
                            limits_.found, limits_.found_bytes >> 20)));
          }
          found_bytes += entry.event.size();
          found.push_back({.sequence = entry.sequence,
                           .known_as = known_as,
                           .event = std::move(event),
                           .entry = walk.listener->entry});
          if (!asked.fills_each) break;
        }
      }
    }
    if (!is_taken && ++walk.next < walk.places->size()) {
      next.emplace((*walk.places)[walk.next], index);
    }
  }
  return found;
}

}  // namespace millrace
