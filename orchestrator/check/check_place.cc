// Checks of the place of an instance: its namespace, its workflow and revision, and the states of
// the revision that it refers to.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/check/checker.h"
#include "orchestrator/check/walked.h"
#include "orchestrator/engine/runs.h"
#include "states/state.h"

namespace millrace {

/// Checks the states that the head refers to, by number and by name.
void Checker::check_place_in_workflow(const Walked& one, const Workflow& workflow) {
  const std::string key = one.key(Part::kHead);
  const Instance& head = *one.head;
  const auto wrong = [&](std::string found) {
    add(StoreFault::kInstanceState, {one.table, key}, std::move(found));
  };
  size_t most_exits = 0;
  bool has_failed_state = head.failed_state.empty();
  for (const auto& state : workflow.states) {
    const StateCommon& common = state->common();
    const bool continues =
        std::any_of(common.catches.begin(), common.catches.end(),
                    [](const Catch& entry) { return entry.continue_as_new.has_value(); });
    most_exits = std::max(most_exits, continues ? common.ways_out() : common.exits.size());
    has_failed_state |= state->common().id == head.failed_state;
  }
  if (head.state >= workflow.states.size()) {
    return wrong(fmt::format("the instance is in state {}, but its revision has {} states",
                             head.state, workflow.states.size()));
  }
  const bool leaves = head.phase == Phase::kLeaving && !head.compensating;
  const StateCommon& left = workflow.states[head.state]->common();
  const bool is_way =
      leaves ? left.is_way_out(head.exit) : head.exit < std::max<size_t>(most_exits, 1);
  if (!is_way) {
    wrong(fmt::format(
        "the instance {} its state by exit {} (counted from 0), but the number of exits is {}",
        leaves ? "leaves" : "entered", head.exit,
        leaves ? left.exits.size() : std::max<size_t>(most_exits, 1)));
  }
  if (!has_failed_state) {
    wrong(fmt::format("the failed state is \"{}\", but the revision has no state of that name",
                      head.failed_state));
  }
  const WorkflowTimeouts& timeouts = workflow.timeouts;
  const bool may_clean_up =
      timeouts.on_failure && (timeouts.on_any_failure || execution_deadline(workflow, head));
  if (one.table == Table::kLive && head.failing && !may_clean_up && !head.compensating) {
    add(StoreFault::kInstanceStatus, {one.table, key},
        "the flag `failing` (2) says that the instance runs `on_failure`, but its definition has "
        "no such state");
  }
}

/// Checks the namespace, workflow, revision and times of a head.
void Checker::check_place(const Walked& one) {
  const std::string key = one.key(Part::kHead);
  const Place place{one.table, key};
  const Instance& head = *one.head;
  const Revision revision = head.revision;
  const auto number = static_cast<uint32_t>(revision.workflow);
  homes_.emplace(revision.workflow, one.ns);
  note_given(Counter::kWorkflow, number, place);
  note_given(Counter::kKeptEvents, head.listen_from.kept, place);
  check_position(head.listen_from.event, place);
  check_position({.stream = head.consumed.stream}, place);
  check_time(head.started_at, place, "the start of the instance");
  check_time(head.execution_from, place, "the start of the execution");
  check_time(head.runs_from, place, "the scheduled time of the run from which its retries count");
  check_time(head.state_from, place, "the entry into the state");
  if (head.ended_at) check_time(*head.ended_at, place, "the end of the instance");
  const bool has_ns = check_namespace(one.ns, place);
  const auto workflow = workflows_.find(revision.workflow);
  if (workflow == workflows_.end()) {
    // An ended instance may still exist after its workflow was deleted.
    if (one.table == Table::kLive && has_ns) {
      add(StoreFault::kWorkflowMissing, place,
          fmt::format("no workflow has the number {}", number));
    }
  } else if (workflow->second.ns != one.ns) {
    add(StoreFault::kInstanceKey, place,
        fmt::format("the workflow {} of the instance belongs to namespace {}", workflow->second.id,
                    name_of(workflow->second.ns)));
  }
  if (const auto retired = retired_.find(revision.workflow);
      retired != retired_.end() && retired->second != one.ns) {
    add(StoreFault::kInstanceKey, place,
        fmt::format("the deleted workflow {} of the instance belonged to namespace {}", number,
                    name_of(retired->second)));
  }
  if (!has_definition(revision)) {
    add(StoreFault::kDefinitionMissing, place,
        fmt::format("revision {} of workflow {} does not exist", revision.number, number));
  }
  if (one.table == Table::kLive && view_.get(Table::kEnded, key)) {
    add(StoreFault::kInstanceTwice, place, "an ended instance has this id, too");
  }
}

}  // namespace millrace
