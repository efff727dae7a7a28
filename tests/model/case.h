// A test case: a workflow in the terms of the policies, and what happens to an instance of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/model/subject.h"

namespace millrace::reference {

// The workflow.

enum class Vocabulary { kDirektiv, kSteep, kTemporal, kStevora, kZart };

// A retry policy as it is written: a field that is absent takes the vocabulary's own default.
struct Retry {
  explicit Retry(Vocabulary v = Vocabulary::kSteep) : vocabulary(v) {}
  Vocabulary vocabulary;
  std::optional<int> attempts;  // in the vocabulary's own count
  std::optional<Ms> delay;
  std::optional<double> factor;
  std::optional<Ms> max_delay;
  std::vector<std::string> codes;  // direktiv: codes (regex); temporal: nonRetryableErrors (exact)
};

// A timeout key of an action or a function, as it is written.
struct Timeout {
  std::string key;  // scheduleToStartTimeout … heartbeatTimeout; maxInactivity, maxRuntime,
                    // deadline; timeout
  Ms time = 0;
  bool error_on_timeout = false;  // steep
  bool per_attempt = false;       // zart: timeout_scope
};

struct Function {
  std::string id;
  std::optional<Retry> retry;
  std::vector<Timeout> timeouts;
};

struct Action {
  std::string function;
  std::optional<Retry> retry;
  std::vector<Timeout> timeouts;
};

struct Catch {
  std::string pattern;  // glob
  std::string to;       // "" ends the workflow
};

enum class Kind { kAction, kParallel, kForeach, kWait, kDelay, kNoop, kError, kBranch };

// Every state's transform adds its id to the list .seen, so the data say which states have ended,
// in their order.
struct State {
  std::string id;
  Kind kind = Kind::kNoop;
  std::vector<Action> actions;  // action, foreach: one; parallel: two or more
  bool any = false;             // parallel: mode or
  Ms duration = 0;              // delay
  std::string error_code;       // error
  std::string condition;        // branch (switch): a path such as .return.again
  std::string branch_to;        // where it is true
  // action, noop: a path such as .return.bad; where it is true, the jq of the action's input, or of
  // the transform, fails.
  std::string check;
  std::optional<Ms> timeout;   // direktiv's, of the whole state
  std::optional<Retry> retry;  // at the level of the state
  std::vector<Catch> catches;
  std::string to;  // "" ends the workflow
};

struct Definition {
  std::vector<Function> functions;
  std::vector<State> states;  // the first one is where it starts
  std::optional<Vocabulary> defaults;
  std::optional<Retry> retry;         // runs
  std::optional<Ms> interrupt, kill;  // direktiv
  std::optional<Ms> execution, run;   // temporal: workflowExecutionTimeout, workflowRunTimeout
  std::optional<Ms> timeout;          // zart
  std::string on_failure;             // with timeout

  const State* find(const std::string& id) const;
  const Function* function(const std::string& id) const;
};

inline const char* const kEventType = "go";  // the type of the one event that waits are for

// What happens.

// Steps do not name moments or tasks but how to find them, so a case keeps its sense when steps
// before it are dropped.
struct Step {
  enum class Kind {
    kAdvance,      // by `ms`
    kAdvanceNear,  // to the moment of the `pick`-th stored deadline or wake-up, plus `ms` (-1, 0,
                   // 1)
    kTake,         // the `pick`-th task that is not taken
    kHeartbeat,    // of the `pick`-th task that is taken
    kAnswer,       // the `pick`-th task that is taken: `outcome`
    kAnswerLate,   // the `pick`-th task that was taken and is over: `outcome`
    kEvent,        // with `outcome.result` as payload
    kCommand,      // `verb`; rerun: from the `pick`-th state
    kKill,
    kStartProcess,
    kBrokerAway,
    kBrokerBack,
  };
  Kind kind = Kind::kAdvance;
  Ms ms = 0;
  int pick = 0;
  Outcome outcome;
  Verb verb = Verb::kCancel;
  // The process is killed as soon as what comes of this is on disk, and starts again at once. For
  // all but the last four.
  bool then_killed = false;
};

struct Case {
  uint64_t seed = 0;
  Definition definition;
  Json input;
  std::vector<Step> steps;
};

std::string describe(const Step& step);
std::string describe(const Case& c);

// True where a loader must take the definition: all transitions lead somewhere, Temporal's keys are
// complete, …
bool valid(const Definition& d);

}  // namespace millrace::reference
