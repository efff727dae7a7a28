// Queries for lists of instances: where the instances of a filter are, and which of them match it.
#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

#include "matchers/glob.h"
#include "orchestrator/service/instance_walk.h"
#include "orchestrator/service/page.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/shapes.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/idempotency_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// The bound in time of a walk.
constexpr std::chrono::milliseconds kMostWalkTime(50);

/// The most workflows in which one query looks for an idempotency key.
constexpr size_t kMostKeyPlaces = 20'000;

/// The longest idempotency key; a longer text may be too long for the key of a row.
constexpr size_t kMostKeyBytes = 255;

/// Whether a filter has a condition on a field of the head that the index does not have. A damaged
/// head is shown only without one.
bool asks_the_head(const InstanceFilter& filter) {
  return filter.ended_since || filter.ended_until || !filter.key.empty() ||
         !filter.correlation.empty() || filter.parent || !filter.state.empty() ||
         !filter.error.empty() || !filter.traits.empty() || !filter.waits_for.empty();
}

constexpr std::array kLiveStatuses{InstanceStatus::kPending, InstanceStatus::kRunning,
                                   InstanceStatus::kWaiting, InstanceStatus::kPaused};
constexpr std::array kEndedStatuses{InstanceStatus::kComplete, InstanceStatus::kFailed,
                                    InstanceStatus::kCancelled, InstanceStatus::kTimedOut};

/// Leaves only the statuses of the selection that are among `some`. Returns false if none is left.
bool keep_common(std::vector<InstanceStatus>& statuses, std::span<const InstanceStatus> some) {
  if (statuses.empty()) {
    statuses.assign(some.begin(), some.end());
  } else {
    std::erase_if(statuses, [&](InstanceStatus status) {
      return std::find(some.begin(), some.end(), status) == some.end();
    });
  }
  return !statuses.empty();
}

bool has_timer(const std::vector<Timer>& timers, TimerKind kind) {
  return std::any_of(timers.begin(), timers.end(),
                     [&](const Timer& timer) { return timer.kind == kind; });
}

bool waits_for_type(const Instance& head, std::string_view type) {
  return std::any_of(head.listeners.begin(), head.listeners.end(),
                     [&](const Listener& listener) { return listener.filter.type == type; });
}

/// Whether the instance waits for the next attempt of a state, the workflow or a call. Reads the
/// calls of an instance with a timer for them.
Result<bool> is_retrying(const View& view, const Instance& head) {
  if (has_timer(head.timers, TimerKind::kRetry) || has_timer(head.held_timers, TimerKind::kRetry)) {
    return true;
  }
  const bool may_retry_calls =
      !head.calls.empty() &&
      (has_timer(head.timers, TimerKind::kCalls) || has_timer(head.held_timers, TimerKind::kCalls));
  if (!may_retry_calls) return false;
  const std::vector<Call> calls = TRY(read_some_calls(view, head, 0, head.calls.size()));
  return std::any_of(calls.begin(), calls.end(),
                     [](const Call& call) { return call.status == Call::Status::kBetween; });
}

Result<bool> has_trait(const View& view, const Instance& head, InstanceTrait trait) {
  switch (trait) {
    case InstanceTrait::kRetrying:
      return is_retrying(view, head);
    case InstanceTrait::kCalls:
      return !head.calls.empty();
    case InstanceTrait::kDeadline:
      return first_deadline(head).has_value();
    case InstanceTrait::kCompensations:
      return head.compensations > 0;
  }
  return false;
}

}  // namespace

WalkBounds Queries::bounds_from_now() const {
  return {.is_over = [&clock = clock_, end = clock_.precise() + kMostWalkTime] {
    return clock.precise() >= end;
  }};
}

Result<std::optional<InstanceSelection>> Queries::selection_of(const View& view,
                                                               std::string_view ns,
                                                               NamespaceNumber number,
                                                               const InstanceFilter& filter) {
  InstanceSelection selection{
      .ns = number, .statuses = filter.statuses, .oldest_first = filter.oldest_first};
  if (!filter.workflow.empty()) {
    selection.workflow = TRY(find_workflow(view, ns, filter.workflow)).number;
  }
  if (!filter.id.empty()) selection.ids = TRY(ids_with_prefix(filter.id));
  if (!filter.cursor.empty()) {
    Result<InstanceId> last = parse_instance_id(filter.cursor);
    if (!last) return fail_in("cursor", std::move(last).error());
    if (filter.oldest_first) {
      selection.ids.begin_behind(*last);
    } else {
      selection.ids.end_before(*last);
    }
  }
  if (filter.since || filter.until || filter.ended_until) {
    // An instance in the range may have started outside the times; matches() compares them.
    const auto bounds = TRY(read_start_bounds(view, number));
    if (bounds && filter.since) selection.ids.begin_at(bounds->lowest_for(*filter.since));
    if (bounds && filter.until) selection.ids.end_before(bounds->end_for(*filter.until));
    // An instance that has ended before then has started before then.
    if (bounds && filter.ended_until) {
      selection.ids.end_before(bounds->end_for(*filter.ended_until));
    }
  }
  if (filter.parent) {
    // The id of a child has the time of its call, at which the parent lived.
    const auto parent = read_head_anywhere(view, number, *filter.parent);
    if (!parent && !is_damaged_row(parent.error())) return tl::unexpected(parent.error());
    if (parent && *parent) {
      selection.ids.begin_at((*parent)->started_at);
      if (const auto end = (*parent)->ended_at) selection.ids.end_before(*end + Duration(1));
    }
  }
  const bool is_of_live =
      !filter.waits_for.empty() ||
      std::any_of(filter.traits.begin(), filter.traits.end(),
                  [](InstanceTrait trait) { return trait != InstanceTrait::kCompensations; });
  if (is_of_live && !keep_common(selection.statuses, kLiveStatuses)) {
    return std::optional<InstanceSelection>();
  }
  const bool is_of_ended = filter.ended_since || filter.ended_until;
  if (is_of_ended && !keep_common(selection.statuses, kEndedStatuses)) {
    return std::optional<InstanceSelection>();
  }
  if (!filter.state.empty()) {
    const auto some = TRY(statuses_in_state(view, number, selection.workflow, filter.state));
    if (some && !keep_common(selection.statuses, *some)) return std::optional<InstanceSelection>();
  }
  return std::optional(std::move(selection));
}

