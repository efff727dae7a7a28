// Reads a scenario file: events and commands for workflows, and the expected results. The format is
// described in docs/testing-workflows.md. The result is values, or all mistakes with their
// positions. Pure; a function of the caller opens the workflows that the file names.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/event.h"
#include "base/json.h"
#include "base/result.h"
#include "language/document.h"
#include "language/findings.h"
#include "language/scenario_names.h"
#include "orchestrator/batch/command.h"
#include "policies/duration.h"
#include "scenarios/acted_functions.h"

namespace millrace {

/// A value of the file with its position, for later error messages about the value.
struct Placed {
  std::string path;  ///< `scenarios[0].expect.output`
  Node value;
};

/// The API call that starts an instance, at 0 s.
struct StartCall {
  std::string workflow;
  Json input;
  Placed place;
};

/// A command of an operator to the instance under test.
struct Control {
  enum class Verb { kCancel, kPause, kResume, kRetry, kRestart, kRerun, kCompensate };
  Verb verb = Verb::kCancel;
  std::string state;    ///< kRerun: the first state of the new run
  bool extend = false;  ///< kRetry: restart the execution timeout
  bool past = false;    ///< kCompensate: pass over the compensation that failed
};

/// An item of `given`: an external event or a command, at a time of the scenario.
struct Given {
  Span at;
  std::variant<Event, Control> what;
  Placed place;
};

/// The properties of an instance that can be expected.
enum class Aspect {
  kStatus,
  kRun,             ///< the number of its run
  kStates,          ///< the states that it entered in its last run, in order
  kOutput,          ///< the complete output
  kOutputContains,  ///< a part of the output
  kError,           ///< a part of the error: code or msg
  kPublished,       ///< for each event that it published, in order: a part of the event
  kTook,            ///< the time from its start to its end
  kAttempts,        ///< the times of all attempts of calls of all functions, in order
  kCompensated,     ///< the states whose compensations succeeded, in the order of their calls
  kInstances,       ///< the number of instances of its workflow
  kAwaits,          ///< the limit for which it or a call of it waits
  kCompensations,   ///< for each compensation that succeeded, in their order: a part of it
  kLeft,            ///< for each compensation that is left, the next one first: a part of it
};

struct Expected {
  Aspect aspect{};
  Placed wanted;
};

/// The expected result of one instance: the instance that `start` started if it is of the workflow,
/// otherwise the first instance of the workflow.
struct Expectation {
  std::string workflow;
  std::optional<size_t> number;  ///< which instance of the workflow instead, from 1
  std::vector<Expected> all;
};

struct Scenario {
  std::string name;
  Position at;
  std::map<std::string, std::string> secrets;  ///< the secrets of the namespace at 0 s, by name
  std::map<std::string, Json> variables;       ///< the variables of the namespace at 0 s, by key
  /// The behaviour of external functions for each of their attempts, by function id.
  std::map<std::string, std::vector<Performance>> functions;
  std::optional<StartCall> start;
  std::vector<Given> given;  ///< in the order of time
  std::optional<Span> until;
  std::vector<Expectation> expect;
};

struct ScenarioFile {
  std::vector<ApplyWorkflow> workflows;  ///< in the default namespace; at least one
  std::vector<Scenario> scenarios;
};

/// Opens a workflow: from a file, with the name that the scenario file has, or from a definition in
/// the scenario file itself. An error becomes a finding at that name. If the `workflow` of the
/// result is null, the definition has errors, which were reported separately.
using OpenWorkflow = std::function<Result<ApplyWorkflow>(const Node& name_or_definition)>;

/// Reads the text of a scenario file. The result may be used only if `findings` has no errors and
/// no workflow is null. Findings have the codes of Fields and of decode_json_event, and
/// `scenario.*`.
ScenarioFile read_scenario_file(std::string_view text, const std::string& default_workflow,
                                const OpenWorkflow& open, Findings& findings);

}  // namespace millrace
