#include "orchestrator/batch/late_matches.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/stream_rows.h"

namespace millrace {
namespace {

/// What the work around the patterns takes from the budget of steps: about the number of steps of
/// patterns that take as long.
constexpr uint32_t kStepsToReadHead = 100;
constexpr uint32_t kStepsToLoad = 500;
constexpr uint32_t kStepsToStart = 2'000;

/// Whether the instance has a timer with a deadline up to that time.
bool has_timer_until(const Instance& instance, TimePoint time) {
  return std::any_of(instance.timers.begin(), instance.timers.end(),
                     [&](const Timer& timer) { return timer.deadline <= time; });
}

/// When the stream with that number was created (Cursor::stream_created); 0: it is not known.
Result<int64_t> creation_of(const BatchState& batch, uint32_t stream) {
  if (stream == batch.stream) return batch.cursor.stream_created;
  int64_t created = 0;
  TRY(each_stream(
      batch.tx, [&](uint32_t number, int64_t at) { created = number == stream ? at : created; },
      batch.damages.noting()));
  return created;
}

}  // namespace

Status LateMatches::load() {
  lanes_.clear();
  batch_.late_events = 0;
  batch_.unfinished.clear();
  batch_.kept_events.undecided().clear();
  const OnDamage damaged = batch_.damages.noting();
  std::vector<std::pair<uint64_t, LateMatchRecord>> found;
  TRY(each_late_match(
      batch_.tx,
      [&](uint64_t number, LateMatchRecord record) {
        found.emplace_back(number, std::move(record));
      },
      damaged));
  for (auto& [number, record] : found) {
    const HeldTypes types = record.starts.empty() ? types_of(record.instances) : std::nullopt;
    const auto ns = batch_.kept_events.hold(number, types);
    if (!ns) {
      damaged(ns.error());
      continue;
    }
    Undecided& undecided = batch_.kept_events.undecided();
    for (const WorkflowNumber workflow : record.starts) undecided.add(workflow);
    for (const InstanceId& instance : record.instances) undecided.add(instance);
    lanes_[*ns].events[number].left = std::move(record);
    ++batch_.late_events;
  }
  for (auto& [ns, lane] : lanes_) {
    count(ns, lane, lane.events.begin()->first);
    // More than could be kept: an instance searches through older events, and the process before
    // knew which of them counted.
    if (lane.kept.size() <= limits_.events && lane.bytes / 2 <= limits_.bytes) continue;
    count(ns, lane, batch_.kept_events.last());
  }
  return {};
}

/// Counts the kept events of a lane again, from that number on.
void LateMatches::count(NamespaceNumber ns, LateLane& lane, uint64_t from) {
  lane.kept.clear();
  lane.bytes = 0;
  batch_.kept_events.each_size(ns, from, [&](uint64_t number, size_t size) {
    lane.kept.emplace_back(number, size);
    lane.bytes += size;
  });
}

LateMatchRecord LateMatches::late_of(const Targets& targets) const {
  const Undecided& undecided = batch_.kept_events.undecided();
  LateMatchRecord late{.starts = targets.undecided_starts};
  if (undecided.has_starts()) {
    for (const StartTarget& start : targets.starts) {
      if (undecided.has(start.workflow)) late.starts.push_back(start.workflow);
    }
    std::sort(late.starts.begin(), late.starts.end());
  }
  for (const InstanceId& instance : targets.undecided_instances) {
    if (!undecided.has(instance)) late.instances.push_back(instance);
  }
  return late;
}

bool LateMatches::is_full(NamespaceNumber ns) const {
  const auto found = lanes_.find(ns);
  if (found == lanes_.end()) return false;
  const LateLane& lane = found->second;
  return lane.kept.size() >= limits_.events || lane.bytes >= limits_.bytes;
}

Error LateMatches::refuse(NamespaceNumber ns) {
  ++batch_.outcome.counts.matches_refused;
  const LateLane& lane = lanes_.at(ns);
  return {
      std::string(kMatchBudget),
      fmt::format("{} events with {} bytes of namespace \"{}\" wait until the matches of earlier "
                  "events with patterns are decided; at most {} events and {} bytes may wait: "
                  "write the patterns of its starts and waits without look-around and "
                  "back-references, and replay this dead letter",
                  lane.kept.size(), lane.bytes, batch_.catalog.name_of(ns), limits_.events,
                  limits_.bytes)};
}

/// The types of the later events that undecided instances may need.
HeldTypes LateMatches::types_of(const std::vector<InstanceId>& instances) const {
  std::set<Revision> revisions;
  for (const InstanceId& one : instances) revisions.insert(batch_.waiting.revision_of(one));
  return batch_.catalog.known_types(revisions);
}

/// The entry of the kept event with that number, which is made if there is none. `types`: of the
/// later events that those may need for which it is undecided.
Result<LateMatches::Late*> LateMatches::hold(NamespaceNumber ns, uint64_t number,
                                             const HeldTypes& types) {
  const auto lane = lanes_.find(ns);
  if (lane != lanes_.end()) {
    const auto known = lane->second.events.find(number);
    if (known != lane->second.events.end()) {
      batch_.kept_events.hold_types(ns, types);
      return &known->second;
    }
  }
  TRY(batch_.kept_events.hold(ns, number, types));
  LateLane& held_in = lanes_[ns];
  if (held_in.events.empty()) count(ns, held_in, batch_.kept_events.last());
  ++batch_.late_events;
  return &held_in.events[number];
}

Status LateMatches::kept(NamespaceNumber ns, LateMatchRecord targets) {
  if (lanes_.empty() && targets.empty()) return {};
  const uint64_t number = batch_.kept_events.last();
  if (const auto lane = lanes_.find(ns); lane != lanes_.end()) {
    batch_.kept_events.each_size(ns, number, [&](uint64_t, size_t size) {
      lane->second.kept.emplace_back(number, size);
      lane->second.bytes += size;
    });
  }
  if (targets.empty()) return {};
  write_late_match(batch_.tx, number, targets);
  Undecided& undecided = batch_.kept_events.undecided();
  for (const WorkflowNumber workflow : targets.starts) undecided.add(workflow);
  for (const InstanceId& instance : targets.instances) undecided.add(instance);
  // A start is decided by the revision that is the newest one then.
  const HeldTypes types = targets.starts.empty() ? types_of(targets.instances) : std::nullopt;
  Late* const late = TRY(hold(ns, number, types));
  late->left = std::move(targets);
  return {};
}

Status LateMatches::add_starts(NamespaceNumber ns, const std::vector<WorkflowNumber>& starts,
                               bool is_refused) {
  const uint64_t number = batch_.kept_events.last();
  Late* const late = TRY(hold(ns, number, std::nullopt));
  late->is_refused = late->is_refused || is_refused;
  std::vector<WorkflowNumber>& all = late->left.starts;
  all.insert(all.end(), starts.begin(), starts.end());
  std::sort(all.begin(), all.end());
  for (const WorkflowNumber workflow : starts) batch_.kept_events.undecided().add(workflow);
  write_late_match(batch_.tx, number, late->left);
  return {};
}

Status LateMatches::take_over() {
  for (const UnfinishedSearch& one : std::exchange(batch_.unfinished, {})) {
    Late* const late = TRY(hold(one.ns, one.number, types_of({one.instance})));
    late->left.instances.push_back(one.instance);
    write_late_match(batch_.tx, one.number, late->left);
  }
  return {};
}

Status LateMatches::go_on(TimePoint now, const WorkLane& lane, const WorkBudget* work) {
  const auto found = lanes_.find(lane.ns);
  CHECK(found != lanes_.end(), "a lane without undecided matches went on");
  went_on_.insert(lane.ns);
  std::map<uint64_t, Late>& events = found->second.events;
  MatchBudget budget = limits_.portion;
  std::optional<uint64_t> changed;  // the event of which starts were decided: its row lacks that
  while (!events.empty()) {
    auto& [number, late] = *events.begin();
    bool goes_on = true;
    if (!late.left.starts.empty()) {
      goes_on = TRY(decide_start(now, number, late, budget));
      changed = number;
    } else if (late.done < late.left.instances.size()) {
      goes_on = TRY(decide_instance(now, lane.ns, number, late, budget));
    } else {
      end_first(found->second);
    }
    // A portion decides something, however long that takes.
    if (!goes_on || (work != nullptr && work->is_spent())) break;
  }
  if (changed && events.contains(*changed)) {
    write_late_match(batch_.tx, *changed, events.at(*changed).left);
  }
  if (events.empty()) lanes_.erase(found);
  return {};
}

std::vector<WorkLane> LateMatches::lanes() const {
  std::vector<WorkLane> all;
  for (const auto& [ns, lane] : lanes_) all.push_back({ns});
  return all;
}

/// Decides the first start of an event. Returns false if the budget does not suffice.
Result<bool> LateMatches::decide_start(TimePoint now, uint64_t number, Late& late,
                                       MatchBudget& budget) {
  const WorkflowNumber workflow = late.left.starts.front();
  if (!budget.take_steps(kStepsToReadHead)) return false;
  const WorkflowEntry* const entry = batch_.catalog.find_workflow(workflow);
  if (entry != nullptr) {
    const auto read = batch_.kept_events.read(batch_.tx, number);
    if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
    if (read) {
      StartTarget target{.workflow = workflow};
      if (!TRY(decide_entries(number, *read->event, target, budget))) return false;
      if (!target.entries.empty()) {
        if (!TRY(start(now, number, *read, late, target))) return false;
        budget.take_steps(kStepsToStart);
      }
    } else {
      batch_.damages.note(read.error());
    }
  }
  ++batch_.outcome.counts.matches_late;
  late.left.starts.erase(late.left.starts.begin());
  Undecided& undecided = batch_.kept_events.undecided();
  undecided.remove(workflow);
  if (!undecided.has(workflow)) TRY(arm_lifespans(workflow));
  return true;
}

/// Adds the entries of the start that the event matches to `target`. Returns false if the budget
/// does not suffice.
Result<bool> LateMatches::decide_entries(uint64_t number, const Event& event, StartTarget& target,
                                         MatchBudget& budget) {
  const WorkflowEntry& entry = *batch_.catalog.find_workflow(target.workflow);
  const auto found = batch_.catalog.definition(batch_.tx, {entry.number, entry.latest});
  if (!found && is_damaged_row(found.error())) {
    batch_.damages.note(found.error());
    return true;
  }
  const auto workflow = TRY(found);
  const Attributes attributes(event);
  const std::vector<StartEvent>& entries = workflow->start.events;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Decision decision =
        TRY(batch_.kept_events.decide(number, attributes, entries[i].filter, budget));
    if (decision == Decision::kUndecided) return false;
    if (decision == Decision::kYes) target.entries.push_back(i);
  }
  return true;
}

