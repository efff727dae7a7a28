#include "orchestrator/batch/groups.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "matchers/correlation.h"
#include "orchestrator/batch/event_start.h"
#include "orchestrator/outgoing/messages.h"
#include "states/event_pattern.h"

namespace millrace {

namespace {

/// How many expired events of a group one unit of work removes before another event joins the
/// group; of an event that is not decided late, so many for each entry.
constexpr size_t kExpiredAtOnce = 250;

/// How many rows a dropped event counts for: its two rows, the counts of its group and its dead
/// letter.
constexpr size_t kRowsOfDroppedEvent = 4;

/// The fingerprint by which the store identifies the group. Groups of an earlier start of the
/// workflow, which exist until they are closed, have other fingerprints.
Fingerprint group_of(const std::string& key, const WorkflowEntry& entry) {
  if (entry.groups_from == 0) return fingerprint({key});
  return fingerprint({key, std::to_string(entry.groups_from)});
}

/// The timers up to that time come before the event. A late match holds back the ends of lifespans.
TimePoint timers_before(TimePoint now, const AppliedEvent& applied) {
  return applied.late ? applied.late->after_timers : std::min(applied.stamped, now);
}

}  // namespace

bool same_groups(const Start& a, const Start& b) {
  return a.kind == Start::Kind::kEventsAnd && b.kind == Start::Kind::kEventsAnd &&
         a.events == b.events && a.correlate == b.correlate;
}

Result<bool> Groups::offer(TimePoint now, const AppliedEvent& applied, const WorkflowEntry& entry,
                           const Workflow& workflow, const std::vector<size_t>& entries,
                           std::optional<Error>& over) {
  const Start& start_of = workflow.start;
  const EventPosition& position = applied.position;
  const auto key = correlation_key(Attributes(applied.event), start_of.correlate);
  if (!key) {
    ++batch_.outcome.counts.groups_uncorrelated;
    batch_.note_effect(position,
                       {.kind = EventEffect::Kind::kUncorrelated, .workflow = entry.number});
    return false;
  }
  const Fingerprint group = group_of(*key, entry);
  std::vector<uint32_t> waiting = TRY(counts_of(entry.number, group, start_of.events.size()));
  const bool may_be_passed = applied.late || batch_.has_unfired_timers;
  constexpr size_t kAll = std::numeric_limits<size_t>::max();
  if (may_be_passed &&
      TRY(expire_passed(entry.number, group, waiting, timers_before(now, applied), kAll)) > 0) {
    waiting = TRY(counts_of(entry.number, group, start_of.events.size()));
  }
  const size_t chosen = choose_entry(waiting, entries);

  GroupedEvent grouped{.queue = {entry.number, group, static_cast<uint16_t>(chosen)},
                       .number = TRY(batch_.next(Counter::kGrouped)),
                       .record = {.position = position, .event = encode_json_event(applied.event)}};
  if (start_of.lifespan) {
    const TimePoint came = applied.late ? applied.late->after_timers : now;
    grouped.record.expires = start_of.lifespan->after(came);
  }
  ++waiting[chosen];
  const bool completes = is_complete(waiting);
  if (completes) {
    over = TRY(refusal_of_bytes(entry, grouped, waiting.size()));
    if (over) return false;
  }
  write_grouped(batch_.tx, grouped);
  if (completes && TRY(start(now, applied, entry, workflow, group, waiting))) {
    return true;
  }
  batch_.note_effect(position, {.kind = EventEffect::Kind::kGrouped, .workflow = entry.number});
  write_counts(batch_.tx, entry.number, group, waiting);
  if (grouped.record.expires) {
    batch_.waiting.arm_grouped(grouped.number, *grouped.record.expires);
  }
  return true;
}

/// Why the events of a group cannot start an instance together with `last`, which completes the
/// group: then `last` does not join it. They are not decoded for that.
Result<std::optional<Error>> Groups::refusal_of_bytes(const WorkflowEntry& entry,
                                                      const GroupedEvent& last, size_t entries) {
  const size_t bytes = last.record.event.size() + TRY(bytes_beside(batch_.tx, last.queue, entries));
  if (bytes <= kMostStartBytes) return std::optional<Error>();
  return std::optional(
      Error{"millrace.limits.data",
            fmt::format("the {} events that would start an instance of workflow \"{}\" have {} "
                        "bytes together; they may have at most {}: drop the group with `group "
                        "drop`, and send less data, for example references to it",
                        entries, entry.id, bytes, kMostStartBytes)});
}

Result<bool> Groups::must_wait(TimePoint now, const AppliedEvent& applied,
                               const WorkflowEntry& entry, const Workflow& workflow) {
  const Start& start_of = workflow.start;
  if (start_of.kind != Start::Kind::kEventsAnd || !start_of.lifespan) return false;
  const auto key = correlation_key(Attributes(applied.event), start_of.correlate);
  if (!batch_.has_unfired_timers || !key) return false;
  const Fingerprint group = group_of(*key, entry);
  const auto waiting = TRY(counts_of(entry.number, group, start_of.events.size()));
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] <= kExpiredAtOnce) continue;
    const GroupQueue queue{entry.number, group, static_cast<uint16_t>(i)};
    const auto first = TRY(read_first_grouped(batch_.tx, queue, batch_.damages.noting()));
    const auto expires = first ? first->row.record.expires : std::nullopt;
    if (expires && *expires <= timers_before(now, applied)) return true;
  }
  return false;
}

