// The query of what will fire: the timers of instances, the delayed events, the ends of lifespans,
// the ticks of schedules, the pending starts and the turns of throttles of a namespace, soonest
// first. It looks at all rows
// that have a timer, or at those whose timers a walk through the wheel has found
// (soonest_firings.h).
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "orchestrator/service/firing_rows.h"
#include "orchestrator/service/held_calls.h"
#include "orchestrator/service/namespace_record.h"
#include "orchestrator/service/next_filter.h"
#include "orchestrator/service/pending_start_item.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/slot_item.h"
#include "orchestrator/service/soonest_firings.h"
#include "orchestrator/service/timer_item.h"
#include "orchestrator/service/undamaged.h"
#include "orchestrator/store/rows/call_slot_rows.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/queue_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// The most bytes of the delayed and grouped events at which one query looks.
constexpr size_t kMostEventBytes = size_t{4} << 20;
/// The most workflows at which one query looks, and the most bytes of the definitions of those that
/// have a schedule.
constexpr size_t kMostWorkflows = 1'000;
constexpr size_t kMostScheduleBytes = size_t{1} << 20;

struct Firing {
  TimePoint at;
  FiringKind kind{};
  std::optional<InstanceId> instance;
  Revision revision;                                  ///< of the instance that has the timer
  std::optional<TimedInstance> timed = std::nullopt;  ///< if it is the timer of an instance
  std::string workflow;                               ///< the id, of firings without an instance
  bool paused = false;  ///< the instance, the workflow or the service is paused
  std::optional<Caller> caller = std::nullopt;  ///< of the instance
  FiringRow row = {};
};

bool is_sooner(const Firing& left, const Firing& right) { return left.at < right.at; }

/// What ended a list of firings before its end.
enum class ListEnd {
  kLook,   ///< the query has not looked at everything, so a firing between those may be missing
  kLimit,  ///< the limit of the filter; no firing between those is missing
};
struct ListCut {
  TimePoint exact_until;  ///< nothing that fires before is missing
  ListEnd end{};
};

/// The soonest firings of a filter, and what the query may still look at.
class Soonest {
 public:
  /// `rows`: the most rows at which the query may look. One firing more than the limit of the
  /// filter is looked for: whether there is one says whether the list is cut.
  Soonest(const NextFilter& filter, size_t rows)
      : filter_(filter), rows_(rows), most_(filter.limit + 1) {}

  bool wants(FiringKind kind) const { return millrace::wants(filter_, kind); }

  void add(Firing firing) {
    if (!wants(firing.kind) || (filter_.until && firing.at > *filter_.until)) return;
    heap_.push_back(std::move(firing));
    std::push_heap(heap_.begin(), heap_.end(), is_sooner);
    if (heap_.size() <= most_) return;
    std::pop_heap(heap_.begin(), heap_.end(), is_sooner);
    heap_.pop_back();
  }

  /// Whether the query may look at one more row, which has this many bytes of an event.
  bool look(size_t event_bytes = 0) {
    if (looked_ == rows_ || bytes_ >= kMostEventBytes) return false;
    ++looked_;
    bytes_ += event_bytes;
    return true;
  }

  /// The query has not looked at everything, but at all that fires before `at`.
  void cut(TimePoint at) { exact_until_ = std::min(exact_until_.value_or(at), at); }

  /// Whether the filter has an end.
  bool is_bounded() const { return filter_.until.has_value(); }

  /// Whether nothing that fires at that time or later can be one of the soonest.
  bool has_all_before(TimePoint at) const {
    if (filter_.until && at > *filter_.until) return true;
    return heap_.size() == most_ && heap_.front().at <= at;
  }

  /// The firings that the list shows, and where it is cut; nullopt: nothing is missing.
  std::pair<std::vector<Firing>, std::optional<ListCut>> sorted() && {
    std::sort_heap(heap_.begin(), heap_.end(), is_sooner);
    std::optional<TimePoint> until = exact_until_;
    if (filter_.until && until && *until > *filter_.until) until.reset();
    if (heap_.size() == most_) {
      until = std::min(until.value_or(heap_.back().at), heap_.back().at);
      heap_.pop_back();
    }
    if (!until) return {std::move(heap_), std::nullopt};
    const bool is_exact = heap_.size() == filter_.limit && heap_.back().at <= *until;
    const ListCut cut{*until, is_exact ? ListEnd::kLimit : ListEnd::kLook};
    return {std::move(heap_), cut};
  }
  size_t looked() const { return looked_; }

