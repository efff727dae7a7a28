// The query of timers that ask for attention: of instances that wait for the next attempt of their
// state, their run or a call, and of waits whose timeout is near. It looks at all live heads, or at
// those whose timers a walk through the wheel has found (soonest_firings.h).
#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "orchestrator/service/attention.h"
#include "orchestrator/service/next_filter.h"
#include "orchestrator/service/queries.h"
#include "orchestrator/service/soonest_firings.h"
#include "orchestrator/service/timer_item.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "states/state.h"

namespace millrace {
namespace {

/// A timeout is near if it is due within this time.
constexpr std::chrono::minutes kNearDeadline{5};
/// How many calls of an instance are read before the bounds of the query are looked at again.
constexpr size_t kCallsAtOnce = 32;

/// What an item shows of an instance.
struct TimedWait {
  Revision revision;
  TimedInstance timed;
  TimePoint since;  ///< when its state was entered
};

/// The soonest waits of one kind: those that an overview shows, and one more if there is one.
class SoonestWaits {
 public:
  using Waits = std::map<std::pair<TimePoint, InstanceId>, TimedWait>;

  void add(TimePoint at, const Instance& one) {
    waits_.try_emplace({at, one.id}, TimedWait{one.revision, TimedInstance(one), one.state_from});
    if (waits_.size() > kMostOfAKind + 1) waits_.erase(std::prev(waits_.end()));
  }
  /// Whether nothing that is due at that time or later can be shown.
  bool has_all_before(TimePoint at) const {
    return waits_.size() > kMostOfAKind && waits_.rbegin()->first.first <= at;
  }
  /// The time from which on waits are missing, if the query has seen all before `seen_until`.
  std::optional<TimePoint> missing_from(const std::optional<TimePoint>& seen_until) const {
    if (waits_.size() <= kMostOfAKind) return seen_until;
    const TimePoint last = waits_.rbegin()->first.first;
    return std::min(seen_until.value_or(last), last);
  }
  const Waits& waits() const { return waits_; }

 private:
  Waits waits_;
};

/// The waits that a query has seen, and at what it may still look.
class SeenWaits {
 public:
  SeenWaits(const View& view, const NextLooks& looks, const Clock& clock)
      : view_(view),
        rows_(looks.rows),
        clock_(clock),
        end_(clock.precise() + kAttentionTime),
        now_(clock.now()) {}

  /// Whether a timer of that kind and time can lead to an item.
  bool needs(FiringKind kind, TimePoint deadline) const {
    if (kind == FiringKind::kStateTimeout) {
      return deadline <= near() && !deadlines_.has_all_before(deadline);
    }
    // The timer of calls is due with the next attempt of one, or before.
    return !retrying_.has_all_before(deadline);
  }
  /// Whether the query may look at so many more rows; it may look at one at least.
  bool look(size_t rows = 1) {
    const bool is_over = looked_ > 0 && clock_.precise() >= end_;
    if (is_over || rows_ - looked_ < rows) return false;
    looked_ += rows;
    return true;
  }
  /// The query has not seen everything, but all that is due before that time.
  void cut(TimePoint at) {
    at = std::max(at, now_);
    seen_until_ = std::min(seen_until_.value_or(at), at);
  }
  /// Adds the waits of an instance. Returns false if a bound has ended the look at its calls.
  Result<bool> add(const Instance& one) {
    for (const Timer& timer : one.timers) {
      if (!needs(static_cast<FiringKind>(timer.kind), timer.deadline)) continue;
      if (timer.kind == TimerKind::kStateTimeout) {
        deadlines_.add(timer.deadline, one);
      } else if (timer.kind == TimerKind::kRetry) {
        retrying_.add(timer.deadline, one);
      } else if (timer.kind == TimerKind::kCalls) {
        if (!TRY(add_calls(one))) return false;
      }
    }
    return true;
  }

  TimePoint now() const { return now_; }
  const SoonestWaits& retrying() const { return retrying_; }
  const SoonestWaits& deadlines() const { return deadlines_; }
  std::optional<TimePoint> retrying_missing_from() const {
    return retrying_.missing_from(seen_until_);
  }
  std::optional<TimePoint> deadlines_missing_from() const {
    const bool has_seen_near = seen_until_ && *seen_until_ > near();
    return deadlines_.missing_from(has_seen_near ? std::nullopt : seen_until_);
  }
  bool is_complete() const { return !seen_until_; }

 private:
  TimePoint near() const { return now_ + kNearDeadline; }

