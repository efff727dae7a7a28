#include "orchestrator/loop/after_commit.h"

#include <utility>
#include <variant>

#include "os/crash_point.h"

namespace millrace {
namespace {

/// One overload for each action, so that a new action without an overload does not compile.
struct Perform {
  const AfterCommitParts& parts;
  FollowingTurns& next;

  void operator()(NumberedMessage& message) const {
    parts.outbox.committed(std::move(message), parts.sends);
  }
  void operator()(StartTask& task) const { parts.tasks.hand_out(task); }
  void operator()(StopTask& task) const { parts.tasks.stop(task.task); }
  void operator()(EndedTask& task) const { parts.tasks.forget(task.task); }
  void operator()(AdmittedTask& task) const { parts.tasks.hand_out_later(task.task); }
  void operator()(AcceptedTask& task) const { parts.tasks.accepted(task.task); }
  void operator()(StoredReport& report) const {
    crash_point(CrashPoint::kReportStored);
    report.stored();
  }
  void operator()(Evaluate& asked) const {
    crash_point(CrashPoint::kEvaluating);
    const size_t bytes = input_bytes(asked.evaluation);
    next.evaluations += EvaluationLoad{.count = 1, .bytes = bytes};
    const WorkflowNumber workflow{static_cast<uint32_t>(asked.evaluation.lane)};
    const TimePoint asked_at = asked.evaluation.now;
    asked.evaluation.stop = parts.evaluations.add(asked.instance, asked.step);
    parts.evaluate(std::move(asked.evaluation),
                   [&intake = parts.intake, ns = asked.ns, id = asked.instance, step = asked.step,
                    results = std::move(asked.before), workflow, bytes,
                    asked_at](EvaluationResult result) mutable {
                     results.push_back(std::move(result));
                     intake.put(EvaluatedInput{.ns = ns,
                                               .instance = id,
                                               .step = step,
                                               .results = std::move(results),
                                               .workflow = workflow,
                                               .bytes = bytes,
                                               .asked_at = asked_at});
                   });
    crash_point(CrashPoint::kEvaluationAsked);
  }
  void operator()(LookBack& asked) const {
    crash_point(CrashPoint::kEvaluating);
    EvaluatedInput input{.ns = asked.ns,
                         .instance = asked.instance,
                         .step = asked.step,
                         .results = std::move(asked.before),
                         .workflow = asked.workflow,
                         .asked_at = asked.asked_at};
    const bool is_started = parts.look_backs.ask(
        std::move(asked),
        [&intake = parts.intake, input = std::move(input)](EarlyEvents found) mutable {
          input.early = std::move(found);
          intake.put(std::move(input));
        });
    if (is_started) next.evaluations += EvaluationLoad{.count = 1};
    crash_point(CrashPoint::kEvaluationAsked);
  }
  void operator()(EvaluatedInput& left) const {
    next.evaluations += EvaluationLoad{.count = 1};
    parts.intake.put(std::move(left));
  }
  void operator()(ArchivePage& page) const {
    parts.archive(std::move(page), [&intake = parts.intake](ArchivedPage archived) {
      intake.put(std::move(archived));
    });
  }
  void operator()(Answer& answer) const {
    parts.intake.answer(answer.request, std::move(answer.result));
  }
  void operator()(InstanceEnd& end) const {
    parts.evaluations.stop(end.instance);
    parts.end_waiters.on_end(end.instance);
  }
  void operator()(ShowChange& show) const { show.ring->put(show.change); }
  void operator()(ContinueInput& input) const { next.continues.push_back(input); }
  void operator()(CommandInput& rest) const { next.commands.push_back(std::move(rest)); }
};

}  // namespace

FollowingTurns perform(const AfterCommitParts& parts, std::vector<AfterCommit> actions) {
  FollowingTurns next;
  for (AfterCommit& action : actions) std::visit(Perform{parts, next}, action);
  parts.look_backs.release(next.continues);
  return next;
}

}  // namespace millrace
