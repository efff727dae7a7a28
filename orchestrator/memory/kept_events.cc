#include "orchestrator/memory/kept_events.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/attributes.h"
#include "base/check.h"
#include "cloudevents/json_format.h"
#include "model/event_target.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {
namespace {

/// How many kept events one batch may erase: more than one batch adds, so that the number of
/// unneeded events shrinks.
constexpr size_t kTrimmedAtOnce = 1'000;
/// Of how many namespaces.
constexpr size_t kSpacesAtOnce = 64;

Fingerprint type_of(std::string_view type) { return fingerprint({type}); }

Error names_no_kept_event(uint64_t number) {
  return damaged_fan_out(number, "the event that it names is not a kept event");
}

/// What the examination of one kept event takes from the budget of steps besides its patterns:
/// about the number of steps that take as long as reading the event.
constexpr uint32_t kStepsToRead = 50;

/// How many kept events of types for which an instance does not wait a search passes for one step.
constexpr size_t kPassedInAStep = 16;

}  // namespace

Status KeptEvents::load(const View& view) {
  pending_listeners_.clear();
  awaited_.clear();
  froms_.clear();
  held_.clear();
  held_in_.clear();
  kept_.clear();
  known_.clear();
  results_.clear();
  undecided_ = Undecided();
  undo_.take();
  last_ = TRY(read_counter(view, Counter::kKeptEvents));
  TRY(each_kept_event(
      view,
      [&](const KeptEventPlace& place, const KeptEventRecord& record) {
        kept_[place.ns].push_back(
            {place, record.known_as, record.position, record.event.size(), record.after_timers});
        known_.insert(record.known_as);
      },
      damages_.noting()));
  for (auto& [ns, kept] : kept_) {
    std::sort(kept.begin(), kept.end(),
              [](const Kept& a, const Kept& b) { return a.place.number < b.place.number; });
  }
  return {};
}

bool may_come_to_listen(const Instance& instance) {
  return !has_ended(instance.status) && !instance.compensating && !waits_to_start(instance) &&
         (instance.phase != Phase::kWaiting || !instance.calls.empty());
}

void KeptEvents::forget(const InstanceId& instance) {
  const auto found = pending_listeners_.find(instance);
  if (found == pending_listeners_.end()) return;
  const PendingListener& one = found->second;
  if (Undo* const undo = undo_.now()) undo->instances.emplace_back(one.ns, instance);
  remove_from(one.ns, one.from);
  for (const std::string& type : *one.types) {
    const auto awaited = awaited_.find(std::pair(one.ns, type));
    if (--awaited->second == 0) awaited_.erase(awaited);
  }
  pending_listeners_.erase(found);
}

void KeptEvents::update(const Instance& instance, std::shared_ptr<const AwaitedTypes> types) {
  forget(instance.id);
  if (!may_come_to_listen(instance) || types->empty()) return;
  if (Undo* const undo = undo_.now()) undo->instances.emplace_back(instance.ns, instance.id);
  froms_[instance.ns].insert(instance.listen_from.kept);
  for (const std::string& type : *types) ++awaited_[std::pair(instance.ns, type)];
  pending_listeners_.emplace(
      instance.id, PendingListener{instance.ns, instance.listen_from.kept, std::move(types)});
}

bool KeptEvents::wants(NamespaceNumber ns, std::string_view type) const {
  if (!held_in_.empty()) {
    const auto held = held_in_.find(ns);
    const bool is_wanted =
        held != held_in_.end() && (held->second.has_all || held->second.types.contains(type));
    if (is_wanted) return true;
  }
  return !awaited_.empty() && awaited_.contains(std::pair(ns, std::string(type)));
}

const KeptEvents::KeptQueue& KeptEvents::kept_of(NamespaceNumber ns) const {
  static const KeptQueue none;
  const auto found = kept_.find(ns);
  return found == kept_.end() ? none : found->second;
}

KeptEvents::KeptQueue::const_iterator KeptEvents::from_number(const KeptQueue& kept,
                                                              uint64_t number) {
  return std::lower_bound(kept.begin(), kept.end(), number, [](const Kept& one, uint64_t wanted) {
    return one.place.number < wanted;
  });
}

/// Removes one of the equal numbers from `froms_`.
void KeptEvents::remove_from(NamespaceNumber ns, uint64_t from) {
  const auto found = froms_.find(ns);
  found->second.erase(found->second.find(from));
  if (found->second.empty()) froms_.erase(found);
}

uint64_t KeptEvents::last_of(NamespaceNumber ns) const {
  const KeptQueue& kept = kept_of(ns);
  return kept.empty() ? 0 : kept.back().place.number;
}