/// Offers the event to a start that it matches. Returns false if this takes further portions.
Result<bool> LateMatches::start(TimePoint now, uint64_t number, const HeldEvent& held, Late& late,
                                const StartTarget& target) {
  const AppliedEvent applied{.event = *held.event,
                             .position = held.position,
                             .stream_created = TRY(creation_of(batch_, held.position.stream)),
                             .stamped = held.stamped,
                             .known_as = held.known_as,
                             .is_new = false,
                             .late = LateEvent{number, held.after_timers}};
  if (!TRY(starts_.make_way(applied, target))) return false;
  std::optional<Error> over;
  const bool had_effect = TRY(starts_.offer(now, applied, target, over));
  if (over && !std::exchange(late.is_refused, true)) {
    const NamespaceNumber ns = batch_.catalog.find_workflow(target.workflow)->ns;
    TRY(starts_.refuse(ns, held.position, *held.event, *std::move(over)));
  }
  if (had_effect && !batch_.dedupe.seen(held.known_as)) batch_.dedupe.add(held.known_as);
  return true;
}

/// Arms the timers of the lifespans that have waited for the matches of the workflow's start.
Status LateMatches::arm_lifespans(WorkflowNumber workflow) {
  const std::set<uint64_t> numbers = batch_.kept_events.undecided().take_lifespans(workflow);
  for (const uint64_t number : numbers) {
    const auto event = TRY(batch_.damages.pass_over(read_grouped(batch_.tx, number)));
    if (event && event->record.expires) {
      batch_.waiting.arm_grouped(number, *event->record.expires);
    }
  }
  return {};
}