Result<bool> Queries::matches(const View& view, const Instance& one, const InstanceFilter& filter,
                              Disclosures& disclosures) {
  if (filter.since && one.started_at < *filter.since) return false;
  if (filter.until && one.started_at >= *filter.until) return false;
  if (filter.ended_since && !(one.ended_at && *one.ended_at >= *filter.ended_since)) return false;
  if (filter.ended_until && !(one.ended_at && *one.ended_at < *filter.ended_until)) return false;
  if (!filter.key.empty() && one.idempotency_key != filter.key) return false;
  if (filter.parent && (!one.caller || one.caller->instance != *filter.parent)) return false;
  if (!filter.error.empty() && !(one.error && glob_matches(filter.error, one.error->code))) {
    return false;
  }
  if (!filter.correlation.empty() && (one.correlation != filter.correlation ||
                                      !disclosures.of(one.sealed).shows(one.correlation))) {
    return false;
  }
  if (!filter.waits_for.empty() && !waits_for_type(one, filter.waits_for)) return false;
  for (const InstanceTrait trait : filter.traits) {
    if (!TRY(has_trait(view, one, trait))) return false;
  }
  if (filter.state.empty()) return true;
  const auto workflow = TRY(definitions_.find_or_load(view, one.revision));
  return one.state < workflow->states.size() &&
         workflow->states[one.state]->common().id == filter.state;
}

Result<Queries::StartedUnderKey> Queries::started_under(const View& view, std::string_view ns,
                                                        NamespaceNumber number,
                                                        const InstanceFilter& filter,
                                                        const WalkBounds& bounds,
                                                        Disclosures& disclosures) {
  StartedUnderKey found;
  if (filter.key.size() > kMostKeyBytes) return found;
  SomeWorkflows places;
  if (filter.workflow.empty()) {
    TRY(each_workflow_behind(view, number, {},
                             [&](std::string_view id, const WorkflowRecord& record) {
                               found.is_cut = places.size() == kMostKeyPlaces;
                               if (!found.is_cut) places.emplace_back(id, record);
                               return !found.is_cut;
                             }));
  } else {
    places.emplace_back(filter.workflow, TRY(find_workflow(view, ns, filter.workflow)));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (i > 0 && bounds.is_over && bounds.is_over()) {
      found.is_cut = true;
      break;
    }
    const auto start = TRY(read_idempotency(view, places[i].second.number, filter.key));
    if (!start) continue;
    // Neither the list nor its numbers may confirm a key that is not shown. Of a damaged head it is
    // not known whether the key is shown.
    const auto head = read_head_anywhere(view, number, start->instance);
    if (!head && !is_damaged_row(head.error())) return tl::unexpected(head.error());
    const bool is_shown = head && *head && disclosures.of((*head)->sealed).shows(filter.key);
    if (is_shown) found.ids.push_back(start->instance);
  }
  std::sort(found.ids.begin(), found.ids.end());
  if (!filter.oldest_first) std::reverse(found.ids.begin(), found.ids.end());
  return found;
}

Result<Json> Queries::instances(const View& view, std::string_view ns,
                                const InstanceFilter& filter) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  const auto selection = TRY(selection_of(view, ns, number, filter));
  Disclosures disclosures = TRY(Disclosures::read(view, ns, number));
  Page page(filter.limit);
  Status status;
  const auto see = [&](const Instance& one) {
    const Result<bool> fits = matches(view, one, filter, disclosures);
    if (!fits && !is_damaged_row(fits.error())) status = tl::unexpected(fits.error());
    if (!fits || !*fits) return status.has_value();
    if (!page.has_room()) return false;
    Result<Json> json = list_item(view, one, disclosures);
    if (json) {
      page.add(std::move(*json), to_string(one.id), one.error ? one.error->message.size() : 0);
    } else if (is_damaged_row(json.error())) {
      page.add(damaged_item(one.id, json.error()), to_string(one.id));
    } else {
      status = tl::unexpected(json.error());
    }
    return status.has_value();
  };
  const auto see_damaged = [&](const InstanceId& id, const Error& error) {
    // The fields that the head of the damaged instance had are unknown.
    if (!filter.workflow.empty() || !filter.statuses.empty() || asks_the_head(filter)) return true;
    if (!page.has_room()) return false;
    page.add(damaged_item(id, error), to_string(id));
    return true;
  };
  const WalkBounds bounds = bounds_from_now();
  WalkEnd end;
  bool is_cut = false;
  if (selection && !filter.key.empty()) {
    const StartedUnderKey started =
        TRY(started_under(view, ns, number, filter, bounds, disclosures));
    end = TRY(each_of(view, *selection, started.ids, see, see_damaged, bounds));
    is_cut = started.is_cut;
  } else if (selection) {
    end = TRY(each_selected(view, *selection, see, see_damaged, bounds));
  }
  TRY(std::move(status));
  if (end.cut) page.continue_at(to_string(*end.cut));
  Json answer = std::move(page).json();
  answer["complete"] = !is_cut;
  answer["looked"] = end.looked;
  return answer;
}

}  // namespace millrace