Result<bool> Groups::make_way(const AppliedEvent& applied, const WorkflowEntry& entry,
                              const Workflow& workflow) {
  const Start& start_of = workflow.start;
  const auto key = correlation_key(Attributes(applied.event), start_of.correlate);
  if (start_of.kind != Start::Kind::kEventsAnd || !key) return true;
  const Fingerprint group = group_of(*key, entry);
  const auto waiting = TRY(counts_of(entry.number, group, start_of.events.size()));
  const size_t expired =
      TRY(expire_passed(entry.number, group, waiting, applied.late->after_timers, kExpiredAtOnce));
  return expired < kExpiredAtOnce;
}

/// Returns how many events wait for each entry of the group. Damaged counts are recomputed.
Result<std::vector<uint32_t>> Groups::counts_of(WorkflowNumber workflow, const Fingerprint& group,
                                                size_t entries) {
  const OnDamage damaged = batch_.damages.noting();
  auto read = read_counts(batch_.tx, workflow, group);
  if (!read && !is_damaged_row(read.error())) return tl::unexpected(read.error());
  if (read && !*read) return std::vector<uint32_t>(entries, 0);
  if (read && (*read)->size() == entries) return std::move(**read);
  damaged(
      read ? damaged_counts(
                 workflow, group,
                 fmt::format("it has counts for {} entries, and the start of its workflow has {}",
                             (*read)->size(), entries))
           : read.error());
  return count_grouped(batch_.tx, workflow, group, entries, damaged);
}

/// Starts one instance with the first event of each queue, when every queue of the group has one.
/// Only an event that is applied completes a group: an expiry removes an event, and a change of the
/// start closes its groups. So there is always a `last` event from which the id follows.
/// The events are removed even if the start is skipped (StartGate::effect), or refused, in which
/// case they become dead letters. Returns false if an event is missing or damaged; `waiting` is
/// then recomputed.
Result<bool> Groups::start(TimePoint now, const AppliedEvent& last, const WorkflowEntry& entry,
                           const Workflow& workflow, const Fingerprint& group,
                           std::vector<uint32_t>& waiting) {
  const OnDamage damaged = batch_.damages.noting();
  std::vector<GroupedEvent> heads;
  std::vector<Event> events;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const GroupQueue queue{entry.number, group, static_cast<uint16_t>(i)};
    auto head = TRY(read_first_grouped(batch_.tx, queue, damaged));
    if (!head) {
      damaged(damaged_counts(entry.number, group,
                             fmt::format("it counts an event for entry {} and none is stored", i)));
      waiting = TRY(count_grouped(batch_.tx, entry.number, group, waiting.size(), damaged));
      return false;
    }
    heads.push_back(std::move(head->row));
    events.push_back(std::move(head->event));
  }
  for (size_t i = 0; i < waiting.size(); ++i) {
    erase_grouped(batch_.tx, heads[i].queue, heads[i].number);
    batch_.waiting.disarm_grouped(heads[i].number);
    --waiting[i];
  }
  write_counts(batch_.tx, entry.number, group, waiting);
  StartSpec spec =
      start_by_events(workflow, entry.latest, workflow.start.events, events, last.event);
  for (size_t i = 0; workflow.looks_back && i < heads.size(); ++i) {
    // An earlier stream cannot be read again. Its events would replace those of this one.
    if (heads[i].record.position.stream != last.position.stream) continue;
    spec.consumed.add(heads[i].record.position,
                      fingerprint_of(batch_.catalog.name_of(entry.ns), events[i]));
  }
  if (workflow.puts_off_starts()) {
    const InstanceId first = event_start_id(batch_.id_key, last, entry.number);
    const auto deferred =
        TRY(instances_.pending().defer(now, entry, workflow, std::move(spec), first));
    if (deferred.refusal && deferred.refusal->code != kRateLimitError) {
      TRY(refuse(entry.ns, heads, events, *deferred.refusal));
      return true;
    }
    batch_.note_effect(last.position, {.kind = PendingStarts::effect_of(workflow, deferred),
                                       .workflow = entry.number});
    return true;
  }
  StartGate gate = TRY(instances_.admit(now, entry, workflow, spec.data));
  if (gate.effect) {
    instances_.note_skipped(last.position, entry, gate);
    return true;
  }
  if (gate.refusal) {
    TRY(refuse(entry.ns, heads, events, *gate.refusal));
    return true;
  }
  spec.place = std::move(gate.place);
  const InstanceId id = TRY(instances_.start_by(now, last, entry, workflow, std::move(spec)));
  batch_.note_effect(last.position, {.kind = EventEffect::Kind::kStarted, .instance = id});
  return true;
}

