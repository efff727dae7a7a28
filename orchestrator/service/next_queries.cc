// The query of what will fire: the timers of instances, the delayed events, the ends of lifespans
// and the ticks of schedules of a namespace, soonest first.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/service/after_timer.h"
#include "orchestrator/service/next_filter.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/event_rows.h"
#include "orchestrator/store/rows/group_rows.h"
#include "orchestrator/store/rows/head_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// The most heads of instances, delayed events and grouped events at which one query looks, and the
/// most bytes of these events.
constexpr size_t kMostLooks = 20'000;
constexpr size_t kMostEventBytes = size_t{4} << 20;
/// The most workflows at which one query looks, and the most bytes of the definitions of those that
/// have a schedule.
constexpr size_t kMostWorkflows = 1'000;
constexpr size_t kMostScheduleBytes = size_t{1} << 20;

struct Firing {
  TimePoint at;
  FiringKind kind{};
  std::optional<InstanceId> instance;
  Revision revision;                                  ///< of the instance; number 0: unknown
  std::optional<TimedInstance> timed = std::nullopt;  ///< if `revision` is known
  std::string workflow;                               ///< the id, of firings without an instance
  bool paused = false;                                ///< the instance or the workflow is paused
};

bool is_sooner(const Firing& left, const Firing& right) { return left.at < right.at; }

/// The soonest firings of a filter, and what the query may still look at.
class Soonest {
 public:
  explicit Soonest(const NextFilter& filter) : filter_(filter) {}

  bool wants(FiringKind kind) const {
    const auto& kinds = filter_.kinds;
    return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  }

  void add(Firing firing) {
    if (!wants(firing.kind) || (filter_.until && firing.at > *filter_.until)) return;
    heap_.push_back(std::move(firing));
    std::push_heap(heap_.begin(), heap_.end(), is_sooner);
    if (heap_.size() <= filter_.limit) return;
    std::pop_heap(heap_.begin(), heap_.end(), is_sooner);
    heap_.pop_back();
  }

  /// Whether the query may look at one more row, which has this many bytes of an event.
  bool look(size_t event_bytes = 0) {
    if (looked_ == kMostLooks || bytes_ >= kMostEventBytes) {
      cut();
      return false;
    }
    ++looked_;
    bytes_ += event_bytes;
    return true;
  }

  /// The query has not looked at everything.
  void cut() { is_complete_ = false; }

  std::vector<Firing> sorted() && {
    std::sort_heap(heap_.begin(), heap_.end(), is_sooner);
    return std::move(heap_);
  }
  bool is_complete() const { return is_complete_; }
  size_t looked() const { return looked_; }

 private:
  const NextFilter& filter_;
  std::vector<Firing> heap_;  ///< the latest one is first
  size_t looked_ = 0;
  size_t bytes_ = 0;
  bool is_complete_ = true;
};

const OnDamage kSkipDamaged = [](const Error&) {};

Status add_timers(const View& view, NamespaceNumber ns, Soonest& soonest) {
  bool is_wanted = false;
  for (size_t kind = 0; kind <= static_cast<size_t>(FiringKind::kCall); ++kind) {
    is_wanted = is_wanted || soonest.wants(static_cast<FiringKind>(kind));
  }
  if (!is_wanted) return {};
  const auto see = [&](const Instance& one) {
    if (!soonest.look()) return false;
    for (const Timer& timer : one.timers) {
      soonest.add({.at = timer.deadline,
                   .kind = static_cast<FiringKind>(timer.kind),
                   .instance = one.id,
                   .revision = one.revision,
                   .timed = TimedInstance(one),
                   .workflow = {},
                   .paused = one.paused});
    }
    return true;
  };
  return each_live(view, ns, std::nullopt, see, kSkipDamaged);
}

Status add_delayed(const View& view, NamespaceNumber ns, Soonest& soonest) {
  if (!soonest.wants(FiringKind::kDelayedEvent)) return {};
  const auto see = [&](uint64_t, const DelayedRecord& record) {
    if (!soonest.look(record.event.size())) return false;
    if (record.ns != ns) return true;
    soonest.add({.at = record.at,
                 .kind = FiringKind::kDelayedEvent,
                 .instance = record.instance,
                 .revision = {},
                 .workflow = {}});
    return true;
  };
  return some_delayed(view, see, kSkipDamaged);
}

Status add_lifespans(const View& view, const std::string& id, const WorkflowRecord& record,
                     Soonest& soonest) {
  if (!soonest.wants(FiringKind::kLifespan)) return {};
  const auto see = [&](const GroupedEvent& event) {
    if (!soonest.look(event.record.event.size())) return false;
    if (const auto& expires = event.record.expires) {
      soonest.add({.at = *expires,
                   .kind = FiringKind::kLifespan,
                   .instance = std::nullopt,
                   .revision = {},
                   .workflow = id,
                   .paused = record.paused});
    }
    return true;
  };
  return some_grouped(view, record.number, see, kSkipDamaged);
}

}  // namespace

Result<Json> Queries::next_firings(const View& view, std::string_view ns,
                                   const NextFilter& filter) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  // TRY is not used: with it, g++ 12 warns about freeing the list of a failed result.
  const Result<SomeWorkflows> known =
      some_workflows(view, ns, {.limit = kMostWorkflows, .cursor = {}});
  if (!known) return tl::unexpected(known.error());
  Soonest soonest(filter);
  size_t definition_sizes = 0;
  for (size_t i = 0; i < known->size(); ++i) {
    const auto& [id, record] = (*known)[i];
    if (i == kMostWorkflows || definition_sizes >= kMostScheduleBytes) {
      soonest.cut();
      break;
    }
    TRY(add_lifespans(view, id, record, soonest));
    const auto progress = TRY(read_schedule(view, record.number));
    if (!progress || !soonest.wants(FiringKind::kTick)) continue;
    const Revision revision{record.number, record.latest};
    definition_sizes += TRY(definition_bytes(view, revision));
    const auto workflow = TRY(definitions_.find_or_load(view, revision));
    if (!workflow->start.cron) continue;
    soonest.add({.at = workflow->start.cron->next(progress->from),
                 .kind = FiringKind::kTick,
                 .instance = std::nullopt,
                 .revision = {},
                 .workflow = id,
                 .paused = record.paused});
  }
  TRY(add_delayed(view, number, soonest));
  TRY(add_timers(view, number, soonest));

  const bool is_complete = soonest.is_complete();
  const size_t looked = soonest.looked();
  Json items = Json::array();
  for (const Firing& firing : std::move(soonest).sorted()) {
    Json item{{"at", format_rfc3339(firing.at)},
              {"kind", kFiringKinds[static_cast<size_t>(firing.kind)]}};
    if (firing.instance) item["instance"] = to_string(*firing.instance);
    if (!firing.workflow.empty()) item["workflow"] = firing.workflow;
    if (firing.paused) item["paused"] = true;
    if (firing.revision.number > 0) {
      const auto workflow = TRY(definitions_.find_or_load(view, firing.revision));
      item["workflow"] = workflow->id;
      if (firing.timed && firing.timed->state < workflow->states.size()) {
        item["state"] = workflow->states[firing.timed->state]->common().id;
        const auto kind = static_cast<TimerKind>(firing.kind);
        if (const auto then = state_after(kind, *firing.timed, *workflow)) item["then"] = *then;
      }
    }
    items.push_back(std::move(item));
  }
  return Json{{"items", std::move(items)}, {"complete", is_complete}, {"looked", looked}};
}

}  // namespace millrace