Result<NamespaceNumber> KeptEvents::hold(uint64_t number, const HeldTypes& types) {
  for (const auto& [ns, kept] : kept_) {
    const auto found = from_number(kept, number);
    if (found == kept.end() || found->place.number != number) continue;
    TRY(hold(ns, number, types));
    return ns;
  }
  return tl::unexpected(names_no_kept_event(number));
}

Status KeptEvents::hold(NamespaceNumber ns, uint64_t number, const HeldTypes& types) {
  if (const auto known = held_.find(number); known != held_.end()) {
    ++known->second.holders;
    hold_types(ns, types);
    return {};
  }
  const KeptQueue& kept = kept_of(ns);
  const auto found = from_number(kept, number);
  if (found == kept.end() || found->place.number != number) {
    return tl::unexpected(names_no_kept_event(number));
  }
  froms_[ns].insert(number - 1);
  ++held_in_[ns].events;
  hold_types(ns, types);
  held_.emplace(number, Holding{found->place});
  return {};
}

void KeptEvents::hold_types(NamespaceNumber ns, const HeldTypes& types) {
  HeldSpace& space = held_in_.at(ns);
  space.has_all = space.has_all || !types;
  if (types) space.types.insert(types->begin(), types->end());
}

void KeptEvents::let_go(uint64_t number) {
  const auto found = held_.find(number);
  CHECK(found != held_.end(), "the kept event {} is not held", number);
  if (--found->second.holders > 0) return;
  const NamespaceNumber ns = found->second.place.ns;
  const auto in = held_in_.find(ns);
  if (--in->second.events == 0) held_in_.erase(in);
  held_.erase(found);
  remove_from(ns, number - 1);
}

Result<HeldEvent> KeptEvents::read(const View& view, uint64_t number) {
  const auto found = held_.find(number);
  CHECK(found != held_.end(), "the kept event {} is not held", number);
  Holding& holding = found->second;
  if (holding.event) return *holding.event;
  const auto record = TRY(read_kept_event(view, holding.place));
  if (!record) {
    return tl::unexpected(damaged_fan_out(number, "the event that it names is missing"));
  }
  Event event = TRY(event_of(holding.place, *record));
  holding.event = HeldEvent{.event = std::make_shared<const Event>(std::move(event)),
                            .position = record->position,
                            .known_as = record->known_as,
                            .stamped = record->stamped,
                            .after_timers = record->after_timers};
  return *holding.event;
}

void KeptEvents::keep(Transaction& tx, NamespaceNumber ns, const Event& event,
                      const Fingerprint& known_as, const EventPosition& position, TimePoint stamped,
                      TimePoint after_timers) {
  if (Undo* const undo = undo_.now(); undo != nullptr && !undo->last) undo->last = last_;
  const KeptEventPlace place{.ns = ns, .type = type_of(event.type), .number = ++last_};
  write_counter(tx, Counter::kKeptEvents, last_);
  KeptEventRecord record{.known_as = known_as,
                         .event = encode_json_event(event),
                         .position = position,
                         .stamped = stamped,
                         .after_timers = after_timers};
  write_kept_event(tx, place, record);
  kept_[ns].push_back({place, known_as, position, record.event.size(), after_timers});
  known_.insert(known_as);
}

/// The kept event at that place; null: it is damaged, which is noted. Sets `position`. An event
/// that is held is read once.
Result<std::shared_ptr<const Event>> KeptEvents::event_at(const View& view,
                                                          const KeptEventPlace& place,
                                                          ListenFrom& position) {
  position.kept = place.number;
  Error damage;
  if (held_.contains(place.number)) {
    const Result<HeldEvent> held = read(view, place.number);
    if (held) {
      position.event = held->position;
      return held->event;
    }
    damage = held.error();
  } else {
    const auto record = TRY(damages_.pass_over(read_kept_event(view, place)));
    if (!record) return std::shared_ptr<const Event>();
    position.event = record->position;
    Result<Event> event = event_of(place, *record);
    if (event) return std::make_shared<const Event>(*std::move(event));
    damage = event.error();
  }
  if (!is_damaged_row(damage)) return tl::unexpected(damage);
  damages_.note(damage);
  return std::shared_ptr<const Event>();
}

