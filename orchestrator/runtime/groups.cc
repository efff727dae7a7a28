#include "orchestrator/runtime/groups.h"

#include <fmt/format.h>

#include "cloudevents/json_format.h"
#include "matchers/correlation.h"
#include "model/hops.h"
#include "orchestrator/runtime/messages.h"
#include "states/event_pattern.h"

namespace millrace {

namespace {

/// Each payload under its type, in entry order; a type that several entries have holds an array
/// (SEMANTICS "Events in" 6).
Json input_of(std::span<const StartEvent> entries, std::span<const Event> events) {
  std::map<std::string, std::vector<Json>> by_type;
  for (size_t i = 0; i < events.size(); ++i) {
    by_type[entries[i].filter.type].push_back(captured(events[i], entries[i].capture));
  }
  Json input = Json::object();
  for (auto& [type, values] : by_type) {
    input[type] = values.size() == 1 ? std::move(values.front()) : Json(std::move(values));
  }
  return input;
}

/// The group's name in the store. Groups of another start, whose events are yet to be closed, have
/// other names.
Fingerprint group_of(const std::string& key, const WorkflowEntry& entry) {
  if (entry.groups_from == 0) return fingerprint({key});
  return fingerprint({key, std::to_string(entry.groups_from)});
}

}  // namespace

Beginning begun_by(uint32_t revision, std::span<const StartEvent> entries,
                   std::span<const Event> events, const Event& last) {
  // A tree for this would cost as much as the step that follows.
  const std::string told =
      object_text({{"type", last.type}, {"source", last.source}, {"id", last.id}});
  Beginning beginning{.data = input_of(entries, events),
                      .how = LazyJson::of_text(fmt::format(
                          R"({{"by":"event","event":{},"revision":{}}})", told, revision))};
  const auto attribute = [&](const std::string& name) {
    const auto found = last.extensions.find(name);
    const auto* const text =
        found == last.extensions.end() ? nullptr : std::get_if<std::string>(&found->second);
    return text == nullptr ? std::string() : *text;
  };
  beginning.traceparent = attribute("traceparent");
  beginning.correlation = attribute("correlationid");
  for (const Event& event : events) beginning.hops = std::max(beginning.hops, hops_of(event));
  return beginning;
}

bool same_groups(const Start& a, const Start& b) {
  return a.kind == Start::Kind::kEventsAnd && b.kind == Start::Kind::kEventsAnd &&
         a.events == b.events && a.correlate == b.correlate;
}

Result<bool> Groups::offer(TimePoint now, uint64_t sequence, const Event& event,
                           const WorkflowEntry& entry, const Workflow& workflow,
                           const std::vector<size_t>& entries) {
  const Start& start_of = workflow.start;
  const auto key = correlation_key(Attributes(event), start_of.correlate);
  if (!key) {
    ++draft_.outcome.counts.groups_uncorrelated;
    return false;
  }
  const Fingerprint group = group_of(*key, entry);
  auto waiting = TRY(read_counts(draft_.tx, entry.number, group))
                     .value_or(std::vector<uint32_t>(start_of.events.size(), 0));
  const size_t chosen = choose_entry(waiting, entries);

  GroupedEvent grouped{.queue = {entry.number, group, static_cast<uint16_t>(chosen)},
                       .number = TRY(draft_.next(Counter::kGrouped)),
                       .record = {.position = sequence, .event = encode_json_event(event)}};
  if (start_of.lifespan) grouped.record.expires = start_of.lifespan->after(now);
  write_grouped(draft_.tx, grouped);
  ++waiting[chosen];
  if (is_complete(waiting)) {
    TRY(start(now, event, entry, workflow, group, std::move(waiting)));
    return true;
  }
  write_counts(draft_.tx, entry.number, group, waiting);
  if (grouped.record.expires) {
    draft_.waiting.arm_grouped(grouped.number, *grouped.record.expires);
  }
  return true;
}

/// Every queue of the group has an event: the heads start one instance. They are used up by a start
/// that may not be as well.
Status Groups::start(TimePoint now, const Event& last, const WorkflowEntry& entry,
                     const Workflow& workflow, const Fingerprint& group,
                     std::vector<uint32_t> waiting) {
  std::vector<Event> events;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const GroupQueue queue{entry.number, group, static_cast<uint16_t>(i)};
    const auto head = TRY(read_first_grouped(draft_.tx, queue));
    if (!head) return fail("store.corrupt", "a group counts an event that is not there");
    auto event = decode_json_event(head->record.event);
    if (!event) return fail("store.corrupt", "a grouped event does not decode");
    events.push_back(std::move(*event));
    erase_grouped(draft_.tx, queue, head->number);
    draft_.waiting.disarm_grouped(head->number);
    --waiting[i];
  }
  write_counts(draft_.tx, entry.number, group, waiting);
  if (instances_.skips(entry, workflow)) return {};
  TRY(instances_.start(now, entry, workflow,
                       begun_by(entry.latest, workflow.start.events, events, last)));
  return {};
}

Status Groups::expire(uint64_t number) {
  const auto event = TRY(read_grouped(draft_.tx, number));
  if (!event) return {};  // it has started an instance, or its group was closed
  const GroupQueue& queue = event->queue;
  auto waiting = TRY(read_counts(draft_.tx, queue.workflow, queue.group));
  ++draft_.outcome.counts.groups_expired;
  erase_grouped(draft_.tx, queue, number);
  if (!waiting) return {};  // its group is being closed
  if (queue.entry >= waiting->size() || (*waiting)[queue.entry] == 0) {
    return fail("store.corrupt", "a group does not count an event that waits in it");
  }
  --(*waiting)[queue.entry];
  write_counts(draft_.tx, queue.workflow, queue.group, *waiting);
  return {};
}

Result<bool> Groups::close(WorkflowNumber workflow, const PurgeRecord& record,
                           std::optional<NamespaceNumber> space, std::string& at,
                           PurgeBudget& budget) {
  Status status;
  const auto see = [&](const GroupedEvent& grouped) {
    if (!status) return;
    ++draft_.outcome.counts.groups_closed;
    draft_.waiting.disarm_grouped(grouped.number);
    if (record.space.empty()) return;
    auto event = decode_json_event(grouped.record.event);
    if (!event) {
      status = fail("store.corrupt", "a grouped event does not decode");
      return;
    }
    status = draft_.dead_letter(
        {.space = record.space,
         .reason = {"start.group_closed",
                    fmt::format(
                        "the start of workflow \"{}\" for which it waited has changed or is "
                        "gone",
                        record.workflow)},
         .sequence = grouped.record.position,
         .message = event_message(record.space, *event),
         .number = space});
  };
  const bool done = TRY(close_groups(draft_.tx, workflow, record.up_to, at, budget, see));
  TRY(std::move(status));
  return done;
}

}  // namespace millrace