/// Decides the event for its next instance. The instance then goes on at a later kept event, if one
/// may match it. Returns false if the budget does not suffice.
Result<bool> LateMatches::decide_instance(TimePoint now, NamespaceNumber ns, uint64_t number,
                                          Late& late, MatchBudget& budget) {
  const InstanceId id = late.left.instances[late.done];
  std::optional<uint64_t> next;
  if (const auto seen = TRY(look_at(now, ns, id, number, budget))) {
    next = seen->stopped_at ? seen->stopped_at : seen->next;
  } else {
    if (!budget.take_steps(kStepsToLoad)) return false;
    batch_.crash_note.take_instance({ns, id});
    LoadedInstance* const loaded = TRY(instances_.load(now, ns, id));
    if (loaded != nullptr) next = TRY(instances_.catch_up(now, *loaded, number, budget));
  }
  if (next == number) return false;
  if (next) {
    TRY(go_on_at(ns, *next, id, number));
  } else {
    batch_.kept_events.undecided().remove(id);
  }
  ++batch_.outcome.counts.matches_late;
  ++late.done;
  return true;
}

/// Searches for the instance in the event with that number. Returns nullopt if the instance must be
/// loaded, because the event matches it or a timer has waited. For most undecided instances that is
/// not necessary: this function reads only their heads.
Result<std::optional<KeptEventSearch>> LateMatches::look_at(TimePoint now, NamespaceNumber ns,
                                                            const InstanceId& id, uint64_t number,
                                                            MatchBudget& budget) {
  using Seen = std::optional<KeptEventSearch>;
  if (instances_.is_loaded(id)) return Seen();  // its stored head may be out of date
  if (!budget.take_steps(kStepsToReadHead)) return Seen(KeptEventSearch{.stopped_at = number});
  if (!batch_.catalog.has_namespace(ns)) return Seen(KeptEventSearch());
  const auto head = TRY(batch_.damages.pass_over(read_live_head(batch_.tx, ns, id)));
  if (!head) return Seen(KeptEventSearch());
  KeptEventSearch search;
  if (head->phase == Phase::kWaiting && !head->listeners.empty()) {
    search = TRY(batch_.kept_events.find(batch_.tx, *head, {.from = number, .to = number}, budget));
  }
  if (search.match) return Seen();
  // A timer fires before the next event, or is armed again if there is none.
  const TimePoint passed = search.next ? batch_.kept_events.after_timers(ns, *search.next) : now;
  if (!search.stopped_at && has_timer_until(*head, passed)) return Seen();
  return Seen(std::move(search));
}

