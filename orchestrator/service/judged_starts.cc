// The starts of ListenerJudging: what the event does, or would do, with the start of each workflow.
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "matchers/correlation.h"
#include "model/event_target.h"
#include "orchestrator/batch/event_start.h"
#include "orchestrator/service/listener_judging.h"
#include "orchestrator/service/near_groups.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/group_rows.h"
#include "states/start_key.h"

namespace millrace {
namespace {

/// Of an event that has left its group. A lifespan counts from when the event was applied, so its
/// end is known about.
std::string left_group_says(const Start& start, bool is_closed, TimePoint stamped) {
  std::string why = "the start was changed or the group was dropped, which closed it";
  if (!is_closed) {
    why = "its lifespan ended";
    if (start.lifespan) why += " about " + format_rfc3339(start.lifespan->after(stamped));
  }
  return "the event has left its group before the events of the other entries came: " + why;
}

/// The types of the events of the start beside that of an entry.
std::vector<std::string> types_of_others(const Start& start, size_t entry) {
  std::vector<std::string> types;
  for (size_t i = 0; i < start.events.size(); ++i) {
    if (i != entry) types.push_back(start.events[i].filter.type);
  }
  return types;
}

/// The fingerprint of the group of an event; nullopt: the event lacks an attribute of `correlate`.
std::optional<Fingerprint> group_of_event(const Attributes& event, const Start& start,
                                          const WorkflowRecord& record) {
  const auto key = correlation_key(event, start.correlate);
  if (!key) return std::nullopt;
  return record.groups_from == 0 ? fingerprint({*key})
                                 : fingerprint({*key, std::to_string(record.groups_from)});
}

}  // namespace

Status ListenerJudging::judge_starts() {
  TRY(note_effects());
  std::vector<std::pair<std::string, WorkflowRecord>> workflows;
  TRY(each_workflow_behind(place_.view, place_.ns, "",
                           [&](std::string_view id, const WorkflowRecord& record) {
                             is_complete_ = workflows.size() < bounds_.workflows;
                             if (is_complete_) workflows.emplace_back(id, record);
                             return is_complete_;
                           }));
  const std::string_view type = event_.attributes.type();
  size_t bytes = 0;
  for (const auto& [id, record] : workflows) {
    const Revision revision{record.number, record.latest};
    bytes += TRY(definition_bytes(place_.view, revision));
    if (bytes > bounds_.definition_bytes) {
      is_complete_ = false;
      break;
    }
    const auto workflow = TRY(definition_of(revision));
    if (workflow == nullptr) continue;
    for (const StartEvent& one : workflow->start.events) types_.insert(one.filter.type);
    bool waits = false;
    for (const auto& state : workflow->states) {
      for (std::string& awaited : state->awaited_types()) {
        waits = waits || awaited == type;
        types_.insert(std::move(awaited));
      }
    }
    if (waits) waiting_in_.push_back(record.number);
    TRY(judge_start(id, record, *workflow));
  }
  return {};
}

Status ListenerJudging::judge_start(std::string_view id, const WorkflowRecord& record,
                                    const Workflow& workflow) {
  const Start& start = workflow.start;
  std::optional<size_t> entry;
  JudgedListener one{.is_start = true, .workflow = std::string(id)};
  for (size_t i = 0; i < start.events.size(); ++i) {
    const EventFilter& filter = start.events[i].filter;
    if (filter.type != event_.attributes.type()) continue;
    ++looked_;
    FilterResult result = judge(filter, event_, patterns_);
    if (entry && result.failing() >= one.result.failing()) continue;
    entry = i;
    one.result = std::move(result);
  }
  if (!entry) return {};
  const auto target = event_.attributes.find(kTargetAttribute);
  one.is_addressed = !target || is_target(*target, record.number);
  Circumstances about = circumstances();
  about.is_start = true;
  about.is_for_others = !one.is_addressed;
  const auto definition = TRY(read_definition(place_.view, {record.number, record.latest}));
  if (definition) one.since = definition->created_at;
  about.is_newer = definition && definition->created_at > standing_.stamped;
  const auto known = on_workflows_.find(record.number);
  if (known != on_workflows_.end()) {
    about.effect = known->second.verdict;
    one.instance = known->second.instance;
  }
  const bool fits = one.is_addressed && one.result.failing() == 0;
  if (start.kind == Start::Kind::kEventsAnd && fits) {
    TRY(describe_group(record, start, *entry, one, about));
  }
  bool is_live = false;
  if (workflow.singular && (!standing_.position || about.effect == Verdict::kSkipped)) {
    const auto live = TRY(oldest_live(record.number));
    is_live = live.has_value();
    // An event that was skipped may have met an instance that has ended since.
    if (live && (!standing_.position || live->started_at <= standing_.stamped)) {
      one.instance = live->id;
    }
  }
  if (workflow.concurrency && about.effect == Verdict::kSkipped) {
    one.note = fmt::format(
        "workflow \"{}\" had no free slot of its `concurrency`, so the start was skipped; "
        "`millrace -n {} queue list` shows what waits for slots",
        one.workflow, standing_.ns);
  }
  if (standing_.is_dead && !about.effect && fits) about.effect = Verdict::kDead;
  one.verdict = decide_verdict(one.result, about);
  if (!standing_.position && one.verdict == Verdict::kStarted) {
    TRY(predict(record, workflow, *entry, is_live, one));
    if (one.start) about.limited = verdict_of(*one.start);
    one.verdict = decide_verdict(one.result, about);
    if (one.start && one.start->limit != LimitKind::kSingular) {
      one.note = says(*one.start, standing_.ns, one.workflow);
    }
  }
  TRY(note_target(one));
  const bool is_paused =
      standing_.position ? known != on_workflows_.end() && known->second.is_paused : record.paused;
  if (is_paused && one.verdict == Verdict::kStarted) note_pause(record.paused, one);
  if (one.verdict == Verdict::kLifespan) {
    const bool is_closed = on_workflows_.at(record.number).is_closed;
    one.note = left_group_says(start, is_closed, standing_.stamped);
    if (!is_closed) note_partners(record, start, types_of_others(start, *entry), one);
  }
  if (one.verdict == Verdict::kRateLimit && standing_.position) {
    one.note = rate_limit_says(one, record, workflow, *entry);
  }
  if (one.verdict == Verdict::kCorrelation) hint_at_data(one);
  if (one.verdict == Verdict::kGrouped) note_partners(record, start, one.waits_for, one);
  if (one.verdict != Verdict::kGrouped) {
    one.waits_for.clear();
  } else if (++grouped_ <= bounds_.grouped) {
    TRY(add_near_groups(place_.view, record, start, event_.attributes, one));
  }
  const bool has_instance = one.verdict == Verdict::kStarted || one.verdict == Verdict::kPaused ||
                            one.verdict == Verdict::kSkipped;
  if (!has_instance) one.instance.reset();
  judged_.push_back(std::move(one));
  return {};
}

/// Adds predicates for the attributes of `correlate` that the event lacks, with hints, if its data
/// has one of them.
void ListenerJudging::hint_at_data(JudgedListener& one) {
  std::vector<PredicateResult> lacking;
  bool has_hint = false;
  for (const std::string& name : one.lacks) {
    // Events are grouped by any value that is not empty.
    PredicateResult& result =
        lacking.emplace_back(PredicateResult{.predicate = {name, Predicate::Kind::kPattern, "."}});
    auto member = member_in_data(result.predicate, event_.data, patterns_);
    if (!member) continue;
    has_hint = true;
    result.hint = Hint{Hint::Kind::kInData, *std::move(member)};
    result.fits = fitting_value(result.predicate, *result.hint, event_, patterns_);
  }
  if (!has_hint) return;
  for (PredicateResult& result : lacking) one.result.predicates.push_back(std::move(result));
}

/// The key of the `rateLimit` that the start by the event has; nullopt: it is not known. That of a
/// group needs all its events.
std::optional<std::string> ListenerJudging::start_key_of(const Workflow& workflow,
                                                         uint32_t revision, size_t entry) const {
  const Start& start = workflow.start;
  if (!workflow.rate_limit || start.kind == Start::Kind::kEventsAnd) return std::nullopt;
  const StartSpec spec = start_by_events(workflow, revision, {&start.events[entry], 1},
                                         {&event_.event, 1}, event_.event);
  auto key = start_key(workflow.rate_limit->key, "rateLimit.key", spec.data, place_.clock.now());
  return key ? std::optional(*std::move(key)) : std::nullopt;
}

/// Whether the limits of one more start may be asked within the bounds of the answer.
bool ListenerJudging::may_predict() {
  const Duration now = place_.clock.elapsed();
  if (predicted_ == 0) predict_ends_ = now + std::chrono::duration_cast<Duration>(bounds_.walk);
  const bool may = predicted_ < bounds_.predicted && now <= predict_ends_;
  if (!may) is_complete_ = false;
  ++predicted_;
  return may;
}

/// The input that an instance gets from a test event and, with eventsAnd, from the events that wait
/// in its group; nullopt: one of these is missing or damaged.
Result<std::optional<LazyJson>> ListenerJudging::input_of_start(const WorkflowRecord& record,
                                                                const Workflow& workflow,
                                                                size_t entry) const {
  const Start& start = workflow.start;
  std::vector<StartEvent> entries = {start.events[entry]};
  std::vector<Event> events = {event_.event};
  if (start.kind == Start::Kind::kEventsAnd) {
    const auto group = group_of_event(event_.attributes, start, record);
    if (!group) return std::optional<LazyJson>();
    entries = start.events;
    events.clear();
    const GroupQueue last{record.number, *group, static_cast<uint16_t>(entry)};
    if (TRY(bytes_beside(place_.view, last, entries.size())) > kMostStartBytes) {
      return std::optional<LazyJson>();
    }
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i == entry) {
        events.push_back(event_.event);
        continue;
      }
      const GroupQueue queue{record.number, *group, static_cast<uint16_t>(i)};
      auto first = TRY(read_first_grouped(place_.view, queue, [](const Error&) {}));
      if (!first) return std::optional<LazyJson>();
      events.push_back(std::move(first->event));
    }
  }
  return std::optional(
      start_by_events(workflow, record.latest, entries, events, event_.event).data);
}

