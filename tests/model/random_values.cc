#include "tests/model/random_values.h"

#include "tests/model/random_definition.h"

namespace millrace::reference {

namespace {

Retry random_policy_of_values(Random& r) {
  Retry p(r.of({Vocabulary::kDirektiv, Vocabulary::kSteep, Vocabulary::kTemporal}));
  p.attempts = p.vocabulary == Vocabulary::kDirektiv ? r.of({1, 2}) : r.of({2, 3});
  p.delay = r.of<Ms>({500, 1000, 2000});
  if (r.chance(40)) p.factor = r.of({1.0, 2.0});
  if (p.vocabulary == Vocabulary::kDirektiv) p.codes = {"*"};
  if (p.vocabulary != Vocabulary::kTemporal && r.chance(70))
    p.delay_path = r.text({".return.wait", ".error.msg"});
  return p;
}

void write_time(Random& r, State& s, std::initializer_list<Writing> all) {
  s.writing = r.of(all);
  if (s.writing == Writing::kOfData) s.written_path = r.text({".return.wait", ".go.wait"});
  if (s.writing == Writing::kUntil && r.chance(50))
    s.written_path = r.text({".return.at", ".go.at"});
}

void add_catch(Random& r, State& s, std::initializer_list<const char*> patterns,
               std::initializer_list<const char*> targets) {
  Catch entry;
  entry.pattern = r.text(patterns);
  entry.to = r.text(targets);
  s.catches.push_back(entry);
}

// The first state: no value of it can be impossible, because it would fail at once.
State random_call(Random& r) {
  State a;
  a.id = "a", a.kind = Kind::kAction;
  a.actions = {{.function = "f", .retry = {}, .timeouts = {}}};
  if (r.chance(60)) a.actions[0].retry = random_policy_of_values(r);
  if (r.chance(40)) {
    a.timeout = time_of_step(r);
    write_time(r, a, {Writing::kConstant, Writing::kOfRun});
  }
  if (r.chance(35))
    add_catch(r, a, {"*", "busy", "direktiv.*", "millrace.duration.invalid"},
              {"b", "c", kNextRun, ""});
  a.to = r.text({"b", "b", "b", kNextRun});
  return a;
}

State random_wait(Random& r) {
  State b;
  b.id = "b";
  b.kind = r.of({Kind::kWait, Kind::kWait, Kind::kDelay});
  if (b.kind == Kind::kDelay) {
    b.duration = time_of_step(r);
    write_time(r, b, {Writing::kConstant, Writing::kOfData, Writing::kOfRun, Writing::kUntil});
  } else if (r.chance(85)) {
    b.timeout = time_of_step(r);
    write_time(r, b,
               {Writing::kConstant, Writing::kOfData, Writing::kOfAttempt, Writing::kOfRun,
                Writing::kUntil, Writing::kUntil});
    if (r.chance(50)) b.retry = random_policy_of_values(r);
  }
  if (b.writing == Writing::kUntil)
    (b.kind == Kind::kDelay ? b.duration : *b.timeout) = 1 + r.below(60'000);
  if (r.chance(50))
    add_catch(r, b, {"*", "direktiv.*", "direktiv.stateTimeout", "millrace.duration.invalid"},
              {"c", kNextRun, ""});
  b.to = r.text({"more", "more", kNextRun, "c", ""});
  return b;
}

State random_end(Random& r) {
  State c;
  c.id = "c";
  c.kind = r.of({Kind::kDelay, Kind::kDelay, Kind::kAction, Kind::kError});
  if (c.kind == Kind::kDelay) {
    c.duration = time_of_step(r);
    write_time(r, c, {Writing::kConstant, Writing::kOfRun});
  }
  if (c.kind == Kind::kAction) c.actions = {{.function = "g", .retry = {}, .timeouts = {}}};
  if (c.kind == Kind::kError) c.error_code = "cleanup.needed";
  c.to = r.text({kNextRun, ""});
  return c;
}

void add_limits(Random& r, Definition& d) {
  switch (r.below(10)) {
    case 0: {
      State rescue;
      rescue.id = "rescue", rescue.kind = Kind::kDelay, rescue.duration = time_of_step(r);
      rescue.to = r.text({kNextRun, ""});
      d.timeout = 3 * time_of_step(r);
      d.on_failure = "rescue";
      d.states.push_back(rescue);
      break;
    }
    case 1:
      d.execution = 4 * time_of_step(r);
      break;
    case 2:
      d.run = 2 * time_of_step(r);
      break;
    case 3:
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

}  // namespace

Definition random_definition_of_values(Random& r) {
  Definition d;
  for (const char* id : {"f", "g"}) d.functions.push_back({.id = id, .retry = {}, .timeouts = {}});
  State more;
  more.id = "more", more.kind = Kind::kBranch;
  more.condition = ".return.again";
  more.branch_to = r.text({"a", kNextRun});
  more.to = r.text({"", kNextRun});
  d.states = {random_call(r), random_wait(r), more, random_end(r)};
  add_limits(r, d);
  if (r.chance(35)) {
    d.retry = Retry(r.of({Vocabulary::kZart, Vocabulary::kSteep}));
    d.retry->attempts = r.of({2, 3});
    d.retry->delay = r.of<Ms>({1000, 2000});
  }
  return d;
}

void add_values(Random& r, Outcome& outcome) {
  if (!outcome.ok) {
    outcome.message = r.text({"1500ms", "1500ms", "0ms", "it is busy"});
    return;
  }
  if (!outcome.result.is_object()) return;
  if (r.chance(60)) {
    outcome.result["wait"] = r.text({"700ms", "2000ms", "2000ms", "9000ms", "0ms", "soon"});
    if (r.chance(10)) outcome.result["wait"] = 5;
  }
  if (r.chance(50)) {
    outcome.result["at"] = static_cast<double>(kStartOfCases + r.below(60'000)) / 1000;
    if (r.chance(10)) outcome.result["at"] = "PT1H";
  }
}

}  // namespace millrace::reference
