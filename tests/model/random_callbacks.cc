#include "tests/model/random_callbacks.h"

#include "tests/model/random_definition.h"

namespace millrace::reference {

void add_heartbeats(Random& r, Definition& d) {
  for (State& s : d.states)
    for (Action& a : s.actions) {
      const Function* const function = d.function(a.function);
      // Timeouts of two vocabularies on one action and its function are refused.
      const bool has_none = a.timeouts.empty() && function != nullptr && function->timeouts.empty();
      if (!has_none || r.chance(40)) continue;
      a.timeouts = {{.key = "startToCloseTimeout", .time = 10'000 + time_of_step(r)},
                    {.key = "heartbeatTimeout", .time = time_of_step(r)}};
    }
}

void add_callback(Random& r, Step& step) {
  using K = Step::Kind;
  const auto beat = [&] {
    step.callback.is_heartbeat = true;
    if (r.chance(60)) step.callback.progress = Json{{"line", r.below(100)}};
  };
  switch (step.kind) {
    case K::kTake:
      if (r.chance(60)) step.kind = K::kAccept;
      break;
    case K::kHeartbeat:
      if (r.chance(20)) break;
      step.kind = K::kCallBack;
      beat();
      break;
    case K::kAnswer:
      if (r.chance(20)) break;
      step.kind = K::kCallBack;
      step.callback.outcome = step.outcome;
      if (r.chance(20)) beat();
      step.callback.by_operator = !step.callback.is_heartbeat && r.chance(20);
      break;
    case K::kAnswerLate:
      if (r.chance(20)) break;
      step.kind = K::kCallBackLate;
      step.callback.outcome = step.outcome;
      step.repeats = r.chance(50);
      if (!step.repeats && r.chance(25)) beat();
      step.callback.by_operator = !step.callback.is_heartbeat && r.chance(15);
      break;
    default:
      break;
  }
}

}  // namespace millrace::reference