 private:
  const NextFilter& filter_;
  const size_t rows_;
  const size_t most_;
  std::vector<Firing> heap_;  ///< the latest one is first
  size_t looked_ = 0;
  size_t bytes_ = 0;
  std::optional<TimePoint> exact_until_;
};

/// Adds the ticks of a schedule, which counts from `from`: all that the list may show if the filter
/// ends at a time, otherwise the next one. `tick` has what they share.
void add_ticks(const Cron& cron, TimePoint from, TimePoint now, const Firing& tick,
               Soonest& soonest) {
  TimePoint at = cron.next(from);
  while (true) {
    Firing one = tick;
    one.at = at;
    soonest.add(std::move(one));
    if (!soonest.is_bounded()) return;
    const TimePoint next = cron.next(cron.caught_up(at, std::max(at, now)));
    if (next <= at || soonest.has_all_before(next)) return;
    if (!soonest.look()) return soonest.cut(next);
    at = next;
  }
}

const OnDamage kSkipDamaged = [](const Error&) {};

Status add_timers_of(const PausedServices& paused, const Instance& one, Soonest& soonest) {
  for (const Timer& timer : one.timers) {
    const bool is_of_calls = timer.kind == TimerKind::kCalls && soonest.wants(FiringKind::kCall);
    const CallTimer counts = is_of_calls ? TRY(call_timer(paused, one, timer.deadline))
                                         : CallTimer{.at = timer.deadline};
    soonest.add({.at = counts.at,
                 .kind = static_cast<FiringKind>(timer.kind),
                 .instance = one.id,
                 .revision = one.revision,
                 .timed = TimedInstance(one),
                 .workflow = {},
                 .paused = one.paused || counts.is_held,
                 .caller = one.caller});
  }
  return {};
}

void add_delayed_event(const DelayedRecord& record, Soonest& soonest) {
  soonest.add({.at = record.at,
               .kind = FiringKind::kDelayedEvent,
               .instance = record.instance,
               .revision = {},
               .workflow = {}});
}

void add_lifespan(const GroupedEvent& event, const FiringWorkflow& workflow, Soonest& soonest) {
  if (!event.record.expires) return;
  soonest.add({.at = *event.record.expires,
               .kind = FiringKind::kLifespan,
               .instance = std::nullopt,
               .revision = {},
               .workflow = workflow.id,
               .paused = workflow.paused});
}

/// Adds all timers of instances; `now`: the time from which on the answer is not exact if they are
/// too many.
Status add_timers(const PausedServices& paused, NamespaceNumber ns, TimePoint now,
                  Soonest& soonest) {
  bool is_wanted = false;
  for (size_t kind = 0; kind <= static_cast<size_t>(FiringKind::kThrottleTimeout); ++kind) {
    is_wanted = is_wanted || soonest.wants(static_cast<FiringKind>(kind));
  }
  if (!is_wanted) return {};
  Status status;
  const auto see = [&](const Instance& one) {
    const bool may_look = soonest.look();
    if (!may_look) soonest.cut(now);
    if (may_look) status = add_timers_of(paused, one, soonest);
    return may_look && status;
  };
  TRY(each_live(paused.view, ns, std::nullopt, see, kSkipDamaged));
  return status;
}

Status add_delayed(const View& view, NamespaceNumber ns, TimePoint now, Soonest& soonest) {
  if (!soonest.wants(FiringKind::kDelayedEvent)) return {};
  const auto see = [&](uint64_t, const DelayedRecord& record) {
    const bool may_look = soonest.look(record.event.size());
    if (!may_look) soonest.cut(now);
    if (may_look && record.ns == ns) add_delayed_event(record, soonest);
    return may_look;
  };
  return some_delayed(view, see, kSkipDamaged);
}