/// Asks what the limits would do with the start by a test event.
Status ListenerJudging::predict(const WorkflowRecord& record, const Workflow& workflow,
                                size_t entry, bool is_live, JudgedListener& one) {
  if (!may_predict()) return {};
  const auto input = TRY(input_of_start(record, workflow, entry));
  if (!input) return {};
  const WorkflowEntry asked{.number = record.number,
                            .ns = place_.ns,
                            .id = one.workflow,
                            .latest = record.latest,
                            .paused = record.paused};
  one.start = TRY(predictor_.predict(place_.clock.now(), asked, workflow, *input, is_live));
  return {};
}

/// Why the start was skipped.
std::string ListenerJudging::rate_limit_says(const JudgedListener& one,
                                             const WorkflowRecord& record, const Workflow& workflow,
                                             size_t entry) const {
  const auto key = start_key_of(workflow, record.latest, entry);
  const bool has_key = key && workflow.rate_limit->key;
  const std::string of_key = has_key ? fmt::format(", key {}", excerpt(*key)) : "";
  const std::string limit =
      workflow.rate_limit
          ? fmt::format(" ({} in {})", workflow.rate_limit->limit, workflow.rate_limit->period.text)
          : "";
  return fmt::format("rate limit of workflow {}{}{}: it was used up, so the start was skipped",
                     one.workflow, of_key, limit);
}

