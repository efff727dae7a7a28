// Checks of the groups of eventsAnd starts: the counts of a group, the events that wait in it, the
// rows that map numbers to these events, and whether a waiting event belongs to its group.
#include <algorithm>
#include <chrono>

#include "base/bytes.h"
#include "matchers/correlation.h"
#include "orchestrator/check/checker.h"
#include "orchestrator/store/rows/effect_rows.h"
#include "orchestrator/store/rows/group_rows.h"

namespace millrace {
namespace {

/// If more revisions have the groups of a workflow, the lifespans of events are not checked.
constexpr uint32_t kMostRevisions = 16;

/// How many compiled patterns are cached.
constexpr size_t kMostPatterns = 256;

std::string group_key(GroupRow kind, WorkflowNumber workflow, const Fingerprint& group) {
  Writer key;
  key.u8(static_cast<uint8_t>(kind));
  key.u32(static_cast<uint32_t>(workflow));
  key.id(group);
  return key.take();
}

}  // namespace

void Checker::check_groups() {
  each_row(Table::kGroups, [&](std::string_view key, std::string_view value) {
    const Place place{Table::kGroups, key};
    switch (key.empty() ? GroupRow() : static_cast<GroupRow>(key.front())) {
      case GroupRow::kCounts:
        return check_group_counts(place, value);
      case GroupRow::kEvent:
        return check_group_event(place, value);
      case GroupRow::kNumber:
        return check_group_number(place, value);
      default:
        add(StoreFault::kRowKey, place, "the first byte of the key is not 1, 2 or 3");
    }
  });
}

void Checker::check_group_counts(const Place& place, std::string_view value) {
  Reader reader(place.key);
  reader.u8();
  const auto number = WorkflowNumber(reader.u32());
  const Fingerprint group = reader.id();
  if (!reader.done()) {
    add(StoreFault::kRowKey, place, "the key is not a workflow and a group");
    return;
  }
  const auto counts = decode(place, value, decode_counts);
  if (!counts || purged_workflows_.contains(number)) return;
  std::vector<uint32_t> waiting(counts->size(), 0);
  bool closes = false;
  view_.scan(Table::kGroups, group_key(GroupRow::kEvent, number, group),
             [&](std::string_view key, auto) {
               Reader queue(key.substr(place.key.size()));
               const uint8_t high = queue.u8();
               const auto entry = static_cast<size_t>(high) << 8 | queue.u8();
               if (entry < waiting.size()) ++waiting[entry];
               closes |= is_closed(number, queue.u64());
               return true;
             });
  if (!closes && !workflows_.contains(number)) {
    add(StoreFault::kWorkflowMissing, place, "the workflow of the group does not exist");
  } else if (const auto workflow = closes ? nullptr : newest(number)) {
    const Start& start = workflow->start;
    if (start.kind != Start::Kind::kEventsAnd || start.events.size() != counts->size()) {
      add(StoreFault::kGroupCounts, place,
          fmt::format("the group has {} entries, but its workflow's start has {}", counts->size(),
                      start.kind == Start::Kind::kEventsAnd ? start.events.size() : 0));
      return;
    }
  }
  // In a sound store no group is complete, since it would have started an instance, and no group is
  // empty, since its row would be erased.
  const bool is_empty =
      std::all_of(counts->begin(), counts->end(), [](uint32_t count) { return count == 0; });
  if (is_empty || is_complete(*counts)) {
    add(StoreFault::kGroupCounts, place,
        is_empty
            ? "no entry of the group has a waiting event"
            : "each entry of the group has a waiting event, so it should have started an instance");
  }
  if (waiting != *counts) {
    add(StoreFault::kGroupCounts, place,
        fmt::format("the counts of the group are [{}], but [{}] events wait",
                    fmt::join(*counts, ", "), fmt::join(waiting, ", ")));
  }
}

void Checker::check_group_event(const Place& place, std::string_view value) {
  Reader reader(place.key);
  reader.u8();
  const auto number = WorkflowNumber(reader.u32());
  const Fingerprint group = reader.id();
  const uint8_t high = reader.u8();
  const auto entry = static_cast<size_t>(high) << 8 | reader.u8();
  const uint64_t event_number = reader.u64();
  if (!reader.done() || event_number == 0) {
    add(StoreFault::kRowKey, place, "the key is not a workflow, a group, an entry and a number");
    return;
  }
  note_given(Counter::kGrouped, event_number, place);
  Writer by_number;
  by_number.u8(static_cast<uint8_t>(GroupRow::kNumber));
  by_number.u64(event_number);
  if (view_.get(Table::kGroups, by_number.view()) != place.key) {
    add(StoreFault::kGroupEvent, place, "the row of the event's number does not name the event");
  }
  const bool closes = purged_workflows_.contains(number) || is_closed(number, event_number);
  const auto counts = view_.get(Table::kGroups, group_key(GroupRow::kCounts, number, group));
  if (!counts) {  // close_groups() erases the row with the first event of a group
    if (!closes) add(StoreFault::kGroupEvent, place, "the group of the event has no row of counts");
  } else if (const auto waiting = decode_counts(*counts); waiting && entry >= waiting->size()) {
    add(StoreFault::kGroupEvent, place,
        fmt::format("the event is for entry {}, but its group has {} entries", entry,
                    waiting->size()));
  }
  const auto record = decode(place, value, decode_grouped);
  if (!record) return;
  check_event_position(record->position, place);
  const auto event = check_event(record->event, place);
  if (purged_workflows_.contains(number)) return;
  const auto workflow = newest(number);
  if (!event || workflow == nullptr || workflow->start.kind != Start::Kind::kEventsAnd) return;
  const Attributes attributes(*event);
  const auto key = correlation_key(attributes, workflow->start.correlate);
  const WorkflowRow& row = workflows_.at(number);
  const uint32_t from = row.groups_from;
  const auto expected = [&] {
    return from == 0 ? fingerprint({*key}) : fingerprint({*key, std::to_string(from)});
  };
  if (closes) {
    if (key && expected() == group) {
      add(StoreFault::kPurgeTarget, place,
          fmt::format("the event waits in a current group of its workflow, but a purge up to event "
                      "{} erases it",
                      closing_.at(number)));
    }
    return;
  }
  check_lifespan(place, number, record->expires);
  if (!key || expected() != group) {
    add(StoreFault::kGroupEvent, place, "the correlation of the event is not that of its group");
  } else if (entry < workflow->start.events.size() &&
             workflow->start.events[entry].filter.type != event->type) {
    add(StoreFault::kGroupEvent, place,
        fmt::format("the entry of the event waits for type {}, but the type of the event is {}",
                    workflow->start.events[entry].filter.type, event->type));
  } else if (entry < workflow->start.events.size() && (from > 0 || row.latest == 1) &&
             !meets(attributes, workflow->start.events[entry].filter)) {
    add(StoreFault::kGroupEvent, place,
        "the attributes of the event do not match the filter of its entry");
  }
}

/// Whether the attributes meet each predicate of the filter. A pattern with look-around or
/// back-references counts as met, because its match may exceed a limit.
bool Checker::meets(const Attributes& attributes, const EventFilter& filter) {
  return std::all_of(filter.predicates.begin(), filter.predicates.end(), [&](const Predicate& one) {
    const auto value = attributes.find(one.attribute);
    if (!value || one.kind == Predicate::Kind::kEquals) return value && *value == one.text;
    if (patterns_.size() >= kMostPatterns && !patterns_.contains(one.text)) patterns_.clear();
    const auto [cached, is_new] = patterns_.try_emplace(one.text);
    if (is_new) cached->second = Pattern::compile(one.text).value_or(nullptr);
    const auto& pattern = cached->second;
    return pattern == nullptr || pattern->kind() == Pattern::Kind::kBacktracking ||
           pattern->matches(*value);
  });
}

/// Checks when a waiting event expires, by the lifespans in the revisions that have the workflow's
/// current groups. Does nothing if there are more than kMostRevisions such revisions.
void Checker::check_lifespan(const Place& place, WorkflowNumber number,
                             const std::optional<TimePoint>& expires) {
  // A lifespan in months that begins a day earlier may end up to a day later.
  constexpr Duration kMonthSlack = std::chrono::hours(24);
  const WorkflowRow& row = workflows_.at(number);
  const uint32_t first = std::max<uint32_t>(row.groups_from, 1);
  if (!time_ || row.latest < first || row.latest - first >= kMostRevisions) return;
  bool may_stay = false;
  std::optional<TimePoint> latest;
  for (uint32_t revision = first; revision <= row.latest; ++revision) {
    const auto workflow = definition({number, revision});
    if (workflow == nullptr) return;
    const std::optional<Span>& lifespan = workflow->start.lifespan;
    may_stay |= !lifespan;
    if (!lifespan) continue;
    const TimePoint end =
        lifespan->after(*time_) + (lifespan->months == 0 ? Duration(0) : kMonthSlack);
    latest = std::max(latest.value_or(end), end);
  }
  if (!expires) {
    if (may_stay) return;
    add(StoreFault::kGroupEvent, place,
        "the event never expires, but every revision of its workflow with these groups has a "
        "lifespan");
  } else if (!latest || *expires > *latest) {
    add(StoreFault::kGroupEvent, place,
        fmt::format("the event expires at {} ms, which is later than any lifespan in the revisions "
                    "with these groups allows",
                    to_millis(*expires)));
  }
}

bool Checker::is_closed(WorkflowNumber workflow, uint64_t event) const {
  const auto found = closing_.find(workflow);
  return found != closing_.end() && event <= found->second;
}

void Checker::check_group_number(const Place& place, std::string_view value) {
  Reader reader(place.key);
  reader.u8();
  const uint64_t number = reader.u64();
  if (!reader.done() || number == 0) {
    add(StoreFault::kRowKey, place, "the key is not a number");
    return;
  }
  note_given(Counter::kGrouped, number, place);
  const bool is_key = value.size() > 1 && value.size() <= kMaxKeySize &&
                      value.front() == static_cast<char>(GroupRow::kEvent) &&
                      value.ends_with(rows::key_of(number));
  const auto event = is_key ? view_.get(Table::kGroups, value) : std::nullopt;
  if (event) return check_arrival(number, value, *event);
  add(StoreFault::kGroupNumber, place,
      "the row does not name a waiting event with the number in the key");
}

/// Checks that a waiting event did not arrive before an event with a lower number. The rows of the
/// numbers are in the order in which the events arrived, except for late matches.
void Checker::check_arrival(uint64_t number, std::string_view key, std::string_view value) {
  Reader reader(key);
  reader.u8();
  const auto workflow = WorkflowNumber(reader.u32());
  const auto record = decode_grouped(value);  // check_group_event() reports a damaged row
  if (!record || !record->expires || is_closed(workflow, number)) return;
  const auto lifespan = lifespan_of(workflow);
  if (!lifespan || *record->expires == kLastTime) return;
  const TimePoint arrived = *record->expires - *lifespan;
  if (time_ && arrived > *time_) return;  // check_lifespan() reports it
  if (arrival_ && arrived < arrival_->first) {
    if (!was_grouped_at_once(record->position, workflow)) return;
    add(StoreFault::kGroupEvent, {Table::kGroups, key},
        fmt::format(
            "by the end of its lifespan the event arrived at {} ms, but event {}, which has "
            "a lower number, arrived at {} ms",
            to_millis(arrived), arrival_->second, to_millis(arrival_->first)));
  }
  arrival_ = {arrived, number};
}

/// Whether the event was put into its group when it was applied: false if the effects of the event
/// are not known any more. A late match gets a higher number than events that arrived after it; its
/// event is a kept event.
bool Checker::was_grouped_at_once(const EventPosition& position, WorkflowNumber workflow) const {
  const auto effects = read_effects(view_, position);
  if (!effects) return false;
  bool is_grouped = false;
  for (const EventEffect& effect : *effects) {
    if (effect.kind == EventEffect::Kind::kKept) return false;
    is_grouped |= effect.kind == EventEffect::Kind::kGrouped && effect.workflow == workflow;
  }
  return is_grouped;
}

/// The lifespan of the events in the workflow's current groups; nullopt: none, months, or not the
/// same one in each revision that has these groups.
std::optional<Duration> Checker::lifespan_of(WorkflowNumber workflow) {
  const auto known = lifespans_.find(workflow);
  if (known != lifespans_.end()) return known->second;
  std::optional<Duration>& lifespan = lifespans_[workflow];
  const auto found = workflows_.find(workflow);
  if (found == workflows_.end()) return lifespan;
  const WorkflowRow& row = found->second;
  const uint32_t first = std::max<uint32_t>(row.groups_from, 1);
  if (row.latest < first || row.latest - first >= kMostRevisions) return lifespan;
  std::optional<Duration> same;
  for (uint32_t revision = first; revision <= row.latest; ++revision) {
    const auto one = definition({workflow, revision});
    const bool has_fixed =
        one != nullptr && one->start.lifespan && one->start.lifespan->months == 0;
    if (!has_fixed || (same && *same != one->start.lifespan->fixed)) return lifespan;
    same = one->start.lifespan->fixed;
  }
  return lifespan = same;
}

}  // namespace millrace