Status add_lifespans(const View& view, WorkflowNumber number, const FiringWorkflow& workflow,
                     TimePoint now, Soonest& soonest) {
  if (!soonest.wants(FiringKind::kLifespan)) return {};
  const auto see = [&](const GroupedEvent& event) {
    const bool may_look = soonest.look(event.record.event.size());
    if (!may_look) soonest.cut(now);
    if (may_look) add_lifespan(event, workflow, soonest);
    return may_look;
  };
  return some_grouped(view, number, see, kSkipDamaged);
}

/// Adds the pending starts, in the order in which they are listed, which is not later than that of
/// their times, until later ones cannot be shown.
Status add_pending_starts(const View& view, NamespaceNumber ns, TimePoint now,
                          const FiringWorkflows& workflows, Soonest& soonest) {
  if (!soonest.wants(FiringKind::kPendingStart)) return {};
  const auto see = [&](const ListedStart& listed) -> Result<bool> {
    if (soonest.has_all_before(listed.listed)) return false;
    const auto workflow = workflows.find(listed.place.workflow);
    const bool is_shown = listed.place.ns == ns && workflow != workflows.end();
    const auto pending = is_shown ? TRY(undamaged(read_pending_start(view, listed.place)))
                                  : std::optional<PendingStart>();
    if (!soonest.look(pending ? pending->input.text().size() : 0)) {
      soonest.cut(std::max(listed.listed, now));
      return false;
    }
    if (!pending || pending->listed != listed.listed || is_batch_over(*pending)) return true;
    soonest.add({.at = pending->at,
                 .kind = FiringKind::kPendingStart,
                 .instance = pending->id,
                 .revision = {},
                 .workflow = workflow->second.id,
                 .paused = workflow->second.paused,
                 .row = listed.place});
    return true;
  };
  return each_listed_start(view, see);
}

/// Adds when the throttle of the workflow permits the next start of each key for which starts wait.
Status add_throttled_starts(const View& view, DefinitionCache& definitions, WorkflowNumber number,
                            const FiringWorkflow& workflow, TimePoint now, Soonest& soonest) {
  if (!soonest.wants(FiringKind::kThrottle)) return {};
  std::shared_ptr<const Workflow> newest;
  const auto add = [&](const SlotKey& key) -> Result<bool> {
    if (!soonest.look()) {
      soonest.cut(now);
      return false;
    }
    if (!newest) {
      const auto found = definitions.find_or_load(view, {number, workflow.latest});
      if (!found && !is_damaged_row(found.error())) return tl::unexpected(found.error());
      if (!found || !(*found)->throttle) return false;  // then nothing is known, or none waits long
      newest = *found;
    }
    const auto at = TRY(permitted_at(view, rate_place(view, key), newest->throttle->rate));
    if (!at) return true;
    soonest.add({.at = *at,
                 .kind = FiringKind::kThrottle,
                 .instance = std::nullopt,
                 .revision = {},
                 .workflow = workflow.id,
                 .paused = workflow.paused,
                 .row = key});
    return true;
  };
  Status status;
  const SlotKey behind_slots{.is_throttle = true, .workflow = number, .key = {}};
  TRY(each_slot_counts(
      view, number, behind_slots,
      [&](const SlotKey& key, const SlotCounts&) {
        const Result<bool> continues = add(key);
        if (!continues) status = tl::unexpected(continues.error());
        return continues.value_or(false);
      },
      kSkipDamaged));
  return status;
}

/// Likewise for the throttles of calls.
Status add_throttled_calls(const View& view, NamespaceNumber ns, const NamespaceSettings& settings,
                           TimePoint now, Soonest& soonest) {
  if (!soonest.wants(FiringKind::kThrottle)) return {};
  const auto add = [&](const CallSlotKey& key, const CallSlotCounts& counts) -> Result<bool> {
    if (!soonest.look()) {
      soonest.cut(now);
      return false;
    }
    const auto next = TRY(read_first_call(view, waiting_kind(key), key, kSkipDamaged));
    if (!next) return true;  // all are of paused instances
    const auto at = TRY(permitted_at(view, rate_place(view, key), rate_of(next->record)));
    if (!at) return true;
    soonest.add({.at = *at,
                 .kind = FiringKind::kThrottle,
                 .instance = std::nullopt,
                 .revision = {},
                 .workflow = {},
                 .paused = is_paused(settings, counts.service),
                 .row = key});
    return true;
  };
  Status status;
  TRY(each_call_counts(
      view, ns, CallSlotKey{.ns = ns, .key = {}, .is_throttle = true},
      [&](const CallSlotKey& key, const CallSlotCounts& counts) {
        const Result<bool> continues = add(key, counts);
        if (!continues) status = tl::unexpected(continues.error());
        return continues.value_or(false);
      },
      kSkipDamaged));
  return status;
}