/// Adds the instance to the instances of another kept event. `current` is the number of the event
/// that was decided.
Status LateMatches::go_on_at(NamespaceNumber ns, uint64_t number, const InstanceId& id,
                             uint64_t current) {
  const HeldTypes none_further{std::in_place};  // they are held since the instance is undecided
  Late* const late = TRY(hold(ns, number, none_further));
  late->left.instances.push_back(id);
  if (number > current) {
    lanes_.at(ns).unwritten.insert(number);
  } else {
    write_late_match(batch_.tx, number, late->left);
  }
  return {};
}

/// Ends the first event of the lane, for which everything is decided.
void LateMatches::end_first(LateLane& lane) {
  const uint64_t number = lane.events.begin()->first;
  batch_.kept_events.let_go(number);
  erase_late_match(batch_.tx, number);
  lane.events.erase(lane.events.begin());
  --batch_.late_events;
  lane.unwritten.erase(number);
  for (const uint64_t other : std::exchange(lane.unwritten, {})) {
    write_late_match(batch_.tx, other, lane.events.at(other).left);
  }
  const uint64_t first = lane.events.empty() ? number + 1 : lane.events.begin()->first;
  while (!lane.kept.empty() && lane.kept.front().first < first) {
    lane.bytes -= lane.kept.front().second;
    lane.kept.pop_front();
  }
}

}  // namespace millrace