/// Makes the events of a complete group dead letters.
Status Groups::refuse(NamespaceNumber ns, const std::vector<GroupedEvent>& grouped,
                      const std::vector<Event>& events, const Error& reason) {
  const std::string& name = batch_.catalog.name_of(ns);
  for (size_t i = 0; i < grouped.size(); ++i) {
    const EventPosition& position = grouped[i].record.position;
    batch_.note_effect(position, {.kind = EventEffect::Kind::kRefused});
    TRY(batch_.dead_letter({.ns = name,
                            .reason = reason,
                            .sequence = position.sequence,
                            .message = event_message(name, events[i])}));
  }
  return {};
}

Status Groups::expire(uint64_t number) {
  const auto event = TRY(batch_.damages.pass_over(read_grouped(batch_.tx, number)));
  if (!event) return {};  // the event is gone: it has started an instance, or its group was closed
  const GroupQueue& queue = event->queue;
  // Damaged counts are recomputed when the next event comes.
  auto waiting = TRY(batch_.damages.pass_over(read_counts(batch_.tx, queue.workflow, queue.group)));
  ++batch_.outcome.counts.groups_expired;
  batch_.note_effect(event->record.position,
                     {.kind = EventEffect::Kind::kExpired, .workflow = queue.workflow});
  erase_grouped(batch_.tx, queue, number);
  if (!waiting) return {};  // the group of the event is being closed
  if (queue.entry >= waiting->size() || (*waiting)[queue.entry] == 0) {
    const OnDamage damaged = batch_.damages.noting();
    damaged(damaged_counts(queue.workflow, queue.group,
                           "it does not count an event whose lifespan has ended"));
    const size_t entries = std::max<size_t>(waiting->size(), size_t{queue.entry} + 1);
    write_counts(batch_.tx, queue.workflow, queue.group,
                 TRY(count_grouped(batch_.tx, queue.workflow, queue.group, entries, damaged)));
    return {};
  }
  --(*waiting)[queue.entry];
  write_counts(batch_.tx, queue.workflow, queue.group, *waiting);
  return {};
}

/// Removes the events at the front of the group's queues whose lifespan has ended by `until`,
/// because their timers have not fired yet; at most `most`. Returns how many. Lifespans end in the
/// order of a queue, except after a change of the `lifespan`.
Result<size_t> Groups::expire_passed(WorkflowNumber workflow, const Fingerprint& group,
                                     const std::vector<uint32_t>& waiting, TimePoint until,
                                     size_t most) {
  size_t expired = 0;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const GroupQueue queue{workflow, group, static_cast<uint16_t>(i)};
    for (uint32_t left = waiting[i]; left > 0 && expired < most; --left, ++expired) {
      const auto first = TRY(read_first_grouped(batch_.tx, queue, batch_.damages.noting()));
      if (!first || !first->row.record.expires || *first->row.record.expires > until) break;
      batch_.waiting.disarm_grouped(first->row.number);
      TRY(expire(first->row.number));
    }
  }
  return expired;
}