/// Adds what the owner of a timer will do. Returns whether the query could look at its row.
Result<bool> add_owner(const PausedServices& paused, NamespaceNumber ns, const TimerInput& timer,
                       const FiringWorkflows& workflows, Soonest& soonest) {
  const View& view = paused.view;
  if (const auto* const owner = std::get_if<TimerInput::OfInstance>(&timer.owner)) {
    if (!soonest.look()) return false;
    const auto head = TRY(undamaged(read_live_head(view, ns, owner->instance)));
    if (head) TRY(add_timers_of(paused, *head, soonest));
  } else if (const auto* const delayed = std::get_if<TimerInput::OfDelayedEvent>(&timer.owner)) {
    const auto record = TRY(undamaged(read_delayed(view, delayed->number)));
    if (!soonest.look(record ? record->event.size() : 0)) return false;
    if (record && record->ns == ns) add_delayed_event(*record, soonest);
  } else if (const auto* const grouped = std::get_if<TimerInput::OfGroupedEvent>(&timer.owner)) {
    const auto event = TRY(undamaged(read_grouped(view, grouped->number)));
    if (!soonest.look(event ? event->record.event.size() : 0)) return false;
    const auto workflow = event ? workflows.find(event->queue.workflow) : workflows.end();
    if (workflow != workflows.end()) add_lifespan(*event, workflow->second, soonest);
  }
  return true;
}

/// Adds the timers that a walk has found, soonest first, until later ones cannot be shown.
Status add_walked(const PausedServices& paused, NamespaceNumber ns, TimePoint now,
                  const WalkedTimers& walked, const FiringWorkflows& workflows, Soonest& soonest) {
  if (walked.seen_until) soonest.cut(std::max(*walked.seen_until, now));
  // An instance may have several timers, and the walk may have shown a timer twice.
  std::set<InstanceId> instances;
  std::set<uint64_t> delayed;
  std::set<uint64_t> grouped;
  const auto is_new = [&](const TimerInput& timer) {
    if (const auto* const one = std::get_if<TimerInput::OfInstance>(&timer.owner)) {
      return instances.insert(one->instance).second;
    }
    if (const auto* const one = std::get_if<TimerInput::OfDelayedEvent>(&timer.owner)) {
      return delayed.insert(one->number).second;
    }
    const auto* const one = std::get_if<TimerInput::OfGroupedEvent>(&timer.owner);
    return one != nullptr && grouped.insert(one->number).second;
  };
  for (const TimerInput& timer : walked.timers) {
    if (soonest.has_all_before(timer.deadline)) break;
    if (!is_new(timer) || TRY(add_owner(paused, ns, timer, workflows, soonest))) continue;
    soonest.cut(std::max(timer.deadline, now));
    break;
  }
  return {};
}

/// What a firing without an instance that has the timer causes.
std::string_view causes_of(FiringKind kind) {
  if (kind == FiringKind::kDelayedEvent) return "event";
  if (kind == FiringKind::kThrottle) return "handOut";  // of starts "start"
  return kind == FiringKind::kLifespan ? "expiry" : "start";
}

/// Without the members of the instance's definition, and of what the timer of an instance causes.
Json firing_item(const Firing& firing) {
  Json item{{"at", format_rfc3339(firing.at)},
            {"kind", kFiringKinds[static_cast<size_t>(firing.kind)]}};
  if (firing.instance) item["instance"] = to_string(*firing.instance);
  if (!firing.workflow.empty()) item["workflow"] = firing.workflow;
  if (firing.paused) item["paused"] = true;
  if (firing.timed) return item;
  const bool is_start = std::holds_alternative<SlotKey>(firing.row);
  item["causes"] = is_start ? "start" : causes_of(firing.kind);
  return item;
}

