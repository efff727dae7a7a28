#include "tests/model/case.h"

#include <algorithm>
#include <set>

#include "tests/model/case_yaml.h"

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

// Text for a reader.

std::string describe(const Callback& callback) {
  const std::string by = callback.by_operator ? "an operator's " : "";
  if (callback.is_heartbeat)
    return by + "callback heartbeat" +
           (callback.progress ? " with progress " + callback.progress->dump() : "");
  if (callback.outcome.ok) return by + "callback complete with " + callback.outcome.result.dump();
  return by + "callback fail with the error " + callback.outcome.code;
}

static std::string what_happens(const Step& s) {
  const std::string pick = "#" + std::to_string(s.pick);
  const std::string outcome =
      s.outcome.ok ? " with " + s.outcome.result.dump() : " with the error " + s.outcome.code;
  const char* const verbs[] = {"cancel",
                               "pause",
                               "resume",
                               "pause the workflow",
                               "resume the workflow",
                               "retry",
                               "retry --extend",
                               "restart",
                               "rerun --from state ",
                               "compensate",
                               "compensate --past"};
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
    case Step::Kind::kAccept:
      return "accept task " + pick;
    case Step::Kind::kCallBack:
      return describe(s.callback) + " of open task " + pick;
    case Step::Kind::kCallBackLate:
      return (s.repeats ? "the same callback as before, or " : "") + describe(s.callback) +
             " of task " + pick + ", which is over";
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

// Whether a loader accepts the definition.

bool valid(const Definition& d) {
  if (d.states.empty()) return false;
  const auto there = [&d](const std::string& id) {
    return id.empty() || id == kNextRun || d.find(id);
  };
  if (!there(d.on_failure) || (!d.on_failure.empty() && !d.timeout)) return false;
  for (const State& s : d.states) {
    if (!there(s.to) || !there(s.branch_to)) return false;
    for (const Catch& c : s.catches)
      if (!there(c.to)) return false;
    if (s.kind == Kind::kParallel && s.actions.size() < 2) return false;
    if ((s.kind == Kind::kAction || s.kind == Kind::kForeach) && s.actions.size() != 1)
      return false;
    std::vector<Action> actions = s.actions;
    if (s.undo) actions.push_back(*s.undo);
    for (const Action& a : actions) {
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

}  // namespace millrace::reference
