// LateMatches: decides the matches that the budget of an event left undecided
// (matchers/match_budget.h). Such an event is stored as a kept event, and a row names the starts
// and the instances that it may match. Until the match is decided, these take no later event and no
// timer (orchestrator/memory/undecided.h); then they get the events and timers that have waited, in
// the order in which these came. So the result is the same as with an unlimited budget, but later.
// The starts and kept events that a unit of work had no time for are decided here, too.
//
// The work is done in portions: a portion ends when its budget is spent. The kept events of a
// namespace are one lane: an event is decided for all its starts and instances before the next one.
// After a restart, the rows name what is still to be decided. An undecided start is decided by the
// newest revision of its workflow; the start of a workflow that was deleted is dropped. Engine
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/work_budget.h"
#include "matchers/match_budget.h"
#include "model/work_lane.h"
#include "orchestrator/batch/batch_state.h"
#include "orchestrator/batch/instances.h"
#include "orchestrator/batch/start_inputs.h"
#include "orchestrator/store/rows/event_rows.h"

namespace millrace {

/// Why an event becomes a dead letter: in its namespace, more events wait for undecided matches
/// than LateLimits allows.
inline constexpr std::string_view kMatchBudget = "millrace.match.budget";

struct LateLimits {
  /// The budget of one portion.
  MatchBudget portion{.has_long_runs = true, .steps = 20'000, .bytes = size_t{512} << 10};
  /// The kept events of a namespace that came since one was undecided, from the oldest undecided
  /// one on: their number and their bytes.
  size_t events = 10'000;
  size_t bytes = size_t{16} << 20;
};

class LateMatches {
 public:
  LateMatches(BatchState& batch, Instances& instances, StartInputs& starts, LateLimits limits)
      : batch_(batch), instances_(instances), starts_(starts), limits_(limits) {}

  /// Reads what is still to be decided from the store. Precondition: KeptEvents is loaded.
  Status load();

  /// What of the targets must be decided late: what is undecided, and starts that wait for an
  /// earlier event. Instances that wait for an earlier event get this one with it.
  LateMatchRecord late_of(const Targets& targets) const;
  /// Whether no further event of the namespace may be kept for late matches.
  bool is_full(NamespaceNumber ns) const;
  /// Counts a refused event, and returns why it is refused.
  Error refuse(NamespaceNumber ns);

  /// To be called for each new kept event of a namespace: counts the event for is_full(), and, if
  /// `targets` is not empty, notes that it is to be decided for these.
  Status kept(NamespaceNumber ns, LateMatchRecord targets);
  /// To be called after kept() for starts that match the new kept event and that the unit of work
  /// had no time for; `is_refused`: a quota has already made the event a dead letter.
  Status add_starts(NamespaceNumber ns, const std::vector<WorkflowNumber>& starts, bool is_refused);
  /// Takes over the searches of BatchState::unfinished.
  Status take_over();

  /// To be called at the begin of each batch: it does at most one portion of each lane.
  void begin_batch() { went_on_.clear(); }

  /// The lanes that have undecided matches: a namespace as a whole is one lane.
  std::vector<WorkLane> lanes() const;
  /// Whether the lane has undecided matches, and this batch may still do a portion of it.
  bool may_go_on(const WorkLane& lane) const {
    return lane.workflow == WorkflowNumber(0) && lanes_.contains(lane.ns) &&
           !went_on_.contains(lane.ns);
  }
  /// Does one portion of the lane. The portion also ends when `work` is spent, if it is set.
  /// Precondition: may_go_on().
  Status go_on(TimePoint now, const WorkLane& lane, const WorkBudget* work = nullptr);
  bool empty() const { return lanes_.empty(); }

 private:
  /// A kept event that is to be decided.
  struct Late {
    LateMatchRecord left;  ///< without the starts that were decided
    size_t done = 0;       ///< how many of `left.instances` were decided
    /// A quota has made the event a dead letter, as far as this process knows.
    bool is_refused = false;
  };
  struct LateLane {
    std::map<uint64_t, Late> events;  ///< by number
    /// The events whose rows lack instances that have gone on to them from the first event. The row
    /// of the first event names these instances.
    std::set<uint64_t> unwritten;
    /// Number and size of each kept event of the namespace that came since the lane exists, from
    /// the first of `events` on. An instance may have to search through older ones: these were kept
    /// for it before, and do not count.
    std::deque<std::pair<uint64_t, size_t>> kept;
    size_t bytes = 0;  ///< of all of `kept`
  };

  void count(NamespaceNumber ns, LateLane& lane, uint64_t from);
  Result<Late*> hold(NamespaceNumber ns, uint64_t number, const HeldTypes& types);
  HeldTypes types_of(const std::vector<InstanceId>& instances) const;
  Result<bool> decide_start(TimePoint now, uint64_t number, Late& late, MatchBudget& budget);
  Result<bool> decide_entries(uint64_t number, const Event& event, StartTarget& target,
                              MatchBudget& budget);
  Result<bool> start(TimePoint now, uint64_t number, const HeldEvent& held, Late& late,
                     const StartTarget& target);
  Status arm_lifespans(WorkflowNumber workflow);
  Result<bool> decide_instance(TimePoint now, NamespaceNumber ns, uint64_t number, Late& late,
                               MatchBudget& budget);
  Result<std::optional<KeptEventSearch>> look_at(TimePoint now, NamespaceNumber ns,
                                                 const InstanceId& id, uint64_t number,
                                                 MatchBudget& budget);
  Status go_on_at(NamespaceNumber ns, uint64_t number, const InstanceId& id, uint64_t current);
  void end_first(LateLane& lane);

  BatchState& batch_;
  Instances& instances_;
  StartInputs& starts_;
  LateLimits limits_;
  std::map<NamespaceNumber, LateLane> lanes_;
  std::set<NamespaceNumber> went_on_;  ///< the lanes of which this batch has done a portion
};

}  // namespace millrace