/// Adds the workflow and the state of the instance.
void add_place(const Workflow& workflow, const TimedInstance& timed, Json& item) {
  item["workflow"] = workflow.id;
  if (timed.state < workflow.states.size()) {
    item["state"] = workflow.states[timed.state]->common().id;
  }
}

}  // namespace

Result<LiveInstances> Queries::live_instances(const View& view, std::string_view ns) {
  LiveInstances live{.ns = TRY(find_namespace(view, ns)), .count = std::nullopt};
  const bool is_incomplete = is_index_incomplete(view);
  TRY(view.status());
  if (is_incomplete) return live;
  const Result<Usage> usage = read_usage(view, live.ns);
  if (!usage && !is_damaged_row(usage.error())) return tl::unexpected(usage.error());
  if (usage) live.count = usage->live;
  return live;
}

Result<Json> Queries::next_firings(const View& view, std::string_view ns, const NextFilter& filter,
                                   const NextLooks& looks) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  const TimePoint now = clock_.now();
  // TRY is not used: with it, g++ 12 warns about freeing the list of a failed result.
  const Result<SomeWorkflows> known =
      some_workflows(view, ns, {.limit = kMostWorkflows, .cursor = {}});
  if (!known) return tl::unexpected(known.error());
  Soonest soonest(filter, looks.rows);
  FiringWorkflows workflows;
  size_t definition_sizes = 0;
  for (size_t i = 0; i < known->size(); ++i) {
    const auto& [id, record] = (*known)[i];
    if (i == kMostWorkflows || definition_sizes >= kMostScheduleBytes) {
      soonest.cut(now);
      break;
    }
    const FiringWorkflow& one =
        workflows.emplace(record.number, FiringWorkflow{id, record.paused, record.latest})
            .first->second;
    TRY(add_throttled_starts(view, definitions_, record.number, one, now, soonest));
    if (looks.walked == nullptr) TRY(add_lifespans(view, record.number, one, now, soonest));
    const auto progress = TRY(read_schedule(view, record.number));
    if (!progress || !soonest.wants(FiringKind::kTick)) continue;
    const Revision revision{record.number, record.latest};
    definition_sizes += TRY(definition_bytes(view, revision));
    const auto workflow = TRY(definitions_.find_or_load(view, revision));
    if (!workflow->start.cron) continue;
    add_ticks(*workflow->start.cron, progress->from, now,
              {.at = {},
               .kind = FiringKind::kTick,
               .instance = std::nullopt,
               .revision = {},
               .workflow = id,
               .paused = record.paused},
              soonest);
  }
  const NamespaceSettings settings = TRY(readable_settings(view, ns));
  size_t reads_left = kMostCallTimers;
  const PausedServices paused{view, definitions_, settings, reads_left};
  if (looks.walked == nullptr) {
    TRY(add_delayed(view, number, now, soonest));
    TRY(add_timers(paused, number, now, soonest));
  } else {
    TRY(add_walked(paused, number, now, *looks.walked, workflows, soonest));
  }
  TRY(add_pending_starts(view, number, now, workflows, soonest));
  TRY(add_throttled_calls(view, number, settings, now, soonest));

  const size_t looked = soonest.looked() + (looks.walked ? looks.walked->looked : 0);
  const auto [firings, cut] = std::move(soonest).sorted();
  Json items = Json::array();
  TimerItems consequences(view, ns, definitions_);
  FiringRowItems rows(view, definitions_, workflows, now);
  for (const Firing& firing : firings) {
    Json item = firing_item(firing);
    TRY(rows.add(firing.row, item));
    if (firing.timed) {
      const auto workflow = TRY(definitions_.find_or_load(view, firing.revision));
      add_place(*workflow, *firing.timed, item);
      const Timer timer{static_cast<TimerKind>(firing.kind), firing.at};
      TRY(consequences.add(after_timer(timer, *firing.timed, *workflow), number, firing.caller,
                           firing.at, item));
    }
    items.push_back(std::move(item));
  }
  Json answer{
      {"items", std::move(items)}, {"next", nullptr}, {"complete", !cut}, {"looked", looked}};
  if (cut) {
    answer["exactUntil"] = format_rfc3339(cut->exact_until);
    answer["cutBy"] = cut->end == ListEnd::kLimit ? kCutByLimit : kCutByLook;
  }
  return answer;
}

}  // namespace millrace
