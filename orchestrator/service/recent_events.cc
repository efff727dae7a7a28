#include "orchestrator/service/recent_events.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/encoded_event.h"
#include "matchers/hash_index.h"
#include "matchers/match_budget.h"
#include "matchers/pattern_results.h"
#include "model/event_target.h"
#include "orchestrator/memory/dedupe.h"

namespace millrace {
namespace {

/// The memory of an entry besides the bytes of its attributes, about.
constexpr size_t kBytesOfAnEntry = 96;
/// What an event takes for each attribute of its type that is in the index, about.
constexpr size_t kBytesOfALink = 20;
/// The memory of a type, about.
constexpr size_t kBytesOfAType = 256;

/// An attribute gets into the index if at least so many events have the type, and at most so many
/// attributes of a type.
constexpr size_t kFewestToLearn = 64;
constexpr size_t kMostLearned = 8;

/// The budget of the patterns of one search.
constexpr MatchBudget kSearchBudget{
    .has_long_runs = true, .steps = 1'000'000, .bytes = size_t{16} << 20};

/// The number of steps of patterns that take about as long as a look at an event.
constexpr uint32_t kStepsOfALook = 10;

/// The number of removed places from which they are erased from a list that consists of them by
/// half.
constexpr size_t kFewestErased = 64;

constexpr uint32_t kNoEvent = std::numeric_limits<uint32_t>::max();

uint32_t hash_of(std::string_view text) { return HashIndex::hash_of(text, 0); }

/// Whether the instance that searches may take the event, whose attributes match.
bool is_for(const Attributes& event, const LookBack& asked) {
  const std::optional<std::string_view> target = event.find(kTargetAttribute);
  return !target || is_target(*target, asked.workflow) ||
         *target == instance_target(asked.instance);
}

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

/// Puts the event with that number at the front of the list of its value.
void RecentEvents::link(Learned& learned, const Attributes& event, uint32_t number) {
  const auto text = event.find(learned.name);
  uint32_t previous = kNoEvent;
  if (text) {
    const auto [newest, is_first] = learned.newest.try_emplace(hash_of(*text), number);
    if (!is_first) previous = std::exchange(newest->second, number);
  }
  learned.previous.push_back(previous);
}

void RecentEvents::add(StoredEvent stored) {
  const Result<EncodedEvent> event = EncodedEvent::take(stored.message);
  if (!event) return;  // it became a dead letter
  add(stored.sequence, stored.stamped, event->attributes());
}

void RecentEvents::add(uint64_t sequence, TimePoint stamped, Attributes given) {
  if (!empty()) stamped = std::max(newest(), stamped);
  const auto place = static_cast<Place>(removed_ + entries_.size());
  entries_.push_back({.sequence = sequence, .stamped = stamped, .attributes = std::move(given)});
  const Attributes& attributes = entries_.back().attributes;
  bytes_ += kBytesOfAnEntry + attributes.size();
  const auto [type, is_new] = types_.try_emplace(std::string(attributes.type()));
  if (is_new) bytes_ += kBytesOfAType;
  TypeEvents& events = type->second;
  const auto number = static_cast<uint32_t>(events.erased + events.places.size());
  events.places.push_back(place);
  bytes_ += kBytesOfALink * events.learned.size();
  for (Learned& learned : events.learned) link(learned, attributes, number);
}

void RecentEvents::drop_oldest() {
  const Attributes& attributes = entries_.front().attributes;
  const auto found = types_.find(std::string(attributes.type()));
  TypeEvents& events = found->second;
  const auto number = static_cast<uint32_t>(events.erased + events.first);
  for (Learned& learned : events.learned) {
    const auto text = attributes.find(learned.name);
    const auto newest = text ? learned.newest.find(hash_of(*text)) : learned.newest.end();
    if (newest != learned.newest.end() && newest->second == number) learned.newest.erase(newest);
  }
  bytes_ -= kBytesOfALink * events.learned.size();
  if (++events.first == events.places.size()) {
    types_.erase(found);
    bytes_ -= kBytesOfAType;
  } else if (events.first >= kFewestErased && events.first * 2 >= events.places.size()) {
    const auto count = static_cast<ptrdiff_t>(events.first);
    events.places.erase(events.places.begin(), events.places.begin() + count);
    for (Learned& learned : events.learned) {
      learned.previous.erase(learned.previous.begin(), learned.previous.begin() + count);
    }
    events.erased += static_cast<uint32_t>(events.first);
    events.first = 0;
  }
  bytes_ -= kBytesOfAnEntry + attributes.size();
  entries_.pop_front();
  ++removed_;
}

void RecentEvents::drop_before(TimePoint since) {
  while (!empty() && oldest() < since) drop_oldest();
}

void RecentEvents::clear() {
  entries_.clear();
  types_.clear();
  removed_ = 0;
  bytes_ = 0;
}

/// Puts an attribute of the events into the index; null: they have too many attributes in it.
RecentEvents::Learned* RecentEvents::learn(TypeEvents& events, const std::string& name) {
  for (Learned& learned : events.learned) {
    if (learned.name == name) return &learned;
  }
  if (events.learned.size() >= kMostLearned) return nullptr;
  bytes_ += kBytesOfALink * events.size();
  Learned& learned = events.learned.emplace_back(Learned{.name = name});
  learned.previous.assign(events.first, kNoEvent);
  for (size_t i = events.first; i < events.places.size(); ++i) {
    link(learned, at(events.places[i]).attributes, static_cast<uint32_t>(events.erased + i));
  }
  return &learned;
}

/// The places of the events with that value in the window, and perhaps of a few others; nullopt:
/// there are more than a search may look at.
std::optional<RecentEvents::Places> RecentEvents::equal_to(const TypeEvents& events,
                                                           const Learned& learned,
                                                           std::string_view text,
                                                           const Window& window) const {
  Places places;
  const auto newest = learned.newest.find(hash_of(text));
  if (newest == learned.newest.end()) return places;
  const uint32_t first = static_cast<uint32_t>(events.erased + events.first);
  for (uint32_t number = newest->second; number != kNoEvent && number >= first;
       number = learned.previous[number - events.erased]) {
    const Place place = events.places[number - events.erased];
    const Entry& entry = at(place);
    if (entry.stamped < window.since) break;
    if (entry.sequence > window.until) continue;
    if (places.size() > limits_.looked_at) return std::nullopt;
    places.push_back(place);
  }
  std::reverse(places.begin(), places.end());
  return places;
}

/// The walk through the fewest events among which are all that the listener matches in its window;
/// nullopt: there are none.
std::optional<RecentEvents::Walk> RecentEvents::begin_walk(const EarlyListener& listener,
                                                           uint64_t until) {
  const auto found = types_.find(listener.filter.type);
  if (found == types_.end()) return std::nullopt;
  TypeEvents& events = found->second;
  std::optional<Places> fewest;
  for (const Predicate& predicate : listener.filter.predicates) {
    if (events.size() < kFewestToLearn || predicate.kind != Predicate::Kind::kEquals) continue;
    const Learned* const learned = learn(events, predicate.attribute);
    if (learned == nullptr) continue;
    auto places = equal_to(events, *learned, predicate.text, {listener.since, until});
    if (places && (!fewest || places->size() < fewest->size())) fewest = std::move(places);
  }
  Walk walk{.listener = &listener};
  if (fewest) {
    walk.own = *std::move(fewest);
    walk.next = walk.own.data();
    walk.end = walk.next + walk.own.size();
  } else {
    walk.next = events.places.data() + events.first;
    walk.end = events.places.data() + events.places.size();
  }
  walk.next =
      std::lower_bound(walk.next, walk.end, listener.since,
                       [&](Place place, TimePoint since) { return at(place).stamped < since; });
  if (walk.next == walk.end) return std::nullopt;
  return walk;
}

/// Whether the window has events of which it is not known whether the instance has taken them.
bool RecentEvents::has_forgotten(const LookBack& asked) const {
  if (asked.consumed.stream != asked.until.stream || asked.consumed.forgotten == 0) return false;
  const auto first =
      std::lower_bound(entries_.begin(), entries_.end(), window_of(asked),
                       [](const Entry& one, TimePoint since) { return one.stamped < since; });
  return first != entries_.end() && first->sequence <= asked.consumed.forgotten;
}

Result<EarlyEvents> RecentEvents::find(const LookBack& asked, const Fetch& fetch) {
  MatchBudget budget = kSearchBudget;
  size_t looked_at = 0;
  Result<EarlyEvents> found = find_within(asked, fetch, budget, looked_at);
  looks_ += looked_at + (kSearchBudget.steps - budget.steps) / kStepsOfALook;
  return found;
}

Result<EarlyEvents> RecentEvents::find_within(const LookBack& asked, const Fetch& fetch,
                                              MatchBudget& budget, size_t& looked_at) {
  const auto beyond = [](std::string_view what) {
    return EarlyEvents(tl::unexpected(beyond_lookback(what)));
  };
  if (has_forgotten(asked)) {
    return beyond(
        fmt::format("the instance has taken more than {} events in it", ConsumedEvents::kMost));
  }
  std::vector<Walk> walks;
  std::set<std::pair<Place, size_t>> next;  // the next place of each walk, and its index
  for (const EarlyListener& listener : asked.listeners) {
    std::optional<Walk> walk = begin_walk(listener, asked.until.sequence);
    if (!walk) continue;
    next.emplace(*walk->next, walks.size());
    walks.push_back(*std::move(walk));
  }

  std::set<Fingerprint> taken;
  for (const ConsumedEvent& one : asked.consumed.events) taken.insert(one.known_as);
  std::vector<EarlyEvent> found;
  size_t found_bytes = 0;
  PatternResults results;
  uint64_t over_limit = 0;
  std::optional<Place> settled;  // the place of an event that no further listener may take
  while (!next.empty()) {
    const auto [place, index] = *next.begin();
    next.erase(next.begin());
    Walk& walk = walks[index];
    const Entry& entry = at(place);
    if (entry.sequence > asked.until.sequence) break;
    bool is_taken = false;
    if (settled != place) {
      if (++looked_at > limits_.looked_at) {
        return beyond(
            fmt::format("more than {} of them have the type that the state waits for (fewer "
                        "count if it compares an attribute for equality)",
                        limits_.looked_at));
      }
      const Decision decision =
          results.decide(walk.listener->filter, place, entry.attributes, budget, over_limit)
              .value_or(Decision::kNo);
      if (decision == Decision::kUndecided) {
        return beyond("the patterns of the state need too many steps");
      }
      if (decision == Decision::kYes) {
        settled = place;
        const Fingerprint known_as = fingerprint_of(asked.space, entry.attributes);
        if (is_for(entry.attributes, asked) && taken.insert(known_as).second) {
          if (found.size() == limits_.found || found_bytes > limits_.found_bytes) {
            return beyond(fmt::format("the state would get more than {} events or {} MiB at once",
                                      limits_.found, limits_.found_bytes >> 20));
          }
          std::optional<Event> event = TRY(fetch(entry.sequence));
          if (!event || fingerprint_of(asked.space, *event) != known_as) {
            return beyond("the event stream no longer has all of them");
          }
          is_taken = true;
          found_bytes += event->data ? event->data->size() : 0;
          found.push_back({.sequence = entry.sequence,
                           .known_as = known_as,
                           .event = std::make_shared<const Event>(*std::move(event)),
                           .entry = walk.listener->entry});
          if (!asked.fills_each) break;
        }
      }
    }
    if (!is_taken && ++walk.next != walk.end) next.emplace(*walk.next, index);
  }
  return EarlyEvents(std::move(found));
}

}  // namespace millrace
