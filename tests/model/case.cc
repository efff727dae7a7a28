#include "tests/model/case.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "tests/model/control_model.h"
#include "tests/model/play.h"

namespace millrace::reference {

const State* Definition::find(const std::string& id) const {
  for (const State& s : states)
    if (s.id == id) return &s;
  return nullptr;
}

const Function* Definition::function(const std::string& id) const {
  for (const Function& f : functions)
    if (f.id == id) return &f;
  return nullptr;
}

// As YAML.

namespace {

std::string ms(Ms time) { return std::to_string(time) + "ms"; }

std::string number(double x) {
  std::ostringstream s;
  s << x;
  return s.str();
}

// The line for a policy. `vocabulary` stands where the keys alone leave it open.
std::string policy_line(const Retry& r) {
  std::string s;
  const auto add = [&s](const std::string& key, const std::string& value) {
    s += (s.empty() ? "" : ", ") + key + ": " + value;
  };
  const auto add_time = [&](const char* key, const std::optional<Ms>& t) {
    if (t) add(key, ms(*t));
  };
  const auto add_factor = [&](const char* key) {
    if (r.factor) add(key, number(*r.factor));
  };
  switch (r.vocabulary) {
    case Vocabulary::kZart:
      return "retry: fixed(" + std::to_string(r.attempts.value_or(1)) + ", " +
             ms(r.delay.value_or(0)) + ")\n";
    case Vocabulary::kDirektiv:
      add("max_attempts", std::to_string(r.attempts.value_or(0)));
      add_time("delay", r.delay);
      add_factor("multiplier");
      add("codes", Json(r.codes).dump());
      break;
    case Vocabulary::kSteep:
      if (r.attempts) add("maxAttempts", std::to_string(*r.attempts));
      add_time("delay", r.delay);
      add_factor("exponentialBackoff");
      add_time("maxDelay", r.max_delay);
      if (!r.factor && !r.max_delay) add("vocabulary", "steep");
      break;
    case Vocabulary::kTemporal:
      if (r.attempts) add("maximumAttempts", std::to_string(*r.attempts));
      add_time("initialInterval", r.delay);
      add_factor("backoffCoefficient");
      add_time("maximumInterval", r.max_delay);
      if (!r.codes.empty()) add("nonRetryableErrors", Json(r.codes).dump());
      if (s.empty()) add("vocabulary", "temporal");
      break;
    case Vocabulary::kStevora:  // bare numbers of milliseconds
      if (r.attempts) add("maxAttempts", std::to_string(*r.attempts));
      if (r.delay) add("backoffMs", std::to_string(*r.delay));
      add_factor("backoffMultiplier");
      if (r.max_delay) add("maxBackoffMs", std::to_string(*r.max_delay));
      if (!r.delay && !r.factor && !r.max_delay) add("vocabulary", "stevora");
      break;
  }
  return "retries: {" + s + "}\n";
}

std::string checked(const std::string& path, const std::string& otherwise) {
  return "if " + path + " then error(\"it is bad\") else " + otherwise + " end";
}

std::string limits(const std::string& indent, const std::optional<Retry>& retry,
                   const std::vector<Timeout>& timeouts) {
  std::string s;
  for (const Timeout& t : timeouts) {
    const bool steep = t.key == "maxInactivity" || t.key == "maxRuntime" || t.key == "deadline";
    if (steep && t.error_on_timeout)
      s += indent + t.key + ": {timeout: " + ms(t.time) + ", errorOnTimeout: true}\n";
    else
      s += indent + t.key + ": " + ms(t.time) + "\n";
    if (t.per_attempt) s += indent + "timeout_scope: per_attempt\n";
  }
  if (retry) s += indent + policy_line(*retry);
  return s;
}

}  // namespace

std::string to_yaml(const Case& c, const Rendering& rendering) {
  const Definition& d = c.definition;
  const char* const names[] = {"direktiv", "steep", "temporal", "stevora", "zart"};
  const char* const kinds[] = {"action", "parallel", "foreach", "consumeEvent",
                               "delay",  "noop",     "error",   "switch"};
  std::string y = "id: control\n";
  if (d.defaults) y += std::string("defaults: ") + names[static_cast<int>(*d.defaults)] + "\n";
  if (d.retry) y += policy_line(*d.retry);
  if (d.execution) y += "workflowExecutionTimeout: " + ms(*d.execution) + "\n";
  if (d.run) y += "workflowRunTimeout: " + ms(*d.run) + "\n";
  if (d.timeout) y += "timeout: " + ms(*d.timeout) + "\n";
  if (!d.on_failure.empty()) y += "on_failure: " + d.on_failure + "\n";
  if (d.interrupt || d.kill) {
    y += "timeouts:\n";
    if (d.interrupt) y += "  interrupt: " + ms(*d.interrupt) + "\n";
    if (d.kill) y += "  kill: " + ms(*d.kill) + "\n";
  }
  if (!d.functions.empty()) y += "functions:\n";
  for (const Function& f : d.functions) {
    y += "- id: " + f.id + "\n";
    for (const auto& [key, value] : rendering.function) y += "  " + key + ": " + value + "\n";
    y += limits("  ", f.retry, f.timeouts);
  }
  y += "states:\n";
  for (const State& s : d.states) {
    const std::string seen = ". + {seen: (.seen + [\"" + s.id + "\"])}";
    const bool checks = s.kind == Kind::kNoop && !s.check.empty();
    const std::string note = "'jq(" + (checks ? checked(s.check, seen) : seen) + ")'";
    y += "- id: " + s.id + "\n  type: " + kinds[static_cast<int>(s.kind)] + "\n";
    if (s.kind == Kind::kForeach) y += "  array: 'jq(.items)'\n";
    if (s.kind == Kind::kAction || s.kind == Kind::kForeach)
      y += "  action:\n    function: " + s.actions[0].function + "\n" +
           limits("    ", s.actions[0].retry, s.actions[0].timeouts);
    if (s.kind == Kind::kAction && !s.check.empty())
      y += "    input: 'jq(" + checked(s.check, ".") + ")'\n";
    if (s.kind == Kind::kParallel) {
      y += std::string("  mode: ") + (s.any ? "or" : "and") + "\n  actions:\n";
      for (const Action& a : s.actions)
        y += "  - function: " + a.function + "\n" + limits("    ", a.retry, a.timeouts);
    }
    if (s.kind == Kind::kWait) y += std::string("  event:\n    type: ") + kEventType + "\n";
    if (s.kind == Kind::kDelay) y += "  duration: " + ms(s.duration) + "\n";
    if (s.kind == Kind::kError) y += "  error: " + s.error_code + "\n  message: made to fail\n";
    if (s.timeout) y += "  timeout: " + ms(*s.timeout) + "\n";
    if (s.retry) y += "  " + policy_line(*s.retry);
    if (s.kind == Kind::kBranch) {
      y += "  conditions:\n  - condition: 'jq(" + s.condition + ")'\n    transform: " + note + "\n";
      if (!s.branch_to.empty()) y += "    transition: " + s.branch_to + "\n";
      y += "  defaultTransform: " + note + "\n";
      if (!s.to.empty()) y += "  defaultTransition: " + s.to + "\n";
    } else {
      y += "  transform: " + note + "\n";
      if (!s.to.empty()) y += "  transition: " + s.to + "\n";
    }
    if (!s.catches.empty()) y += "  catch:\n";
    for (const Catch& k : s.catches) {
      y += "  - error: \"" + k.pattern + "\"\n";
      if (!k.to.empty()) y += "    transition: " + k.to + "\n";
    }
  }
  return y;
}

// For a person.

static std::string what_happens(const Step& s) {
  const std::string pick = "#" + std::to_string(s.pick);
  const std::string outcome =
      s.outcome.ok ? " with " + s.outcome.result.dump() : " with the error " + s.outcome.code;
  const char* const verbs[] = {
      "cancel", "pause",          "resume",  "pause the workflow", "resume the workflow",
      "retry",  "retry --extend", "restart", "rerun --from state "};
  switch (s.kind) {
    case Step::Kind::kAdvance:
      return ms(s.ms) + " pass";
    case Step::Kind::kAdvanceNear:
      return "time passes to moment " + pick +
             (s.ms == 0 ? "" : (s.ms > 0 ? " plus " : " minus ") + ms(std::abs(s.ms)));
    case Step::Kind::kTake:
      return "take open task " + pick;
    case Step::Kind::kHeartbeat:
      return "heartbeat of taken task " + pick;
    case Step::Kind::kAnswer:
      return "answer taken task " + pick + outcome;
    case Step::Kind::kAnswerLate:
      return "answer task " + pick + ", which is over," + outcome;
    case Step::Kind::kEvent:
      return "event " + s.outcome.result.dump();
    case Step::Kind::kCommand:
      return verbs[static_cast<int>(s.verb)] + (s.verb == Verb::kRerun ? pick : "");
    case Step::Kind::kKill:
      return "the process is killed";
    case Step::Kind::kStartProcess:
      return "the process starts";
    case Step::Kind::kBrokerAway:
      return "the broker is away";
    case Step::Kind::kBrokerBack:
      return "the broker is back";
  }
  return "?";
}

std::string describe(const Step& s) {
  return what_happens(s) + (s.then_killed ? ", and the process dies behind the commit" : "");
}

std::string describe(const Case& c) {
  std::string s = to_yaml(c) + "input: " + c.input.dump() + "\nsteps:\n";
  for (const Step& step : c.steps) s += "- " + describe(step) + "\n";
  return s;
}

// What a loader takes.

bool valid(const Definition& d) {
  if (d.states.empty()) return false;
  const auto there = [&d](const std::string& id) { return id.empty() || d.find(id); };
  if (!there(d.on_failure) || (!d.on_failure.empty() && !d.timeout)) return false;
  for (const State& s : d.states) {
    if (!there(s.to) || !there(s.branch_to)) return false;
    for (const Catch& c : s.catches)
      if (!there(c.to)) return false;
    if (s.kind == Kind::kParallel && s.actions.size() < 2) return false;
    if ((s.kind == Kind::kAction || s.kind == Kind::kForeach) && s.actions.size() != 1)
      return false;
    for (const Action& a : s.actions) {
      const Function* f = d.function(a.function);
      if (!f) return false;
      bool temporal = false, close = false;
      for (const auto* from : {&a.timeouts, &f->timeouts})
        for (const Timeout& t : *from) {
          temporal |= t.key.ends_with("Timeout");
          close |= t.key == "startToCloseTimeout" || t.key == "scheduleToCloseTimeout";
        }
      if (temporal && !close) return false;
    }
  }
  return true;
}

// Random cases.

namespace {

class Random {
 public:
  explicit Random(uint64_t seed) : x_(seed * 0x9E3779B97F4A7C15ull + 0x1234567) {}
  uint64_t next() {  // splitmix64
    uint64_t z = (x_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T of(std::initializer_list<T> all) {
    return *(all.begin() + below(static_cast<int>(all.size())));
  }
  std::string text(std::initializer_list<const char*> all) { return of(all); }

 private:
  uint64_t x_;
};

// Odd milliseconds, so that two deadlines seldom fall together where the documents do not say which
// is first.
Ms time_of_step(Random& r) {
  return r.of<Ms>({1000, 2000, 3000, 5000, 8000, 13000, 20000}) + r.below(900);
}

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

Definition random_definition(Random& r) {
  Definition d;
  for (const char* id : {"f", "g"}) {
    Function f{.id = id, .retry = {}, .timeouts = {}};
    if (r.chance(15)) f.retry = random_policy(r, false);
    if (r.chance(15)) f.timeouts = random_timeouts(r);
    d.functions.push_back(f);
  }

  bool many = false, acts = false;
  const int count = r.of({1, 2, 2, 3});
  const bool handler = r.chance(60), loop = r.chance(30);
  for (int i = 0; i < count; i++) {
    State s;
    s.id = std::string(1, static_cast<char>('a' + i));
    s.kind = r.of({Kind::kAction, Kind::kAction, Kind::kAction, Kind::kAction, Kind::kWait,
                   Kind::kWait, Kind::kDelay, Kind::kParallel, Kind::kForeach, Kind::kNoop});
    if (i == 0 && s.kind == Kind::kNoop) s.kind = Kind::kAction;
    const bool several = s.kind == Kind::kParallel || s.kind == Kind::kForeach;
    many |= several;
    acts |= s.kind == Kind::kAction;
    if (s.kind == Kind::kAction || s.kind == Kind::kForeach)
      s.actions = {random_action(r, d, !several)};
    if (s.kind == Kind::kParallel) {
      s.actions = {random_action(r, d, false), random_action(r, d, false)};
      s.any = r.chance(40);
    }
    if (s.kind == Kind::kDelay) s.duration = time_of_step(r);
    if (s.kind == Kind::kWait ? r.chance(75) : !s.actions.empty() && r.chance(15))
      s.timeout = time_of_step(r);
    if ((s.kind == Kind::kWait && s.timeout && r.chance(60)) ||
        (!s.actions.empty() && r.chance(12)))
      s.retry = random_policy(r, s.kind == Kind::kWait || s.kind == Kind::kAction);
    if (s.kind == Kind::kWait && s.retry && s.retry->vocabulary == Vocabulary::kSteep &&
        *s.retry->attempts == 0)
      s.retry->attempts = 2;  // what skipping a wait is, is open
    if (i + 1 < count)
      s.to = std::string(1, static_cast<char>('a' + i + 1));
    else if (loop)
      s.to = "more";
    const bool check = (s.kind == Kind::kAction || s.kind == Kind::kNoop) && r.chance(20);
    if (check) s.check = "?";
    if (r.chance(handler ? 65 : 15)) {
      const int entries = r.of({1, 1, 2});
      for (int k = 0; k < entries; k++)
        s.catches.push_back({r.text({"*", "*", "busy", "millrace.timeout.*", "direktiv.*", "b?sy",
                                     "direktiv.retries.exceeded", "direktiv.stateTimeout",
                                     "direktiv.cancels.timeout"}),
                             handler && r.chance(80) ? "clean" : s.to});
      // A check fails at once, so what catches it must not lead back to it.
      if (check)
        for (Catch& c : s.catches) c.to = handler ? "clean" : "";
    }
    d.states.push_back(s);
  }
  const bool returns = acts && !many;
  for (State& s : d.states)
    if (!s.check.empty()) s.check = returns ? ".return.bad" : ".go.bad";
  if (loop) {
    // It goes back to a state that takes time or needs somebody outside, so it never spins.
    State s;
    s.id = "more";
    s.kind = Kind::kBranch;
    s.condition = returns ? ".return.again" : ".go.again";
    for (const State& back : d.states) {
      const bool skips =
          !back.actions.empty() &&
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
  if (handler) {
    State clean;
    clean.id = "clean";
    clean.kind = r.of(
        {Kind::kAction, Kind::kAction, Kind::kAction, Kind::kError, Kind::kDelay, Kind::kNoop});
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
  // An event wait whose deadline is the execution's.
  State& first = d.states.front();
  if (first.kind == Kind::kWait && first.timeout && r.chance(20)) {
    if (d.timeout) d.timeout = first.timeout;
    if (d.execution) d.execution = first.timeout, d.run.reset();
  }
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

// A step that does something in the model's present state.
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

// Some sequences that seldom come together by chance.
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
    case 2:  // an answer at and behind its deadline
      return {plain(K::kTake), near(0), answer(K::kAnswerLate, true), near(0)};
    case 3:  // an answer twice
      return {plain(K::kTake), answer(K::kAnswer, false), answer(K::kAnswerLate, true), near(0)};
    case 4:  // a wait before a retry while the process is dead
      return {plain(K::kTake), answer(K::kAnswer, false), plain(K::kKill),
              moment,          plain(K::kStartProcess),   near(0)};
    case 5:  // it fails, and an operator begins it again while the workflow is paused
      return {near(0),
              near(0),
              near(0),
              near(0),
              command(Verb::kPauseWorkflow),
              command(Verb::kRetry),
              near(0),
              command(Verb::kResumeWorkflow),
              near(0)};
    case 6: {  // it fails, and an operator begins it again; perhaps in several runs
      const Verb verb = r.of({Verb::kRetry, Verb::kRetryExtend, Verb::kRestart, Verb::kRerun});
      std::vector<Step> steps = {near(0), near(0), near(0), near(0), command(verb)};
      for (int runs = r.of({1, 1, 2}); runs > 0; runs--)
        for (const Step& step : {plain(K::kTake), answer(K::kAnswer, false), near(0), near(0)})
          steps.push_back(step);
      return steps;
    }
    default:  // several visits of a loop, and then a failure
      Step again = answer(K::kAnswer, true);
      again.outcome.result["again"] = true;
      Step event = answer(K::kEvent, true);
      event.outcome.result["again"] = true;
      return {plain(K::kTake), again, event,           plain(K::kTake),
              again,           event, plain(K::kTake), answer(K::kAnswer, false)};
  }
}

// Attempts with a deadline for all of them, in runs.
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
  if (r.chance(60)) d.retry = Retry(Vocabulary::kZart);  // it takes no timeout
  d.retry->attempts = r.of({2, 3, 3});
  if (!d.retry->delay) d.retry->delay = 1000;
  return d;
}

// They fail, an operator begins them again, and they fail on into the next run.
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

}  // namespace

Case make_case(uint64_t seed) {
  Random r(seed);
  Case c;
  c.seed = seed;
  const bool of_runs = seed % 8 == 5;  // what else seldom comes together
  do c.definition = of_runs ? random_definition_of_runs(r) : random_definition(r);
  while (!valid(c.definition));
  c.input = {{"seen", Json::array()}, {"items", {1, 2}}};

  std::vector<Step> sequence;
  if (of_runs) sequence = random_sequence_of_runs(r);
  std::reverse(sequence.begin(), sequence.end());
  const int wanted = 6 + r.below(24) + static_cast<int>(sequence.size());
  Model model;
  auto player = std::make_unique<Player>(c, model, nullptr);
  for (int tries = 0; tries < 3 * wanted && static_cast<int>(c.steps.size()) < wanted; tries++) {
    if (sequence.empty() && r.chance(12)) {
      sequence = random_sequence(r);
      std::reverse(sequence.begin(), sequence.end());
    }
    const Step step = sequence.empty() ? random_step(r, model) : sequence.back();
    if (!sequence.empty()) sequence.pop_back();
    const size_t before = player->played().trace.size();
    if (player->step(step)) {
      if (player->played().trace.size() != before) c.steps.push_back(step);
      continue;
    }
    // The documents do not decide what comes of this step: play again without it.
    player.reset();
    model = Model();
    player = std::make_unique<Player>(c, model, nullptr);
    for (const Step& s : c.steps)
      if (!player->step(s)) break;
    if (!model.undecided().empty()) break;
  }
  return c;
}

// Shrinking.

namespace {

void drop_state(Definition& d, size_t i) {
  const std::string id = d.states[i].id, to = d.states[i].to == id ? "" : d.states[i].to;
  d.states.erase(d.states.begin() + static_cast<ptrdiff_t>(i));
  const auto retarget = [&](std::string& t) {
    if (t == id) t = to;
  };
  for (State& s : d.states) {
    retarget(s.to), retarget(s.branch_to);
    for (Catch& c : s.catches) retarget(c.to);
  }
  if (d.on_failure == id) d.on_failure = "";
}

// All that is a little simpler than `c`, the biggest cuts first.
std::vector<Case> simpler(const Case& c) {
  std::vector<Case> all;
  const auto with = [&](auto&& change) {
    Case x = c;
    change(x);
    all.push_back(std::move(x));
  };
  const size_t n = c.steps.size();
  for (size_t size = n / 2; size > 0; size /= 2)
    for (size_t from = 0; from + size <= n; from += size)
      with([&](Case& x) {
        const auto at = x.steps.begin() + static_cast<ptrdiff_t>(from);
        x.steps.erase(at, at + static_cast<ptrdiff_t>(size));
      });

  const Definition& d = c.definition;
  const auto forget = [&](auto field) {
    if (d.*field) with([&](Case& x) { (x.definition.*field).reset(); });
  };
  forget(&Definition::retry), forget(&Definition::defaults), forget(&Definition::interrupt);
  forget(&Definition::kill), forget(&Definition::execution), forget(&Definition::run);
  if (d.timeout) with([&](Case& x) { x.definition.timeout.reset(), x.definition.on_failure = ""; });
  for (size_t i = 0; i < d.states.size(); i++) {
    const State& s = d.states[i];
    with([&](Case& x) { drop_state(x.definition, i); });
    if (s.timeout) with([&](Case& x) { x.definition.states[i].timeout.reset(); });
    if (!s.check.empty()) with([&](Case& x) { x.definition.states[i].check = ""; });
    if (s.retry) with([&](Case& x) { x.definition.states[i].retry.reset(); });
    if (!s.to.empty()) with([&](Case& x) { x.definition.states[i].to = ""; });
    if (s.kind == Kind::kParallel || s.kind == Kind::kForeach)
      with([&](Case& x) {
        x.definition.states[i].kind = Kind::kAction;
        x.definition.states[i].actions.resize(1);
      });
    for (size_t k = 0; k < s.catches.size(); k++)
      with([&](Case& x) {
        auto& all_of_it = x.definition.states[i].catches;
        all_of_it.erase(all_of_it.begin() + static_cast<ptrdiff_t>(k));
      });
  }
  // Policies and timeouts, wherever they stand.
  const auto each_holder = [](Case& x, auto&& visit) {
    for (Function& f : x.definition.functions) visit(f.retry, f.timeouts);
    for (State& s : x.definition.states)
      for (Action& a : s.actions) visit(a.retry, a.timeouts);
  };
  Case counted = c;
  int holders = 0;
  each_holder(counted, [&](auto&, auto&) { holders++; });
  const auto with_holder = [&](int i, auto&& change) {
    with([&](Case& x) {
      int at = 0;
      each_holder(x, [&](auto& retry, auto& timeouts) {
        if (at++ == i) change(retry, timeouts);
      });
    });
  };
  int at = 0;
  each_holder(counted, [&](auto& retry, auto& timeouts) {
    const int i = at++;
    if (retry) with_holder(i, [](auto& r, auto&) { r.reset(); });
    if (retry && retry->factor) with_holder(i, [](auto& r, auto&) { r->factor.reset(); });
    if (retry && retry->max_delay) with_holder(i, [](auto& r, auto&) { r->max_delay.reset(); });
    for (size_t k = 0; k < timeouts.size(); k++)
      with_holder(i, [&](auto&, auto& t) { t.erase(t.begin() + static_cast<ptrdiff_t>(k)); });
    for (size_t k = 0; k < timeouts.size(); k++)
      if (timeouts[k].time % 1000 != 0)
        with_holder(i, [&](auto&, auto& t) { t[k].time -= t[k].time % 1000; });
  });
  // Rounder and shorter times.
  const auto round = [&](auto&& get) {
    Case copy = c;
    const std::optional<Ms> t = get(copy);
    if (!t) return;
    for (const Ms shorter : {*t / 2 - *t / 2 % 1000, *t - *t % 1000})
      if (shorter > 0 && shorter < *t) with([&](Case& x) { get(x) = shorter; });
  };
  for (auto field : {&Definition::interrupt, &Definition::kill, &Definition::execution,
                     &Definition::run, &Definition::timeout})
    round([field](Case& x) -> std::optional<Ms>& { return x.definition.*field; });
  for (size_t i = 0; i < d.states.size(); i++) {
    round([i](Case& x) -> std::optional<Ms>& { return x.definition.states[i].timeout; });
    if (d.states[i].duration % 1000 != 0)
      with([&](Case& x) {
        x.definition.states[i].duration -= x.definition.states[i].duration % 1000 - 1000;
      });
  }
  for (size_t i = 0; i < n; i++) {
    const Step& s = c.steps[i];
    if (s.kind == Step::Kind::kAdvance && s.ms > 1) with([&](Case& x) { x.steps[i].ms /= 2; });
    if (s.kind == Step::Kind::kAdvance && s.ms > 1000 && s.ms % 1000)
      with([&](Case& x) { x.steps[i].ms -= s.ms % 1000; });
    if (s.kind == Step::Kind::kAdvanceNear && s.ms != 0) with([&](Case& x) { x.steps[i].ms = 0; });
    if (s.outcome.result.contains("bad"))
      with([&](Case& x) { x.steps[i].outcome.result.erase("bad"); });
    if (s.pick != 0) with([&](Case& x) { x.steps[i].pick = 0; });
    if (s.then_killed) with([&](Case& x) { x.steps[i].then_killed = false; });
    if (s.outcome.result.contains("again"))
      with([&](Case& x) { x.steps[i].outcome.result.erase("again"); });
  }
  return all;
}

}  // namespace

Case shrink(Case c, const std::function<bool(const Case&)>& still_fails, int most_tries) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const Case& x : simpler(c)) {
      if (!valid(x.definition)) continue;
      if (most_tries-- <= 0) return c;
      if (!still_fails(x)) continue;
      c = x;
      smaller = true;
      break;
    }
  }
  return c;
}

}  // namespace millrace::reference
