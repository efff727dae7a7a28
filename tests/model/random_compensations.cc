#include "tests/model/random_compensations.h"

#include <utility>

#include "tests/model/random_definition.h"

namespace millrace::reference {

namespace {

Retry random_policy_of_calls(Random& r) {
  Retry p(
      r.of({Vocabulary::kDirektiv, Vocabulary::kSteep, Vocabulary::kTemporal, Vocabulary::kZart}));
  p.attempts = p.vocabulary == Vocabulary::kDirektiv ? r.of({1, 2}) : r.of({1, 2, 3});
  p.delay = r.of<Ms>({500, 1000, 2000});
  if (p.vocabulary != Vocabulary::kZart && r.chance(40)) p.factor = r.of({1.0, 2.0});
  if (p.vocabulary == Vocabulary::kDirektiv) p.codes = {r.text({"*", "busy"})};
  if (p.vocabulary == Vocabulary::kTemporal && r.chance(30)) p.codes = {"gone"};
  return p;
}

// None of them cancels the instance.
std::vector<Timeout> random_timeouts_of_calls(Random& r) {
  const auto one = [&](const char* key) { return Timeout{.key = key, .time = time_of_step(r)}; };
  switch (r.below(4)) {
    case 0:
      return {one("startToCloseTimeout")};
    case 1: {
      std::vector<Timeout> all = {one("startToCloseTimeout"), one("heartbeatTimeout")};
      all[1].time /= 2;
      return all;
    }
    case 2:
      return {one("scheduleToCloseTimeout")};
    default:
      return {one("timeout")};
  }
}

Action random_call(Random& r, const char* function, int policies, int timeouts) {
  Action a{.function = function, .retry = {}, .timeouts = {}};
  if (r.chance(timeouts)) a.timeouts = random_timeouts_of_calls(r);
  // A Temporal key without a policy has Temporal's default, whose attempts have no limit.
  if (!a.timeouts.empty() || r.chance(policies)) a.retry = random_policy_of_calls(r);
  return a;
}

State random_step_to_undo(Random& r, const char* id, Kind kind) {
  State s;
  s.id = id, s.kind = kind;
  const bool calls = kind == Kind::kAction || kind == Kind::kForeach || kind == Kind::kParallel;
  if (calls) s.actions = {random_call(r, "f", 25, 15)};
  if (kind == Kind::kParallel) {
    s.actions.push_back(random_call(r, "g", 25, 15));
    s.any = r.chance(30);
  }
  if (kind == Kind::kDelay) s.duration = time_of_step(r);
  if (kind == Kind::kWait && r.chance(60)) s.timeout = time_of_step(r);
  if (r.chance(75)) s.undo = random_call(r, "u", 55, 35);
  return s;
}

void add_limit(Random& r, Definition& d) {
  switch (r.below(10)) {
    case 0:
    case 1: {
      State rescue;
      rescue.id = "rescue", rescue.kind = r.of({Kind::kDelay, Kind::kAction, Kind::kNoop});
      if (rescue.kind == Kind::kDelay) rescue.duration = time_of_step(r);
      if (rescue.kind == Kind::kAction) rescue.actions = {random_call(r, "g", 0, 0)};
      d.timeout = 3 * time_of_step(r);
      d.on_failure = "rescue";
      d.on_failure_compensates = r.chance(60);
      d.states.push_back(rescue);
      break;
    }
    case 2:
      d.execution = 3 * time_of_step(r);
      break;
    case 3:
      d.run = 2 * time_of_step(r);
      break;
    case 4:
      d.interrupt = 2 * time_of_step(r);
      if (r.chance(50)) d.kill = *d.interrupt + time_of_step(r);
      break;
    case 5:
      d.kill = 2 * time_of_step(r);
      break;
    default:
      break;
  }
}

// An Error state to which the others lead by their entries of `catch`.
void add_error_state(Random& r, Definition& d) {
  State stop;
  stop.id = "stop", stop.kind = Kind::kError;
  stop.error_code = "order.failed";
  stop.compensates = r.chance(60);
  for (State& s : d.states)
    if (r.chance(60)) s.catches.push_back({r.text({"*", "busy", "direktiv.*"}), "stop"});
  if (r.chance(30)) {
    stop.to = "tidy";
    State tidy;
    tidy.id = "tidy", tidy.kind = Kind::kAction;
    tidy.actions = {random_call(r, "g", 0, 0)};
    if (r.chance(50)) tidy.undo = random_call(r, "u", 30, 0);
    d.states.push_back(stop);
    d.states.push_back(tidy);
  } else {
    d.states.push_back(stop);
  }
}

}  // namespace

Definition random_definition_of_compensations(Random& r) {
  Definition d;
  for (const char* id : {"f", "g", "u"})
    d.functions.push_back({.id = id, .retry = {}, .timeouts = {}});
  State a = random_step_to_undo(
      r, "a", r.of({Kind::kAction, Kind::kAction, Kind::kForeach, Kind::kParallel, Kind::kDelay}));
  State b = random_step_to_undo(
      r, "b", r.of({Kind::kAction, Kind::kAction, Kind::kForeach, Kind::kWait, Kind::kNoop}));
  State c = random_step_to_undo(r, "c", r.of({Kind::kAction, Kind::kAction, Kind::kWait}));
  const bool returns = a.kind == Kind::kAction && b.kind != Kind::kForeach;
  if (returns && b.kind == Kind::kNoop && r.chance(30)) b.check = ".return.bad";
  a.to = "b", b.to = "c";
  d.states = {a, b, c};
  if (returns && r.chance(25)) {
    State more;
    more.id = "more", more.kind = Kind::kBranch;
    more.condition = ".return.again", more.branch_to = "a";
    d.states.back().to = "more";
    d.states.push_back(more);
  }
  d.compensates = r.chance(60);
  if (r.chance(45)) add_error_state(r, d);
  add_limit(r, d);
  if (r.chance(20)) {
    d.retry = Retry(r.of({Vocabulary::kZart, Vocabulary::kSteep}));
    d.retry->attempts = 2;
    d.retry->delay = r.of<Ms>({1000, 2000});
  }
  return d;
}

void add_undoing(Random& r, Step& step) {
  const bool starts_again =
      step.kind == Step::Kind::kCommand &&
      (step.verb == Verb::kRetry || step.verb == Verb::kRerun || step.verb == Verb::kRetryExtend);
  if (starts_again && r.chance(60)) {
    step.verb = r.of({Verb::kCompensate, Verb::kCompensatePast});
  } else if (r.chance(4)) {
    step = Step{.kind = Step::Kind::kCommand, .verb = Verb::kCancel};
  }
}

}  // namespace millrace::reference
