#include "tests/model/random_case.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "tests/model/control_model.h"
#include "tests/model/play.h"
#include "tests/model/random_callbacks.h"
#include "tests/model/random_compensations.h"
#include "tests/model/random_definition.h"
#include "tests/model/random_values.h"

namespace millrace::reference {

namespace {

Outcome random_outcome(Random& r, bool ok) {
  Outcome o;
  o.ok = ok;
  if (ok) {
    o.result = {{"k", r.below(100)}};
    if (r.chance(40)) o.result["again"] = true;
    if (r.chance(15)) o.result["bad"] = true;
  } else {
    o.code = r.text({"busy", "busy", "gone"});
    o.message = "it is " + o.code;
  }
  return o;
}

// A step that has an effect on the model as it is now.
Step random_step(Random& r, Model& m) {
  using K = Step::Kind;
  std::vector<std::pair<Step, int>> all;
  const auto add = [&](int weight, K kind) -> Step& {
    all.push_back({Step{}, weight});
    all.back().first.kind = kind;
    all.back().first.pick = r.below(4);
    return all.back().first;
  };
  const auto command = [&](int weight, Verb verb) { add(weight, K::kCommand).verb = verb; };
  const auto answer = [&](int weight, K kind, bool ok) {
    add(weight, kind).outcome = random_outcome(r, ok);
  };

  bool open = false, taken = false;
  for (const TaskView& t : m.tasks()) (t.taken ? taken : open) = true;
  if (!m.moments().empty()) {
    Step& near = add(m.dead() ? 70 : m.away() ? 40 : 25, K::kAdvanceNear);
    near.ms = r.of<Ms>({-1, 0, 0, 1, 1});
    near.pick = r.of({0, 0, 0, 1, 2, 3});
  }
  add(8, K::kAdvance).ms = r.chance(50) ? time_of_step(r) : 1 + r.below(700);
  if (m.dead()) {
    add(50, K::kStartProcess);
  } else if (m.away()) {
    add(40, K::kBrokerBack);
    add(4, K::kKill);
    command(3, Verb::kPause), command(3, Verb::kResume), command(4, Verb::kRetry),
        command(2, Verb::kCancel);
    answer(6, K::kAnswerLate, r.chance(70));
    if (open && !m.paused()) add(25, K::kTake);
    if (taken) answer(12, K::kAnswer, true), answer(14, K::kAnswer, false), add(8, K::kHeartbeat);
  } else {
    add(6, K::kKill);
    add(4, K::kBrokerAway);
    answer(8, K::kAnswerLate, r.chance(70));
    if (m.ended()) {
      command(25, Verb::kRetry), command(15, Verb::kRetryExtend), command(10, Verb::kRestart);
      command(15, Verb::kRerun), command(3, Verb::kCancel), command(3, Verb::kPause);
      command(6, Verb::kPauseWorkflow), command(6, Verb::kResumeWorkflow);
    } else if (m.paused()) {
      command(20, Verb::kResume), command(20, Verb::kResumeWorkflow), command(4, Verb::kCancel);
      command(2, Verb::kRetry);
      if (taken) answer(6, K::kAnswer, true), answer(10, K::kAnswer, false), add(5, K::kHeartbeat);
      if (m.waits_for_event()) answer(12, K::kEvent, true);
    } else {
      command(taken ? 9 : 5, Verb::kPause), command(3, Verb::kPauseWorkflow),
          command(2, Verb::kCancel);
      command(1, Verb::kRetry), command(1, Verb::kRetryExtend);
      if (open) add(45, K::kTake);
      if (taken)
        answer(18, K::kAnswer, true), answer(26, K::kAnswer, false), add(14, K::kHeartbeat);
      answer(m.waits_for_event() ? 15 : 2, K::kEvent, true);
    }
  }
  int total = 0;
  for (const auto& [step, weight] : all) total += weight;
  int at = r.below(total);
  for (auto& [step, weight] : all) {
    if ((at -= weight) >= 0) continue;
    step.then_killed = r.chance(5);
    return step;
  }
  return all.back().first;
}

// Sequences of steps that random steps rarely form.
std::vector<Step> random_sequence(Random& r) {
  using K = Step::Kind;
  const auto plain = [](K kind) {
    Step s;
    s.kind = kind;
    return s;
  };
  const auto near = [&](Ms offset) {
    Step s = plain(K::kAdvanceNear);
    s.ms = offset;
    return s;
  };
  const auto command = [&](Verb verb) {
    Step s = plain(K::kCommand);
    s.verb = verb;
    s.pick = r.below(4);
    return s;
  };
  const auto answer = [&](K kind, bool ok) {
    Step s = plain(kind);
    s.outcome = random_outcome(r, ok);
    return s;
  };
  Step moment = plain(K::kAdvance);
  moment.ms = 1 + r.below(1500);
  switch (r.below(8)) {
    case 0:  // a pause over a running action
      return {plain(K::kTake), command(Verb::kPause), moment, command(Verb::kResume), near(0),
              near(0)};
    case 1:  // a deadline passes while the process is dead
      return {plain(K::kTake), plain(K::kKill), near(r.of<Ms>({0, 1})), plain(K::kStartProcess),
              near(0)};
    case 2:  // an answer at and after its deadline
      return {plain(K::kTake), near(0), answer(K::kAnswerLate, true), near(0)};
    case 3:  // an answer twice
      return {plain(K::kTake), answer(K::kAnswer, false), answer(K::kAnswerLate, true), near(0)};
    case 4:  // a wait before a retry while the process is dead
      return {plain(K::kTake), answer(K::kAnswer, false), plain(K::kKill),
              moment,          plain(K::kStartProcess),   near(0)};
    case 5:  // a failure, and a retry while the workflow is paused
      return {near(0),
              near(0),
              near(0),
              near(0),
              command(Verb::kPauseWorkflow),
              command(Verb::kRetry),
              near(0),
              command(Verb::kResumeWorkflow),
              near(0)};
    case 6: {  // a failure and a retry, perhaps in several runs
      const Verb verb = r.of({Verb::kRetry, Verb::kRetryExtend, Verb::kRestart, Verb::kRerun});
      std::vector<Step> steps = {near(0), near(0), near(0), near(0), command(verb)};
      for (int runs = r.of({1, 1, 2}); runs > 0; runs--)
        for (const Step& step : {plain(K::kTake), answer(K::kAnswer, false), near(0), near(0)})
          steps.push_back(step);
      return steps;
    }
    default:  // several entries of a loop, and then a failure
      Step again = answer(K::kAnswer, true);
      again.outcome.result["again"] = true;
      Step event = answer(K::kEvent, true);
      event.outcome.result["again"] = true;
      return {plain(K::kTake), again, event,           plain(K::kTake),
              again,           event, plain(K::kTake), answer(K::kAnswer, false)};
  }
}

// Failures, a retry by an operator, and failures until the next run.
std::vector<Step> random_sequence_of_runs(Random& r) {
  using K = Step::Kind;
  const auto add = [](std::vector<Step>& steps, K kind) -> Step& {
    steps.push_back({.kind = kind});
    return steps.back();
  };
  std::vector<Step> steps;
  for (int i = r.of({1, 1, 3, 5}); i > 0; i--) add(steps, K::kAdvanceNear);
  add(steps, K::kCommand).verb = Verb::kRetry;
  for (int i = r.of({3, 3, 4, 5}); i > 0; i--) {
    add(steps, K::kTake);
    add(steps, K::kAnswer).outcome = random_outcome(r, false);
    add(steps, K::kAdvanceNear);
  }
  add(steps, K::kTake);
  for (int i = 0; i < 3; i++) add(steps, K::kAdvanceNear);
  return steps;
}

// Adds steps to the case, which has a definition. `sequence`: the first steps, the last one first.
// `prepare` may change each step.
void add_steps(Random& r, Case& c, std::vector<Step> sequence,
               const std::function<void(Step&)>& prepare) {
  c.input = {{"seen", Json::array()}, {"items", {1, 2}}};
  const int wanted = 6 + r.below(24) + static_cast<int>(sequence.size());
  Model model;
  auto player = std::make_unique<Player>(c, model, nullptr);
  for (int tries = 0; tries < 3 * wanted && static_cast<int>(c.steps.size()) < wanted; tries++) {
    if (sequence.empty() && r.chance(12)) {
      sequence = random_sequence(r);
      std::reverse(sequence.begin(), sequence.end());
    }
    Step step = sequence.empty() ? random_step(r, model) : sequence.back();
    if (!sequence.empty()) sequence.pop_back();
    prepare(step);
    const size_t before = player->played().trace.size();
    if (player->step(step)) {
      if (player->played().trace.size() != before) c.steps.push_back(step);
      continue;
    }
    // The documents leave the result of this step open, so the case is played again without this
    // step.
    player.reset();
    model = Model();
    player = std::make_unique<Player>(c, model, nullptr);
    for (const Step& s : c.steps)
      if (!player->step(s)) break;
    if (!model.undecided().empty()) break;
  }
}

}  // namespace

Case make_case(uint64_t seed) {
  Random r(seed);
  Case c;
  c.seed = seed;
  const bool of_runs = seed % 8 == 5;  // combinations that are rare otherwise
  do c.definition = of_runs ? random_definition_of_runs(r) : random_definition(r);
  while (!valid(c.definition));
  std::vector<Step> sequence;
  if (of_runs) sequence = random_sequence_of_runs(r);
  std::reverse(sequence.begin(), sequence.end());
  add_steps(r, c, std::move(sequence), [](Step&) {});
  return c;
}

Case make_case_of_values(uint64_t seed) {
  Random r(~seed);
  Case c;
  c.seed = seed;
  c.definition = random_definition_of_values(r);
  add_steps(r, c, {}, [&r](Step& step) {
    using K = Step::Kind;
    if (step.kind == K::kAnswer || step.kind == K::kAnswerLate || step.kind == K::kEvent)
      add_values(r, step.outcome);
  });
  return c;
}

Case make_case_of_compensations(uint64_t seed) {
  Random r(seed ^ (uint64_t{1} << 63));
  Case c;
  c.seed = seed;
  c.definition = random_definition_of_compensations(r);
  add_steps(r, c, {}, [&r](Step& step) { add_undoing(r, step); });
  return c;
}

Case make_case_of_callbacks(uint64_t seed) {
  Random r(seed ^ (uint64_t{1} << 62));
  Case c;
  c.seed = seed;
  do {
    c.definition = random_definition(r);
    add_heartbeats(r, c.definition);
  } while (!valid(c.definition));
  add_steps(r, c, {}, [&r](Step& step) { add_callback(r, step); });
  return c;
}

}  // namespace millrace::reference