/// Says of a start, or of the instance that it started, that the instance is paused.
void ListenerJudging::note_pause(bool is_workflow_paused, JudgedListener& one) const {
  one.verdict = Verdict::kPaused;
  const std::string_view started =
      standing_.position ? "the event started the instance" : "the event would start an instance";
  one.note =
      is_workflow_paused
          ? fmt::format(
                "{}, which {} paused, since the workflow is paused; it continues when the workflow "
                "is resumed: `millrace -n {} workflow resume {}`",
                started, standing_.position ? "is" : "starts", standing_.ns, one.workflow)
          : fmt::format(
                "{}, which is paused; it continues when it is resumed: `millrace -n {} instance "
                "resume {}`",
                started, standing_.ns, one.instance ? to_string(*one.instance) : "ID");
}

/// Notes which events complete the group of the event, or would have completed it.
void ListenerJudging::note_partners(const WorkflowRecord& record, const Start& start,
                                    std::vector<std::string> types, JudgedListener& one) const {
  if (!start.lifespan || types.empty()) return;
  AwaitedPartners partners{
      .workflow = record.number, .types = std::move(types), .lifespan = *start.lifespan};
  for (const std::string& name : start.correlate) {
    const auto value = event_.attributes.find(name);
    if (!value) return;
    partners.values.emplace_back(name, *value);
  }
  one.partners = std::move(partners);
}

/// Describes the group of the event: for which entries it waits, as if the event were in it.
Status ListenerJudging::describe_group(const WorkflowRecord& record, const Start& start,
                                       size_t entry, JudgedListener& one, Circumstances& about) {
  for (const std::string& name : start.correlate) {
    if (!event_.attributes.find(name)) one.lacks.push_back(name);
  }
  const auto group = group_of_event(event_.attributes, start, record);
  about.lacks_correlation = !group;
  if (!group) return {};
  const auto counts = read_counts(place_.view, record.number, *group);
  if (!counts && !is_damaged_row(counts.error())) return tl::unexpected(counts.error());
  std::vector<uint32_t> waiting(start.events.size(), 0);
  if (counts && *counts && (*counts)->size() == waiting.size()) waiting = **counts;
  const bool is_gone = standing_.position && counts && !*counts;
  if (!standing_.position) ++waiting[entry];
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i] == 0) one.waits_for.push_back(start.events[i].filter.type);
  }
  about.needs_others = !one.waits_for.empty();
  if (is_gone) {
    one.waits_for.clear();
    one.note = "the event waited in a group, which has started an instance since";
  }
  return {};
}

}  // namespace millrace
