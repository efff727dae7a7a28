// A test case: a workflow with its policies, and the steps that happen to an instance of the
// workflow.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/model/subject.h"

namespace millrace::reference {

// The workflow.

enum class Vocabulary { kDirektiv, kSteep, kTemporal, kStevora, kZart };

// A retry policy as a definition writes it. An absent field has the default of the vocabulary.
struct Retry {
  explicit Retry(Vocabulary v = Vocabulary::kSteep) : vocabulary(v) {}
  Vocabulary vocabulary;
  std::optional<int> attempts;  // counted as the vocabulary counts attempts
  std::optional<Ms> delay;
  std::optional<double> factor;
  std::optional<Ms> max_delay;
  std::vector<std::string> codes;  // direktiv: codes (regex); temporal: nonRetryableErrors (exact)
  // direktiv, steep: a path such as .error.msg. The delay is the text at the path; without one, it
  // is `delay`.
  std::string delay_path;
};

// A timeout key of an action or a function, as a definition writes it.
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
  std::string to;       // "" ends the workflow; may be kNextRun, as each transition may
};

// A transition with this target is a `continueAsNew` instead, which takes the data as the input of
// the next run.
inline const char* const kNextRun = "(next run)";

// How a definition writes the `duration` of a delay, or the `timeout` of another state.
enum class Writing {
  kConstant,   // 5357ms
  kOfData,     // the text at `written_path`; without one, the constant
  kOfAttempt,  // the number of the attempt, in front of the milliseconds: 2357ms
  kOfRun,      // the number of the run, in front of the milliseconds
  kUntil,      // `until`: the number at `written_path`; without one, the constant
};

// The time at which the instance of a case starts, in milliseconds since 1970.
inline constexpr Ms kStartOfCases = 1'630'497'600'000;

enum class Kind { kAction, kParallel, kForeach, kWait, kDelay, kNoop, kError, kBranch };

// The transform of each state adds the state's id to the list .seen, so the data shows in order
// which states have ended.
struct State {
  std::string id;
  Kind kind = Kind::kNoop;
  std::vector<Action> actions;  // action, foreach: one; parallel: two or more
  bool any = false;             // parallel: whether its mode is `or`
  Ms duration = 0;              // delay
  Writing writing = Writing::kConstant;
  std::string written_path;  // a path such as .return.wait
  std::string error_code;    // error
  std::string condition;     // branch (switch): a path such as .return.again
  std::string branch_to;     // the transition if `condition` is true
  // action, noop: a path such as .return.bad. If the value at the path is true, a jq program fails:
  // that of the action's input, or that of the noop's transform.
  std::string check;
  std::optional<Ms> timeout;   // direktiv: timeout of the state
  std::optional<Retry> retry;  // the retry policy of the state
  std::vector<Catch> catches;
  std::string to;              // "" ends the workflow
  std::optional<Action> undo;  // `compensate`; its input is the whole data
  bool compensates = false;    // error: `compensate: true`
};

struct Definition {
  std::vector<Function> functions;
  std::vector<State> states;  // the first state is the one in which an instance begins
  std::optional<Vocabulary> defaults;
  std::optional<Retry> retry;         // the policy by which another run follows a failed run
  std::optional<Ms> interrupt, kill;  // direktiv
  std::optional<Ms> execution, run;   // temporal: workflowExecutionTimeout, workflowRunTimeout
  std::optional<Ms> timeout;          // zart
  std::string on_failure;             // the state of on_failure; only with `timeout`
  bool compensates = false;           // `compensate: true`
  bool on_failure_compensates = false;

  const State* find(const std::string& id) const;
  const Function* function(const std::string& id) const;
};

inline const char* const kEventType = "go";  // the event type of all waits

// The steps.

// A step does not name its time or task, but describes how to find it; so a case stays valid when
// earlier steps are dropped.
struct Step {
  enum class Kind {
    kAdvance,       // moves the clock by `ms`
    kAdvanceNear,   // to the moment of the `pick`-th stored deadline or wake-up, plus `ms` (-1, 0,
                    // 1)
    kTake,          // a worker takes the `pick`-th task that is not taken
    kHeartbeat,     // a heartbeat of the `pick`-th task that is taken
    kAnswer,        // the `pick`-th task that is taken ends with `outcome`
    kAnswerLate,    // an answer `outcome` to the `pick`-th task that was taken and is over
    kAccept,        // the service accepts the `pick`-th task that is not accepted
    kCallBack,      // the callback `callback` about the `pick`-th open task
    kCallBackLate,  // the same about the `pick`-th task that was taken and is over
    kEvent,         // an event with `outcome.result` as its payload
    kCommand,       // the command `verb`; a rerun starts in the `pick`-th state
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
  // Whether the process is killed after the commit of this step, and started again at once. Not
  // used by the last four kinds.
  bool then_killed = false;
  Callback callback = {};
  // kCallBackLate: says what the callback has said that has ended the task, if there was one.
  bool repeats = false;
};

struct Case {
  uint64_t seed = 0;
  Definition definition;
  Json input;
  std::vector<Step> steps;
};

std::string describe(const Callback& callback);
std::string describe(const Step& step);
std::string describe(const Case& c);

// Whether a loader must accept the definition: all transitions have a target, Temporal's keys are
// complete, …
bool valid(const Definition& d);

}  // namespace millrace::reference
