#include "orchestrator/runtime/batch.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "cloudevents/json_format.h"
#include "cloudevents/subject.h"
#include "matchers/correlation.h"
#include "orchestrator/runtime/messages.h"
#include "states/event_pattern.h"

namespace millrace {
namespace {

/// How many batches may move the cursor and nothing else before it is written all the same: what a
/// restart reads again at most.
constexpr uint32_t kMostWithoutEffect = 64;

Fingerprint fingerprint_of(std::string_view space, const Event& event) {
  return fingerprint({space, event.source, event.id});
}

/// The input of an event-started instance: each payload under its type, in entry order; a type that
/// several entries have holds an array (SEMANTICS "Events in" 6).
Json input_of(const std::vector<StartEvent>& entries, const std::vector<Event>& events) {
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

Json started_by(const Event& event) {
  return {{"by", "event"},
          {"event", {{"type", event.type}, {"source", event.source}, {"id", event.id}}}};
}

/// Whether groups made for one start fit the other (SEMANTICS "eventsAnd" 2).
bool same_groups(const Start& a, const Start& b) {
  return a.kind == Start::Kind::kEventsAnd && b.kind == Start::Kind::kEventsAnd &&
         a.events == b.events && a.correlate == b.correlate;
}

}  // namespace

Status Batch::load() {
  touched_.clear();
  counters_.clear();
  outcome_ = {};
  cursor_ = TRY(read_cursor(parts_.tx));
  cursor_moved_ = false;
  return {};
}

Status Batch::apply(const Input& input) {
  return std::visit([&](const auto& what) { return apply(input.time, what); }, input.what);
}

void Batch::stream_opened(int64_t stream_created) {
  if (cursor_.stream_created == stream_created) return;
  cursor_ = {.stream_created = stream_created};
  cursor_moved_ = true;
}

void Batch::moved_to(uint64_t sequence, TimePoint stamped) {
  cursor_.sequence = sequence;
  cursor_.stamped = stamped;
  cursor_moved_ = true;
}

// Events.

Status Batch::apply(TimePoint now, const EventInput& input) {
  ++outcome_.counts.events;
  moved_to(input.sequence, input.stamped);
  const auto space = parts_.catalog.find_namespace(input.space);
  if (!space) {
    return dead_letter({.space = input.space,
                        .reason = {"namespace.not_found",
                                   fmt::format("there is no namespace \"{}\"", input.space)},
                        .sequence = input.sequence,
                        .message = event_message(input.space, input.event)});
  }
  const Targets targets = parts_.waiting.match(input.space, input.event);
  const bool kept = parts_.recent.wants(*space);
  const bool matched = !targets.starts.empty() || !targets.instances.empty();
  if (!matched) ++outcome_.counts.events_unmatched;
  if (!matched && !kept) return {};
  const Fingerprint known_as = fingerprint_of(input.space, input.event);
  parts_.dedupe.move_to(parts_.tx, input.stamped);
  if (parts_.dedupe.seen(known_as) || parts_.recent.seen(known_as)) {
    ++outcome_.counts.events_duplicate;
    return {};
  }
  if (kept) parts_.recent.keep(parts_.tx, *space, input.event, known_as);
  const uint64_t position = parts_.recent.last();

  bool had_effect = false;
  for (const StartTarget& target : targets.starts) {
    had_effect |= TRY(offer_start(now, input, target));
  }
  for (const InstanceTarget& target : targets.instances) {
    Touched* const touched = TRY(touch(target.space, target.instance));
    if (touched == nullptr) continue;
    const bool woken = TRY(step_instance(
        now, *touched,
        Matched{.event = &input.event, .entries = target.entries, .position = position}));
    if (woken) ++outcome_.counts.instances_woken;
    had_effect |= woken;
  }
  if (had_effect) parts_.dedupe.add(known_as);
  return {};
}

Status Batch::apply(TimePoint, const UnreadableInput& input) {
  ++outcome_.counts.events_unreadable;
  moved_to(input.sequence, input.stamped);
  return dead_letter(
      {.space = subject_namespace(input.message.subject).value_or(std::string(kDefaultNamespace)),
       .reason = input.reason,
       .sequence = input.sequence,
       .message = input.message});
}

Result<bool> Batch::offer_start(TimePoint now, const EventInput& input, const StartTarget& target) {
  const WorkflowEntry* const entry = parts_.catalog.find_workflow(target.workflow);
  CHECK(entry != nullptr, "a workflow that is gone still listens");
  const auto workflow = TRY(parts_.catalog.definition(parts_.tx, {entry->number, entry->latest}));
  const Start& start_of = workflow->start;
  if (start_of.kind == Start::Kind::kEventsAnd) {
    return offer_group(now, input, *entry, *workflow, target.entries);
  }
  const size_t which = target.entries.front();
  TRY(start(now, *entry, *workflow, input_of({start_of.events[which]}, {input.event}),
            started_by(input.event), {}));
  return true;
}

Result<bool> Batch::offer_group(TimePoint now, const EventInput& input, const WorkflowEntry& entry,
                                const Workflow& workflow, const std::vector<size_t>& entries) {
  const Start& start_of = workflow.start;
  const auto key = correlation_key(input.event, start_of.correlate);
  if (!key) return false;  // without a correlated attribute
  const Fingerprint group = fingerprint({*key});
  auto waiting = TRY(read_counts(parts_.tx, entry.number, group))
                     .value_or(std::vector<uint32_t>(start_of.events.size(), 0));
  const size_t chosen = choose_entry(waiting, entries);

  GroupedEvent grouped{
      .queue = {entry.number, group, static_cast<uint16_t>(chosen)},
      .number = TRY(next(Counter::kGrouped)),
      .record = {.position = input.sequence, .event = encode_json_event(input.event)}};
  if (start_of.lifespan) grouped.record.expires = start_of.lifespan->after(now);
  write_grouped(parts_.tx, grouped);
  ++waiting[chosen];
  if (is_complete(waiting)) {
    TRY(start_group(now, input, entry, workflow, group, std::move(waiting)));
    return true;
  }
  write_counts(parts_.tx, entry.number, group, waiting);
  if (grouped.record.expires) {
    parts_.waiting.arm_grouped(grouped.number, *grouped.record.expires);
  }
  return true;
}

/// Every queue of the group has an event: the heads start one instance.
Status Batch::start_group(TimePoint now, const EventInput& input, const WorkflowEntry& entry,
                          const Workflow& workflow, const Fingerprint& group,
                          std::vector<uint32_t> waiting) {
  std::vector<Event> events;
  for (size_t i = 0; i < waiting.size(); ++i) {
    const GroupQueue queue{entry.number, group, static_cast<uint16_t>(i)};
    const auto head = TRY(read_first_grouped(parts_.tx, queue));
    if (!head) return fail("store.corrupt", "a group counts an event that is not there");
    auto event = decode_json_event(head->record.event);
    if (!event) return fail("store.corrupt", "a grouped event does not decode");
    events.push_back(std::move(*event));
    erase_grouped(parts_.tx, queue, head->number);
    parts_.waiting.disarm_grouped(head->number);
    --waiting[i];
  }
  write_counts(parts_.tx, entry.number, group, waiting);
  TRY(start(now, entry, workflow, input_of(workflow.start.events, events), started_by(input.event),
            {}));
  return {};
}

// Timers.

Status Batch::apply(TimePoint now, const TimerInput& input) {
  ++outcome_.counts.timers_fired;
  return std::visit([&](const auto& owner) { return fire(now, input.deadline, owner); },
                    input.owner);
}

Status Batch::fire(TimePoint now, TimePoint deadline, const TimerInput::OfInstance& owner) {
  Touched* const touched = TRY(touch(owner.space, owner.instance));
  if (touched == nullptr) return {};
  const auto& timers = touched->instance.timers;
  const Timer timer{owner.kind, deadline};
  if (std::find(timers.begin(), timers.end(), timer) == timers.end()) return {};
  touched->instance.listen_from = parts_.recent.last();
  TRY(step_instance(now, *touched, Fired{.kind = owner.kind, .deadline = deadline}));
  return {};
}

Status Batch::fire(TimePoint, TimePoint, const TimerInput::OfDelayedEvent& owner) {
  const auto record = TRY(read_delayed(parts_.tx, owner.number));
  if (!record) return {};
  erase_delayed(parts_.tx, owner.number);
  auto event = decode_json_event(record->event);
  if (!event) return fail("store.corrupt", "a delayed event does not decode");
  return publish(record->space, record->instance, *event);
}

Status Batch::fire(TimePoint, TimePoint, const TimerInput::OfGroupedEvent& owner) {
  const auto event = TRY(read_grouped(parts_.tx, owner.number));
  if (!event) return {};  // it has started an instance, or its group was closed
  const GroupQueue& queue = event->queue;
  auto waiting = TRY(read_counts(parts_.tx, queue.workflow, queue.group));
  if (!waiting) return fail("store.corrupt", "a grouped event has no group");
  --(*waiting)[queue.entry];
  erase_grouped(parts_.tx, queue, owner.number);
  write_counts(parts_.tx, queue.workflow, queue.group, *waiting);
  return {};
}

// Results.

Status Batch::apply(TimePoint now, const EvaluatedInput& input) {
  Touched* const touched = TRY(touch(input.space, input.instance));
  if (touched == nullptr) return {};
  TRY(step_instance(now, *touched, Resumed{.step = input.step, .results = input.results}));
  return {};
}

Status Batch::apply(TimePoint now, const ContinueInput& input) {
  Touched* const touched = TRY(touch(input.space, input.instance));
  if (touched == nullptr) return {};
  TRY(step_instance(now, *touched, Proceed{}));
  return {};
}

// Commands.

Status Batch::apply(TimePoint now, const CommandInput& input) {
  Result<Json> result =
      std::visit([&](const auto& what) { return command(now, what); }, input.command);
  if (!result && result.error().code.starts_with("store.")) return tl::unexpected(result.error());
  outcome_.effects.emplace_back(Answer{.request = input.request, .result = std::move(result)});
  return {};
}

Result<NamespaceNumber> Batch::space_of(std::string_view name) const {
  const auto space = parts_.catalog.find_namespace(name);
  if (!space) {
    return fail("namespace.not_found",
                fmt::format("there is no namespace \"{}\"; make it with `millrace namespace create "
                            "{}`",
                            name, name));
  }
  return *space;
}

Result<const WorkflowEntry*> Batch::workflow_of(std::string_view space, std::string_view id) const {
  const WorkflowEntry* const entry = parts_.catalog.find_workflow(TRY(space_of(space)), id);
  if (entry == nullptr) {
    return fail("workflow.not_found",
                fmt::format("there is no workflow \"{}\" in namespace \"{}\"", id, space));
  }
  return entry;
}

Result<Json> Batch::command(TimePoint now, const ApplyWorkflow& command) {
  const NamespaceNumber space = TRY(space_of(command.space));
  std::shared_ptr<const Workflow> before;
  if (const WorkflowEntry* known = parts_.catalog.find_workflow(space, command.workflow->id)) {
    before = TRY(parts_.catalog.definition(parts_.tx, {known->number, known->latest}));
  }
  const bool added =
      TRY(parts_.catalog.apply(parts_.tx, space, command.text, command.workflow, now));
  const WorkflowEntry* const entry = parts_.catalog.find_workflow(space, command.workflow->id);
  if (added) {
    parts_.waiting.set_start(command.space, entry->number, command.workflow->start.events);
    if (before && before->start.kind == Start::Kind::kEventsAnd &&
        !same_groups(before->start, command.workflow->start)) {
      TRY(close_groups_of(*entry, command.space));
    }
  }
  return Json{{"id", entry->id}, {"revision", entry->latest}, {"changed", added}};
}

Status Batch::close_groups_of(const WorkflowEntry& entry, const std::string& space) {
  Status status;
  TRY(close_groups(parts_.tx, entry.number, [&](const GroupedEvent& grouped) {
    if (!status) return;
    ++outcome_.counts.groups_closed;
    parts_.waiting.disarm_grouped(grouped.number);
    auto event = decode_json_event(grouped.record.event);
    if (!event) {
      status = fail("store.corrupt", "a grouped event does not decode");
      return;
    }
    status = dead_letter(
        {.space = space,
         .reason = {"start.group_closed",
                    fmt::format(
                        "the start of workflow \"{}\" for which it waited has changed or is "
                        "gone",
                        entry.id)},
         .sequence = grouped.record.position,
         .message = event_message(space, *event)});
  }));
  return status;
}

Result<Json> Batch::command(TimePoint now, const DeleteWorkflow& command) {
  const WorkflowEntry entry = *TRY(workflow_of(command.space, command.id));
  const size_t cancelled = TRY(cancel_living(
      now, entry.space, entry.number, command.cancel,
      {"workflow.has_instances", fmt::format("workflow \"{}\" has living instances", entry.id)}));
  parts_.waiting.set_start(command.space, entry.number, {});
  TRY(close_groups_of(entry, command.space));
  parts_.catalog.remove_workflow(parts_.tx, entry.number);
  return Json{{"cancelled", cancelled}};
}

Result<Json> Batch::command(TimePoint now, const StartInstance& command) {
  const WorkflowEntry* const entry = TRY(workflow_of(command.space, command.workflow));
  const std::string& key = command.idempotency_key;
  const Fingerprint input = fingerprint({dump_json(command.input)});
  if (!key.empty()) {
    if (const auto known = TRY(read_idempotency(parts_.tx, entry->number, key))) {
      if (known->input != input) {
        return fail("start.conflict",
                    fmt::format("instance {} was started under this key with another input",
                                to_string(known->instance)));
      }
      return Json{{"id", to_string(known->instance)}, {"created", false}};
    }
  }
  const auto workflow = TRY(parts_.catalog.definition(parts_.tx, {entry->number, entry->latest}));
  const InstanceId id = TRY(start(now, *entry, *workflow, command.input, {{"by", "call"}}, key));
  if (!key.empty()) {
    write_idempotency(parts_.tx, entry->number, key, {.instance = id, .input = input});
  }
  return Json{{"id", to_string(id)}, {"created", true}};
}

Result<Json> Batch::command(TimePoint now, const CreateNamespace& command) {
  const bool exists = parts_.catalog.find_namespace(command.name).has_value();
  if (!exists) TRY(parts_.catalog.create_namespace(parts_.tx, command.name, now));
  return Json{{"name", command.name}, {"created", !exists}};
}

Result<Json> Batch::command(TimePoint now, const DeleteNamespace& command) {
  const NamespaceNumber space = TRY(space_of(command.name));
  if (command.name == kDefaultNamespace) {
    return fail("namespace.not_empty", "the namespace \"default\" stays");
  }
  const size_t cancelled = TRY(cancel_living(
      now, space, std::nullopt, command.cancel,
      {"namespace.not_empty", fmt::format("namespace \"{}\" has living instances", command.name)}));
  std::vector<WorkflowEntry> entries;
  for (const auto& [number, entry] : parts_.catalog.workflows()) {
    if (entry.space == space) entries.push_back(entry);
  }
  for (const WorkflowEntry& entry : entries) {
    parts_.waiting.set_start(command.name, entry.number, {});
    TRY(close_groups_of(entry, command.name));
    parts_.catalog.remove_workflow(parts_.tx, entry.number);
  }
  TRY(forget_delayed(space));
  parts_.catalog.remove_namespace(parts_.tx, command.name);
  return Json{{"cancelled", cancelled}};
}

/// Events that were to be published later into a namespace that is deleted would go nowhere.
Status Batch::forget_delayed(NamespaceNumber space) {
  std::vector<uint64_t> numbers;
  TRY(each_delayed(parts_.tx, [&](uint64_t number, const DelayedRecord& record) {
    if (record.space == space) numbers.push_back(number);
  }));
  for (const uint64_t number : numbers) {
    erase_delayed(parts_.tx, number);
    parts_.waiting.disarm_delayed(number);
  }
  return {};
}

/// Cancels the living instances of a workflow, or of the whole namespace; refuses if there are some
/// and they may not be.
Result<size_t> Batch::cancel_living(TimePoint now, NamespaceNumber space,
                                    std::optional<WorkflowNumber> workflow, bool may_cancel,
                                    const Error& refusal) {
  std::vector<InstanceId> living;
  const auto see = [&](const Instance& head) {
    if (!workflow || head.revision.workflow == *workflow) living.push_back(head.id);
  };
  // What this batch has touched is not in the rows yet, or no longer what they say.
  TRY(each_living(parts_.tx, space, [&](const Instance& head) {
    if (!touched_.contains(head.id)) see(head);
  }));
  for (const auto& [id, touched] : touched_) {
    if (touched.instance.space == space && !has_ended(touched.instance.status)) {
      see(touched.instance);
    }
  }
  if (!living.empty() && !may_cancel) {
    return fail(refusal.code, fmt::format("{}: {}; cancel them with it: ?cancel=1, --cancel",
                                          refusal.message, living.size()));
  }
  for (const InstanceId& id : living) {
    Touched* const touched = TRY(touch(space, id));
    CHECK(touched != nullptr);
    TRY(step_instance(now, *touched,
                      Cancel{{"direktiv.cancels.api", "cancelled with its workflow"}}));
  }
  return living.size();
}

// Instances.

Result<InstanceId> Batch::start(TimePoint now, const WorkflowEntry& entry, const Workflow& workflow,
                                Json data, Json how, std::string idempotency_key) {
  ++outcome_.counts.instances_started;
  const InstanceId id = parts_.make_id(now);
  Touched& touched = touched_[id];
  touched.is_new = true;
  touched.instance = make_instance(id, entry.space, {entry.number, entry.latest}, workflow,
                                   std::move(data), now, parts_.recent.last());
  touched.instance.idempotency_key = std::move(idempotency_key);
  touched.data = touched.instance.data.shared_text();
  how["revision"] = entry.latest;
  touched.history.push_back({.time = now, .kind = HistoryKind::kStarted, .detail = std::move(how)});
  TRY(step_instance(now, touched, Proceed{}));
  return id;
}

Result<Batch::Touched*> Batch::touch(NamespaceNumber space, const InstanceId& id) {
  if (const auto found = touched_.find(id); found != touched_.end()) return &found->second;
  auto instance = TRY(read_living(parts_.tx, space, id));
  if (!instance) return nullptr;
  Touched& touched = touched_[id];
  touched.instance = std::move(*instance);
  touched.data = touched.instance.data.shared_text();
  touched.had_slots = !touched.instance.slots.empty();
  return &touched;
}

Result<bool> Batch::step_instance(TimePoint now, Touched& touched, const Stimulus& stimulus) {
  const bool changed = TRY(step_once(now, touched, stimulus));
  if (changed) TRY(offer_recent(now, touched));
  return changed;
}

Status Batch::offer_recent(TimePoint now, Touched& touched) {
  const Instance& instance = touched.instance;
  while (instance.phase == Phase::kWaiting && !instance.listeners.empty()) {
    const auto match = TRY(parts_.recent.find(parts_.tx, instance));
    if (!match) return {};
    TRY(step_once(
        now, touched,
        Matched{.event = &match->event, .entries = match->entries, .position = match->number}));
    ++outcome_.counts.instances_woken;
    const Fingerprint known_as =
        fingerprint_of(parts_.catalog.name_of(instance.space), match->event);
    if (!parts_.dedupe.seen(known_as)) parts_.dedupe.add(known_as);
  }
  return {};
}

Result<bool> Batch::step_once(TimePoint now, Touched& touched, const Stimulus& stimulus) {
  Instance& instance = touched.instance;
  if (has_ended(instance.status)) return false;
  const auto workflow = TRY(parts_.catalog.definition(parts_.tx, instance.revision));
  StepResult result = step(*workflow, instance, stimulus, now, parts_.limits);
  if (!result.changed) return false;

  touched.changed = true;
  for (HistoryRecord& record : result.history) touched.history.push_back(std::move(record));
  for (Effect& effect : result.effects) {
    if (const auto* publish = std::get_if<Publish>(&effect)) {
      TRY(take(instance.id, *publish));
    } else {
      outcome_.effects.push_back(std::move(effect));
    }
  }
  if (result.unfinished) outcome_.unfinished.push_back({instance.space, instance.id});
  if (has_ended(instance.status)) {
    outcome_.ended.emplace_back(instance.space, instance.id);
    ++outcome_.counts.ended[static_cast<size_t>(instance.status)];
  }
  parts_.waiting.update(parts_.catalog.name_of(instance.space), instance);
  parts_.recent.update(instance);
  return true;
}

// What goes out.

Status Batch::take(const InstanceId& instance, const Publish& asked) {
  if (!asked.at) return publish(asked.space, instance, asked.event);
  const uint64_t number = TRY(next(Counter::kDelayed));
  write_delayed(parts_.tx, number,
                {.space = asked.space,
                 .instance = instance,
                 .at = *asked.at,
                 .event = encode_json_event(asked.event)});
  parts_.waiting.arm_delayed(number, *asked.at);
  return {};
}

Status Batch::publish(NamespaceNumber space, const InstanceId& instance, const Event& event) {
  ++outcome_.counts.published;
  return send({instance, event_message(parts_.catalog.name_of(space), event)});
}

Status Batch::dead_letter(const DeadLetter& letter) {
  ++outcome_.counts.dead_letters;
  return send({std::nullopt, dead_letter_message(letter, cursor_.stream_created)});
}

Status Batch::send(const OutboxRecord& record) {
  write_outbox(parts_.tx, TRY(next(Counter::kOutbox)), record);
  outcome_.has_outbox = true;
  return {};
}

Result<uint64_t> Batch::next(Counter counter) {
  auto found = counters_.find(counter);
  if (found == counters_.end()) {
    found = counters_.emplace(counter, TRY(read_counter(parts_.tx, counter))).first;
  }
  return ++found->second;
}

Result<BatchOutcome> Batch::finish(TimePoint now) {
  for (auto& [id, touched] : touched_) {
    if (!touched.changed && !touched.is_new) continue;
    Instance& instance = touched.instance;
    if (!touched.history.empty()) {
      const uint64_t number = TRY(next(Counter::kHistory));
      instance.history_count += touched.history.size();
      write_history(parts_.tx, number,
                    {.space = instance.space,
                     .instance = instance.id,
                     .previous = instance.last_history,
                     .records = std::move(touched.history)});
      instance.last_history = number;
    }
    write_instance(parts_.tx, instance,
                   {.input = touched.is_new,
                    .data = instance.data.shared_text() != touched.data,
                    .slots = touched.had_slots || !instance.slots.empty()});
  }
  parts_.recent.trim(parts_.tx);
  for (const auto& [counter, number] : counters_) write_counter(parts_.tx, counter, number);
  parts_.dedupe.end_batch(parts_.tx, cursor_.stamped, cursor_.sequence);
  // Events without effect may be read again, so the cursor alone is not worth a sync.
  const bool nothing_else = parts_.tx.write_set().empty();
  if (cursor_moved_ && (!nothing_else || ++batches_without_effect_ >= kMostWithoutEffect)) {
    write_cursor(parts_.tx, cursor_);
    cursor_moved_ = false;
    batches_without_effect_ = 0;
  }
  if (!parts_.tx.write_set().empty()) write_engine_time(parts_.tx, now);

  touched_.clear();
  counters_.clear();
  return std::exchange(outcome_, {});
}

}  // namespace millrace
