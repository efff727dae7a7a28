#include "orchestrator/memory/kept_events.h"

#include <algorithm>

#include "cloudevents/json_format.h"
#include "matchers/naive_matcher.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {
namespace {

/// How many kept events one batch may erase: more than one batch adds, so that the number of
/// unneeded events shrinks.
constexpr size_t kTrimmedAtOnce = 1'000;

Fingerprint type_of(std::string_view type) { return fingerprint({type}); }

/// Adds the listeners of one instance to `matcher`. There are few listeners, and the matcher is
/// used once.
Status listen(NaiveMatcher& matcher, const std::vector<Listener>& listeners) {
  for (const Listener& listener : listeners) {
    TRY(matcher.add("", listener.filter, listener.entry));
  }
  return {};
}

}  // namespace

Status KeptEvents::load(const View& view) {
  pending_listeners_.clear();
  awaited_.clear();
  froms_.clear();
  held_.clear();
  kept_.clear();
  known_.clear();
  undo_.take();
  last_ = TRY(read_counter(view, Counter::kKeptEvents));
  TRY(each_kept_event(
      view,
      [&](const KeptEventPlace& place, const KeptEventRecord& record) {
        kept_.push_back({place, record.known_as});
        known_.insert(record.known_as);
      },
      damages_.noting()));
  std::sort(kept_.begin(), kept_.end(),
            [](const Kept& a, const Kept& b) { return a.place.number < b.place.number; });
  return {};
}

bool may_come_to_listen(const Instance& instance) {
  return !has_ended(instance.status) &&
         (instance.phase != Phase::kWaiting || !instance.calls.empty());
}

void KeptEvents::forget(const InstanceId& instance) {
  const auto found = pending_listeners_.find(instance);
  if (found == pending_listeners_.end()) return;
  const PendingListener& one = found->second;
  if (Undo* const undo = undo_.now()) undo->instances.emplace_back(one.ns, instance);
  froms_.erase(froms_.find(one.from));
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
  froms_.insert(instance.listen_from.kept);
  for (const std::string& type : *types) ++awaited_[std::pair(instance.ns, type)];
  pending_listeners_.emplace(
      instance.id, PendingListener{instance.ns, instance.listen_from.kept, std::move(types)});
}

bool KeptEvents::wants(NamespaceNumber ns, std::string_view type) const {
  for (const auto& [number, held] : held_) {
    if (held.ns == ns) return true;
  }
  return !awaited_.empty() && awaited_.contains(std::pair(ns, std::string(type)));
}

/// The kept event with that number; null: there is none.
const KeptEvents::Kept* KeptEvents::find_kept(uint64_t number) const {
  const auto kept =
      std::lower_bound(kept_.begin(), kept_.end(), number,
                       [](const Kept& one, uint64_t wanted) { return one.place.number < wanted; });
  return kept == kept_.end() || kept->place.number != number ? nullptr : &*kept;
}

Result<KeptEvents::Held> KeptEvents::hold(const View& view, uint64_t number) {
  const Kept* const kept = find_kept(number);
  if (kept == nullptr) {
    return tl::unexpected(damaged_fan_out(number, "the event that it names is not a kept event"));
  }
  const auto record = TRY(read_kept_event(view, kept->place));
  if (!record) {
    return tl::unexpected(damaged_fan_out(number, "the event that it names is missing"));
  }
  Event event = TRY(event_of(kept->place, *record));
  Held held{kept->place.ns, std::make_shared<const Event>(std::move(event)), record->position};
  froms_.insert(number - 1);
  held_.emplace(number, held);
  return held;
}

void KeptEvents::let_go(uint64_t number) {
  held_.erase(number);
  froms_.erase(froms_.find(number - 1));
}

void KeptEvents::keep(Transaction& tx, NamespaceNumber ns, const Event& event,
                      const Fingerprint& known_as, const EventPosition& position,
                      TimePoint stamped) {
  if (Undo* const undo = undo_.now(); undo != nullptr && !undo->last) undo->last = last_;
  const KeptEventPlace place{.ns = ns, .type = type_of(event.type), .number = ++last_};
  write_counter(tx, Counter::kKeptEvents, last_);
  write_kept_event(tx, place,
                   {.known_as = known_as, .event = encode_json_event(event), .position = position});
  kept_.push_back({place, known_as, stamped});
  known_.insert(known_as);
}

Result<std::optional<KeptEventMatch>> KeptEvents::find(const View& view,
                                                       const Instance& instance) const {
  std::optional<KeptEventMatch> first;
  if (kept_.empty() || kept_.back().place.number <= instance.listen_from.kept) return first;
  NaiveMatcher matcher;
  TRY(listen(matcher, instance.listeners));
  std::set<Fingerprint> types;
  for (const Listener& listener : instance.listeners) types.insert(type_of(listener.filter.type));

  std::vector<uint64_t> matched;
  for (const Fingerprint& type : types) {
    const KeptEventPlace from{
        .ns = instance.ns, .type = type, .number = instance.listen_from.kept + 1};
    const auto see = [&](uint64_t number, const KeptEventRecord& record) {
      if (first && first->position.kept < number) return false;
      std::shared_ptr<const Event> event;
      if (const auto held = held_.find(number); held != held_.end()) {
        event = held->second.event;
      } else if (auto decoded = event_of({.ns = from.ns, .type = type, .number = number}, record)) {
        event = std::make_shared<const Event>(std::move(*decoded));
      } else {
        damages_.note(decoded.error());
        return true;
      }
      matcher.match("", Attributes(*event), matched);
      if (matched.empty()) return true;
      const Kept* const kept = find_kept(number);
      first = KeptEventMatch{.position = {.kept = number, .event = record.position},
                             .stamped = kept == nullptr ? TimePoint::min() : kept->stamped,
                             .event = std::move(event),
                             .entries = {matched.begin(), matched.end()}};
      return false;
    };
    TRY(each_kept_event_of_type(view, from, see, damages_.noting()));
  }
  return first;
}

void KeptEvents::trim(Transaction& tx) {
  for (size_t left = kTrimmedAtOnce; left > 0 && !kept_.empty(); --left) {
    if (!froms_.empty() && kept_.front().place.number > *froms_.begin()) return;
    erase_kept_event(tx, kept_.front().place);
    known_.erase(kept_.front().known_as);
    if (Undo* const undo = undo_.now()) undo->trimmed.push_back(kept_.front());
    kept_.pop_front();
  }
}

std::vector<std::pair<NamespaceNumber, InstanceId>> KeptEvents::undo() {
  for (const auto& [number, held] : held_) froms_.erase(froms_.find(number - 1));
  held_.clear();
  Undo undo = undo_.take();
  last_ = undo.last.value_or(last_);
  for (; !kept_.empty() && kept_.back().place.number > last_; kept_.pop_back()) {
    known_.erase(kept_.back().known_as);
  }
  for (auto one = undo.trimmed.rbegin(); one != undo.trimmed.rend(); ++one) {
    if (one->place.number > last_) continue;  // the lost batch both kept and trimmed the event
    known_.insert(one->known_as);
    kept_.push_front(*one);
  }
  return std::move(undo.instances);
}

}  // namespace millrace
