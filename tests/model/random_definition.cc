#include "tests/model/random_definition.h"

#include <algorithm>
#include <set>

#include "tests/model/policies.h"

namespace millrace::reference {

Ms time_of_step(Random& r) {
  return r.of<Ms>({1000, 2000, 3000, 5000, 8000, 13000, 20000}) + r.below(900);
}

namespace {

Retry random_policy(Random& r, bool jitter) {
  const auto all = {Vocabulary::kDirektiv, Vocabulary::kSteep, Vocabulary::kTemporal,
                    Vocabulary::kZart, Vocabulary::kStevora};
  Retry p(r.of(all));
  if (p.vocabulary == Vocabulary::kStevora && !jitter) p.vocabulary = Vocabulary::kSteep;
  p.delay = r.of<Ms>({500, 1000, 2000, 4000});
  if (r.chance(15)) p.delay.reset();
  if (r.chance(50)) p.factor = r.of({1.0, 2.0, 3.0});
  if (r.chance(25)) p.max_delay = r.of<Ms>({1500, 3000, 6000});
  switch (p.vocabulary) {
    case Vocabulary::kDirektiv:
      p.attempts = r.of({1, 1, 2});
      p.max_delay.reset();
      switch (r.below(5)) {
        case 0:
          p.codes = {"busy"};
          break;
        case 1:
          p.codes = {"^b", "timeout"};
          break;
        case 2:
          p.codes = {"(?:gone|stateTimeout)$"};
          break;
        default:
          p.codes = {"*"};
      }
      break;
    case Vocabulary::kSteep:
      p.attempts = r.of({2, 2, 3, 4, -1, 1, 0});
      break;
    case Vocabulary::kTemporal:
      p.attempts = r.of({2, 2, 3, 0, 1});
      if (r.chance(20)) p.attempts.reset();
      if (r.chance(40)) p.codes = {r.text({"gone", "busy", "millrace.timeout.startToClose"})};
      break;
    case Vocabulary::kStevora:
      p.attempts = r.of({2, 3, 2, 1});
      if (r.chance(20)) p.attempts.reset();
      break;
    case Vocabulary::kZart:
      p.attempts = r.of({2, 3, 2, 1});
      if (!p.delay) p.delay = 1000;
      p.factor.reset(), p.max_delay.reset();
      break;
  }
  return p;
}

std::vector<Timeout> random_timeouts(Random& r) {
  std::vector<Timeout> all;
  const auto add = [&](const char* key) {
    all.push_back({.key = key, .time = time_of_step(r)});
    return &all.back();
  };
  switch (r.below(3)) {
    case 0:
      if (r.chance(25)) add("scheduleToStartTimeout");
      if (r.chance(65)) add("startToCloseTimeout");
      if (all.empty() || all.back().key != "startToCloseTimeout" || r.chance(30))
        add("scheduleToCloseTimeout");
      if (r.chance(55)) add("heartbeatTimeout")->time /= 2;
      break;
    case 1:
      for (const char* key : {"maxInactivity", "maxRuntime", "deadline"})
        if (r.chance(50)) add(key)->error_on_timeout = r.chance(75);
      for (Timeout& t : all)
        if (t.key == "maxInactivity") t.time /= 2;
      break;
    default:
      add("timeout")->per_attempt = r.chance(40);
  }
  return all;
}

Action random_action(Random& r, const Definition& d, bool jitter) {
  Action a{.function = r.text({"f", "g"}), .retry = {}, .timeouts = {}};
  if (r.chance(55)) a.retry = random_policy(r, jitter);
  if (d.function(a.function)->timeouts.empty() && r.chance(55)) a.timeouts = random_timeouts(r);
  return a;
}

/// The parts of a definition on which its states depend.
struct Shape {
  int count = 0;         // the number of states, without states for catches
  bool handler = false;  // whether there is a state "clean" for catches
  bool loop = false;     // whether the last state may lead back
};

void add_catches(Random& r, State& s, bool check, bool handler) {
  const int entries = r.of({1, 1, 2});
  for (int k = 0; k < entries; k++)
    s.catches.push_back(
        {r.text({"*", "*", "busy", "millrace.timeout.*", "direktiv.*", "b?sy",
                 "direktiv.retries.exceeded", "direktiv.stateTimeout", "direktiv.cancels.timeout"}),
         handler && r.chance(80) ? "clean" : s.to});
  // A state with a check fails at once, so its catch must not lead back to the state.
  if (check)
    for (Catch& c : s.catches) c.to = handler ? "clean" : "";
}

State random_state(Random& r, const Definition& d, int i, const Shape& shape) {
  State s;
  s.id = std::string(1, static_cast<char>('a' + i));
  s.kind = r.of({Kind::kAction, Kind::kAction, Kind::kAction, Kind::kAction, Kind::kWait,
                 Kind::kWait, Kind::kDelay, Kind::kParallel, Kind::kForeach, Kind::kNoop});
  if (i == 0 && s.kind == Kind::kNoop) s.kind = Kind::kAction;
  const bool several = s.kind == Kind::kParallel || s.kind == Kind::kForeach;
  if (s.kind == Kind::kAction || s.kind == Kind::kForeach)
    s.actions = {random_action(r, d, !several)};
  if (s.kind == Kind::kParallel) {
    s.actions = {random_action(r, d, false), random_action(r, d, false)};
    s.any = r.chance(40);
  }
  if (s.kind == Kind::kDelay) s.duration = time_of_step(r);
  if (s.kind == Kind::kWait ? r.chance(75) : !s.actions.empty() && r.chance(15))
    s.timeout = time_of_step(r);
  if ((s.kind == Kind::kWait && s.timeout && r.chance(60)) || (!s.actions.empty() && r.chance(12)))
    s.retry = random_policy(r, s.kind == Kind::kWait || s.kind == Kind::kAction);
  if (s.kind == Kind::kWait && s.retry && s.retry->vocabulary == Vocabulary::kSteep &&
      *s.retry->attempts == 0)
    s.retry->attempts = 2;  // the documents leave the effect of a skipped wait open
  if (i + 1 < shape.count)
    s.to = std::string(1, static_cast<char>('a' + i + 1));
  else if (shape.loop)
    s.to = "more";
  const bool check = (s.kind == Kind::kAction || s.kind == Kind::kNoop) && r.chance(20);
  if (check) s.check = "?";
  if (r.chance(shape.handler ? 65 : 15)) add_catches(r, s, check, shape.handler);
  return s;
}

// Leads back to a state that needs time or a worker, so that the loop does not spin.
void add_loop(Random& r, Definition& d, bool returns) {
  State s;
  s.id = "more";
  s.kind = Kind::kBranch;
  s.condition = returns ? ".return.again" : ".go.again";
  for (const State& back : d.states) {
    const bool skips = !back.actions.empty() &&
                       std::all_of(back.actions.begin(), back.actions.end(), [&](const Action& a) {
                         const auto p = policy_of(d, back, a);
                         return p && p->attempts == 0;
                       });
    if (back.kind != Kind::kNoop && !skips && (s.branch_to.empty() || r.chance(30)))
      s.branch_to = back.id;
  }
  if (s.branch_to.empty())
    d.states.back().to = "";
  else
    d.states.push_back(s);
  for (State& s2 : d.states)
    for (Catch& c : s2.catches)
      if (!d.find(c.to) && c.to == "more") c.to = "";
}

void add_clean_up(Random& r, Definition& d) {
  State clean;
  clean.id = "clean";
  clean.kind =
      r.of({Kind::kAction, Kind::kAction, Kind::kAction, Kind::kError, Kind::kDelay, Kind::kNoop});
  if (clean.kind == Kind::kAction) clean.actions = {random_action(r, d, true)};
  if (clean.kind == Kind::kDelay) clean.duration = time_of_step(r);
  if (clean.kind == Kind::kError) clean.error_code = r.text({"cleanup.needed", "busy"});
  if (clean.kind == Kind::kError || r.chance(30)) {
    clean.to = "undo";
    State undo;
    undo.id = "undo";
    undo.kind = Kind::kAction;
    undo.actions = {random_action(r, d, true)};
    d.states.push_back(clean);
    d.states.push_back(undo);
  } else {
    d.states.push_back(clean);
  }
}

void add_timeouts(Random& r, Definition& d) {
  switch (r.below(13)) {
    case 0:
    case 1: {
      d.timeout = 3 * time_of_step(r);
      if (r.chance(70)) {
        State rescue;
        rescue.id = "rescue";
        rescue.kind = r.of({Kind::kAction, Kind::kAction, Kind::kNoop, Kind::kDelay});
        if (rescue.kind == Kind::kAction) rescue.actions = {random_action(r, d, true)};
        if (rescue.kind == Kind::kDelay) rescue.duration = time_of_step(r);
        d.on_failure = "rescue";
        d.states.push_back(rescue);
      }
      break;
    }
    case 2:
      d.execution = 3 * time_of_step(r);
      if (r.chance(50)) d.run = *d.execution / 2 + 7;
      break;
    case 3:
      d.run = 2 * time_of_step(r);
      break;
    case 4:
    case 5:
      d.interrupt = 2 * time_of_step(r);
      if (r.chance(50)) d.kill = *d.interrupt + time_of_step(r);
      break;
    case 6:
      d.kill = 2 * time_of_step(r);
      break;
    default:
      break;
  }
  // A wait for an event whose deadline is that of the execution.
  State& first = d.states.front();
  if (first.kind == Kind::kWait && first.timeout && r.chance(20)) {
    if (d.timeout) d.timeout = first.timeout;
    if (d.execution) d.execution = first.timeout, d.run.reset();
  }
}

}  // namespace

Definition random_definition(Random& r) {
  Definition d;
  for (const char* id : {"f", "g"}) {
    Function f{.id = id, .retry = {}, .timeouts = {}};
    if (r.chance(15)) f.retry = random_policy(r, false);
    if (r.chance(15)) f.timeouts = random_timeouts(r);
    d.functions.push_back(f);
  }

  Shape shape;
  shape.count = r.of({1, 2, 2, 3});
  shape.handler = r.chance(60);
  shape.loop = r.chance(30);
  bool many = false, acts = false;
  for (int i = 0; i < shape.count; i++) {
    d.states.push_back(random_state(r, d, i, shape));
    const Kind kind = d.states.back().kind;
    many |= kind == Kind::kParallel || kind == Kind::kForeach;
    acts |= kind == Kind::kAction;
  }
  const bool returns = acts && !many;
  for (State& s : d.states)
    if (!s.check.empty()) s.check = returns ? ".return.bad" : ".go.bad";
  if (shape.loop) add_loop(r, d, returns);
  if (shape.handler) add_clean_up(r, d);
  add_timeouts(r, d);
  if (r.chance(40)) {
    d.retry = random_policy(r, true);
    if (d.retry->vocabulary == Vocabulary::kSteep && *d.retry->attempts < 1) d.retry->attempts = 2;
  }
  if (r.chance(8)) {
    d.defaults =
        r.of({Vocabulary::kTemporal, Vocabulary::kStevora, Vocabulary::kSteep, Vocabulary::kZart});
    if (many && d.defaults == Vocabulary::kStevora) d.defaults = Vocabulary::kTemporal;
  }
  return d;
}

Definition random_definition_of_runs(Random& r) {
  Definition d;
  for (const char* id : {"f", "g"}) d.functions.push_back({.id = id, .retry = {}, .timeouts = {}});
  State s;
  s.id = "a", s.kind = Kind::kAction;
  Retry attempts = random_policy(r, true);
  attempts.attempts = r.of({2, 2, 3});
  if (attempts.vocabulary == Vocabulary::kDirektiv) attempts.codes = {"*"};
  Timeout all{.key = r.text({"timeout", "scheduleToCloseTimeout", "deadline"}),
              .time = time_of_step(r)};
  all.error_on_timeout = all.key == "deadline";
  s.actions = {{.function = "f", .retry = attempts, .timeouts = {all}}};
  d.states = {s};
  d.retry = random_policy(r, true);
  if (r.chance(60)) d.retry = Retry(Vocabulary::kZart);  // Zart's policy does not retry a timeout
  d.retry->attempts = r.of({2, 3, 3});
  if (!d.retry->delay) d.retry->delay = 1000;
  return d;
}

}  // namespace millrace::reference