/// An event leaves a group that is closed, and becomes a dead letter in the namespace with the name
/// `ns`; an empty name: it is dropped.
Status Groups::leave_closed(WorkflowNumber workflow, const GroupedEvent& grouped,
                            const Event& event, const std::string& ns,
                            std::optional<NamespaceNumber> number, std::string detail) {
  ++batch_.outcome.counts.groups_closed;
  batch_.note_effect(grouped.record.position,
                     {.kind = EventEffect::Kind::kClosed, .workflow = workflow});
  batch_.waiting.disarm_grouped(grouped.number);
  if (ns.empty()) return {};
  return batch_.dead_letter({.ns = ns,
                             .reason = {"start.group_closed", std::move(detail)},
                             .sequence = grouped.record.position.sequence,
                             .message = event_message(ns, event),
                             .number = number});
}

Result<Groups::Dropped> Groups::drop(const WorkflowEntry& entry, const Workflow& workflow,
                                     const Fingerprint& group, uint64_t up_to,
                                     PurgeBudget& budget) {
  const OnDamage damaged = batch_.damages.noting();
  const std::string& name = batch_.catalog.name_of(entry.ns);
  const auto before = TRY(counts_of(entry.number, group, workflow.start.events.size()));
  auto waiting = before;
  Dropped dropped;
  for (size_t i = 0; i < waiting.size() && dropped.is_all; ++i) {
    const GroupQueue queue{entry.number, group, static_cast<uint16_t>(i)};
    while (true) {
      const auto first = TRY(read_first_grouped(batch_.tx, queue, damaged));
      if (!first) waiting[i] = 0;
      if (!first || first->row.number > up_to) break;
      dropped.is_all = dropped.events == 0 || !budget.is_spent();
      if (!dropped.is_all) break;
      budget.count(first->row.record.event.size());
      budget.erase(kRowsOfDroppedEvent);
      TRY(leave_closed(entry.number, first->row, first->event, name, entry.ns,
                       fmt::format("the event waited in a group of workflow \"{}\", which a "
                                   "command has dropped",
                                   entry.id)));
      erase_grouped(batch_.tx, queue, first->row.number);
      if (waiting[i] > 0) --waiting[i];
      ++dropped.events;
    }
  }
  if (waiting != before) write_counts(batch_.tx, entry.number, group, waiting);
  return dropped;
}

Result<bool> Groups::close(WorkflowNumber workflow, const PurgeRecord& record,
                           std::optional<NamespaceNumber> ns, std::string& at,
                           PurgeBudget& budget) {
  const auto see = [&](const GroupedEvent& grouped, const Event& event) -> Result<bool> {
    if (TRY(is_open(grouped, event))) {
      batch_.damages.note(damaged_purge({.kind = Purge::Kind::kGroups,
                                         .number = static_cast<uint64_t>(workflow),
                                         .record = record},
                                        "it would close a group that its workflow still has"));
      return false;
    }
    TRY(leave_closed(workflow, grouped, event, record.ns, ns,
                     fmt::format("the event waited in a group of workflow \"{}\", whose start was "
                                 "changed or removed",
                                 record.workflow)));
    return true;
  };
  return close_groups(batch_.tx, workflow, record.up_to, at, budget, see, batch_.damages.noting());
}

/// Whether the event waits in a group of its workflow's newest revision.
Result<bool> Groups::is_open(const GroupedEvent& grouped, const Event& event) {
  const WorkflowEntry* const entry = batch_.catalog.find_workflow(grouped.queue.workflow);
  if (entry == nullptr) return false;
  const auto workflow = batch_.catalog.definition(batch_.tx, {entry->number, entry->latest});
  if (!workflow && !is_damaged_row(workflow.error())) return tl::unexpected(workflow.error());
  if (!workflow) return true;  // the start is unknown, so the group is kept
  const Start& start_of = (*workflow)->start;
  if (start_of.kind != Start::Kind::kEventsAnd) return false;
  const auto key = correlation_key(Attributes(event), start_of.correlate);
  return key && group_of(*key, *entry) == grouped.queue.group;
}

}  // namespace millrace