  /// Adds the instance if one of its calls waits for its next attempt.
  Result<bool> add_calls(const Instance& one) {
    std::optional<TimePoint> first;
    for (size_t from = 0; from < one.calls.size(); from += kCallsAtOnce) {
      const size_t most = std::min(kCallsAtOnce, one.calls.size() - from);
      if (!look(most)) return false;
      const auto calls = read_some_calls(view_, one, from, most);
      if (!calls && is_damaged_row(calls.error())) return true;
      if (!calls) return tl::unexpected(calls.error());
      for (const Call& call : *calls) {
        if (call.retry_at) first = std::min(first.value_or(*call.retry_at), *call.retry_at);
      }
    }
    if (first) retrying_.add(*first, one);
    return true;
  }

  const View& view_;
  const size_t rows_;
  const Clock& clock_;
  const std::chrono::nanoseconds end_;
  const TimePoint now_;
  size_t looked_ = 0;
  std::optional<TimePoint> seen_until_;  ///< nullopt: everything was seen
  SoonestWaits retrying_;
  SoonestWaits deadlines_;
};

Status see_all(const View& view, NamespaceNumber ns, SeenWaits& seen) {
  Status ended;
  const auto see = [&](const Instance& one) {
    const Result<bool> added = seen.look() ? seen.add(one) : Result<bool>(false);
    if (!added) ended = tl::unexpected(added.error());
    const bool goes_on = added && *added;
    if (added && !*added) seen.cut(seen.now());
    return goes_on;
  };
  TRY(each_live(view, ns, std::nullopt, see, [](const Error&) {}));
  return ended;
}

/// Sees the instances of the timers that a walk has found, by deadline.
Status see_walked(const View& view, NamespaceNumber ns, const WalkedTimers& walked,
                  SeenWaits& seen) {
  if (walked.seen_until) seen.cut(*walked.seen_until);
  std::set<InstanceId> instances;  // one may have several timers
  for (const TimerInput& timer : walked.timers) {
    const auto* const owner = std::get_if<TimerInput::OfInstance>(&timer.owner);
    if (owner == nullptr || !seen.needs(static_cast<FiringKind>(owner->kind), timer.deadline)) {
      continue;
    }
    if (!instances.insert(owner->instance).second) continue;
    bool continues = seen.look();
    if (continues) {
      const auto head = read_live_head(view, ns, owner->instance);
      if (!head && !is_damaged_row(head.error())) return tl::unexpected(head.error());
      if (head && *head) continues = TRY(seen.add(**head));
    }
    if (continues) continue;
    seen.cut(timer.deadline);
    break;
  }
  return {};
}

}  // namespace

Result<Json> Queries::timed_attention(const View& view, std::string_view ns,
                                      const NextLooks& looks) {
  const NamespaceNumber number = TRY(find_namespace(view, ns));
  SeenWaits seen(view, looks, clock_);
  if (looks.walked == nullptr) {
    TRY(see_all(view, number, seen));
  } else {
    TRY(see_walked(view, number, *looks.walked, seen));
  }

  Json answer{{"complete", seen.is_complete()}};
  Attention attention(answer);
  const auto show = [&](const char* kind, const SoonestWaits& soonest,
                        const std::optional<TimePoint>& missing_from, bool is_timeout) -> Status {
    size_t shown = 0;
    for (const auto& [due, wait] : soonest.waits()) {
      if (++shown > kMostOfAKind) break;
      Json item{{"kind", kind},
                {"at", format_rfc3339(due.first)},
                {"since", format_rfc3339(wait.since)},
                {"instance", to_string(due.second)}};
      const auto workflow = definitions_.find_or_load(view, wait.revision);
      if (!workflow && !is_damaged_row(workflow.error())) return tl::unexpected(workflow.error());
      if (workflow) {
        item["workflow"] = (*workflow)->id;
        if (wait.timed.state < (*workflow)->states.size()) {
          item["state"] = (*workflow)->states[wait.timed.state]->common().id;
        }
        const Timer timer{TimerKind::kStateTimeout, due.first};
        if (is_timeout) add_consequence(after_timer(timer, wait.timed, **workflow), item);
      }
      attention.add(std::move(item));
    }
    if (missing_from) attention.cut(kind, {{"exactUntil", format_rfc3339(*missing_from)}});
    return {};
  };
  TRY(show("retrying", seen.retrying(), seen.retrying_missing_from(), false));
  TRY(show("deadline", seen.deadlines(), seen.deadlines_missing_from(), true));
  return answer;
}

}  // namespace millrace