Result<KeptEventSearch> KeptEvents::find(const View& view, const Instance& instance,
                                         const Range& range, MatchBudget& budget) {
  KeptEventSearch search;
  const uint64_t from = std::max(range.from, instance.listen_from.kept + 1);
  const KeptQueue& all = kept_of(instance.ns);
  if (all.empty() || all.back().place.number < from) return search;
  std::set<Fingerprint> types;
  for (const Listener& listener : instance.listeners) types.insert(type_of(listener.filter.type));
  size_t passed = 0;
  for (auto kept = from_number(all, from); kept != all.end(); ++kept) {
    const KeptEventPlace& place = kept->place;
    if (!types.contains(place.type)) {
      if (++passed % kPassedInAStep != 0 || budget.take_steps(1)) continue;
      search.stopped_at = place.number;
      return search;
    }
    if (place.number > range.to) {
      search.next = place.number;
      break;
    }
    search.stopped_at = place.number;
    const auto held = held_.find(place.number);
    const bool is_read = held != held_.end() && held->second.event;
    if (!budget.take_steps(kStepsToRead)) return search;
    if (!is_read && !budget.take_bytes(kept->size)) return search;
    KeptEventMatch match{.after_timers = kept->after_timers};
    match.event = TRY(event_at(view, place, match.position));
    if (match.event == nullptr || !may_take(*match.event, instance)) continue;
    const Attributes attributes(*match.event);
    for (const Listener& listener : instance.listeners) {
      const Decision decision =
          TRY(results_.decide(listener.filter, place.number, attributes, budget, over_limit_));
      if (decision == Decision::kUndecided) return search;
      if (decision == Decision::kYes) match.entries.push_back(listener.entry);
    }
    // An early event and a kept event may be two copies of one event.
    if (match.entries.empty() || instance.consumed.has(kept->known_as)) continue;
    std::sort(match.entries.begin(), match.entries.end());
    search.match = std::move(match);
    break;
  }
  search.stopped_at.reset();
  return search;
}

ListenFrom KeptEvents::last_before(NamespaceNumber ns, TimePoint deadline,
                                   const ListenFrom& from) const {
  ListenFrom last = from;
  const KeptQueue& all = kept_of(ns);
  for (auto kept = from_number(all, from.kept + 1); kept != all.end(); ++kept) {
    if (kept->after_timers >= deadline) break;
    last = {.kept = kept->place.number, .event = kept->position};
  }
  return last;
}

EventPosition KeptEvents::just_before(NamespaceNumber ns, uint64_t number) const {
  const KeptQueue& all = kept_of(ns);
  const auto kept = from_number(all, number);
  const bool is_there = kept != all.end() && kept->place.number == number;
  if (!is_there || kept->position.sequence <= 1) return {};
  return {kept->position.stream, kept->position.sequence - 1};
}

TimePoint KeptEvents::after_timers(NamespaceNumber ns, uint64_t number) const {
  const KeptQueue& all = kept_of(ns);
  const auto kept = from_number(all, number);
  CHECK(kept != all.end() && kept->place.number == number, "the event {} is not kept", number);
  return kept->after_timers;
}

void KeptEvents::each_size(NamespaceNumber ns, uint64_t from,
                           const std::function<void(uint64_t number, size_t size)>& see) const {
  const KeptQueue& all = kept_of(ns);
  for (auto kept = from_number(all, from); kept != all.end(); ++kept) {
    see(kept->place.number, kept->size);
  }
}

/// A namespace whose instances need its old events does not keep those of the others.
void KeptEvents::trim(Transaction& tx) {
  size_t left = kTrimmedAtOnce;
  for (size_t spaces = std::min(kept_.size(), kSpacesAtOnce); spaces > 0 && left > 0; --spaces) {
    auto next = kept_.upper_bound(trimmed_);
    if (next == kept_.end()) next = kept_.begin();
    trimmed_ = next->first;
    KeptQueue& kept = next->second;
    const auto froms = froms_.find(trimmed_);
    const uint64_t unneeded_to =
        froms == froms_.end() ? std::numeric_limits<uint64_t>::max() : *froms->second.begin();
    for (; left > 0 && !kept.empty() && kept.front().place.number <= unneeded_to; --left) {
      erase_kept_event(tx, kept.front().place);
      known_.erase(kept.front().known_as);
      if (Undo* const undo = undo_.now()) undo->trimmed.push_back(kept.front());
      kept.pop_front();
    }
    if (kept.empty()) kept_.erase(next);
  }
}

std::vector<std::pair<NamespaceNumber, InstanceId>> KeptEvents::undo() {
  for (const auto& [number, held] : held_) remove_from(held.place.ns, number - 1);
  held_.clear();
  held_in_.clear();
  results_.clear();  // the lost batch may have kept events whose numbers are assigned again
  undecided_.clear();
  Undo undo = undo_.take();
  last_ = undo.last.value_or(last_);
  for (auto space = kept_.begin(); space != kept_.end();) {
    KeptQueue& kept = space->second;
    for (; !kept.empty() && kept.back().place.number > last_; kept.pop_back()) {
      known_.erase(kept.back().known_as);
    }
    space = kept.empty() ? kept_.erase(space) : std::next(space);
  }
  for (auto one = undo.trimmed.rbegin(); one != undo.trimmed.rend(); ++one) {
    if (one->place.number > last_) continue;  // the lost batch both kept and trimmed the event
    known_.insert(one->known_as);
    kept_[one->place.ns].push_front(*one);
  }
  return std::move(undo.instances);
}

}  // namespace millrace
