#include "orchestrator/memory/kept_events.h"

#include <algorithm>

#include "cloudevents/json_format.h"
#include "matchers/naive_matcher.h"
#include "orchestrator/store/rows/meta_rows.h"

namespace millrace {
namespace {

/// More than one batch keeps, so that less and less is left.
constexpr size_t kTrimmedAtOnce = 4'096;

Fingerprint type_of(std::string_view type) { return fingerprint({type}); }

/// The listeners of one instance, as a matcher of their own: few, and for this once.
Status listen(NaiveMatcher& matcher, const std::vector<Listener>& listeners) {
  for (const Listener& listener : listeners) {
    TRY(matcher.add("", listener.filter, listener.entry));
  }
  return {};
}

}  // namespace

Status Recent::load(const View& view) {
  on_their_way_.clear();
  awaited_.clear();
  froms_.clear();
  held_.clear();
  kept_.clear();
  known_.clear();
  undo_.take();
  last_ = TRY(read_counter(view, Counter::kRecent));
  TRY(each_recent(
      view,
      [&](const RecentPlace& place, const RecentRecord& record) {
        kept_.push_back({place, record.known_as});
        known_.insert(record.known_as);
      },
      damages_.noting()));
  std::sort(kept_.begin(), kept_.end(),
            [](const Kept& a, const Kept& b) { return a.place.number < b.place.number; });
  return {};
}

bool is_on_its_way(const Instance& instance) {
  return !has_ended(instance.status) &&
         (instance.phase != Phase::kWaiting || !instance.calls.empty());
}

void Recent::forget(const InstanceId& instance) {
  const auto found = on_their_way_.find(instance);
  if (found == on_their_way_.end()) return;
  const OnItsWay& one = found->second;
  if (Undo* const undo = undo_.now()) undo->instances.emplace_back(one.space, instance);
  froms_.erase(froms_.find(one.from));
  for (const std::string& type : *one.types) {
    const auto awaited = awaited_.find(std::pair(one.space, type));
    if (--awaited->second == 0) awaited_.erase(awaited);
  }
  on_their_way_.erase(found);
}

void Recent::update(const Instance& instance, std::shared_ptr<const AwaitedTypes> types) {
  forget(instance.id);
  if (!is_on_its_way(instance) || types->empty()) return;
  if (Undo* const undo = undo_.now()) undo->instances.emplace_back(instance.space, instance.id);
  froms_.insert(instance.listen_from);
  for (const std::string& type : *types) ++awaited_[std::pair(instance.space, type)];
  on_their_way_.emplace(instance.id,
                        OnItsWay{instance.space, instance.listen_from, std::move(types)});
}

bool Recent::wants(NamespaceNumber space, std::string_view type) const {
  for (const auto& [number, held] : held_) {
    if (held.space == space) return true;
  }
  return !awaited_.empty() && awaited_.contains(std::pair(space, std::string(type)));
}

Result<Recent::Held> Recent::hold(const View& view, uint64_t number) {
  const auto kept =
      std::lower_bound(kept_.begin(), kept_.end(), number,
                       [](const Kept& one, uint64_t wanted) { return one.place.number < wanted; });
  if (kept == kept_.end() || kept->place.number != number) {
    return tl::unexpected(damaged_fan_out(number, "the event that it names is not kept"));
  }
  const auto record = TRY(read_recent(view, kept->place));
  if (!record) {
    return tl::unexpected(damaged_fan_out(number, "the event that it names is not there"));
  }
  Event event = TRY(event_of(kept->place, *record));
  Held held{kept->place.space, std::make_shared<const Event>(std::move(event))};
  froms_.insert(number - 1);
  held_.emplace(number, held);
  return held;
}

void Recent::let_go(uint64_t number) {
  held_.erase(number);
  froms_.erase(froms_.find(number - 1));
}

void Recent::keep(Transaction& tx, NamespaceNumber space, const Event& event,
                  const Fingerprint& known_as) {
  if (Undo* const undo = undo_.now(); undo != nullptr && !undo->last) undo->last = last_;
  const RecentPlace place{.space = space, .type = type_of(event.type), .number = ++last_};
  write_counter(tx, Counter::kRecent, last_);
  write_recent(tx, place, {.known_as = known_as, .event = encode_json_event(event)});
  kept_.push_back({place, known_as});
  known_.insert(known_as);
}

Result<std::optional<RecentMatch>> Recent::find(const View& view, const Instance& instance) const {
  std::optional<RecentMatch> first;
  if (kept_.empty() || kept_.back().place.number <= instance.listen_from) return first;
  NaiveMatcher matcher;
  TRY(listen(matcher, instance.listeners));
  std::set<Fingerprint> types;
  for (const Listener& listener : instance.listeners) types.insert(type_of(listener.filter.type));

  std::vector<uint64_t> matched;
  for (const Fingerprint& type : types) {
    const RecentPlace from{
        .space = instance.space, .type = type, .number = instance.listen_from + 1};
    const auto see = [&](uint64_t number, const RecentRecord& record) {
      if (first && first->number < number) return false;
      std::shared_ptr<const Event> event;
      if (const auto held = held_.find(number); held != held_.end()) {
        event = held->second.event;
      } else if (auto decoded =
                     event_of({.space = from.space, .type = type, .number = number}, record)) {
        event = std::make_shared<const Event>(std::move(*decoded));
      } else {
        damages_.note(decoded.error());
        return true;
      }
      matcher.match("", Attributes(*event), matched);
      if (matched.empty()) return true;
      first = RecentMatch{number, std::move(event), {matched.begin(), matched.end()}};
      return false;
    };
    TRY(each_recent_of_type(view, from, see, damages_.noting()));
  }
  return first;
}

void Recent::trim(Transaction& tx) {
  for (size_t left = kTrimmedAtOnce; left > 0 && !kept_.empty(); --left) {
    if (!froms_.empty() && kept_.front().place.number > *froms_.begin()) return;
    erase_recent(tx, kept_.front().place);
    known_.erase(kept_.front().known_as);
    if (Undo* const undo = undo_.now()) undo->trimmed.push_back(kept_.front());
    kept_.pop_front();
  }
}

std::vector<std::pair<NamespaceNumber, InstanceId>> Recent::undo() {
  for (const auto& [number, held] : held_) froms_.erase(froms_.find(number - 1));
  held_.clear();
  Undo undo = undo_.take();
  last_ = undo.last.value_or(last_);
  for (; !kept_.empty() && kept_.back().place.number > last_; kept_.pop_back()) {
    known_.erase(kept_.back().known_as);
  }
  for (auto one = undo.trimmed.rbegin(); one != undo.trimmed.rend(); ++one) {
    if (one->place.number > last_) continue;  // kept and trimmed in the same batch
    known_.insert(one->known_as);
    kept_.push_front(*one);
  }
  return std::move(undo.instances);
}

}  // namespace millrace
