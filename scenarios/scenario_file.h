// A scenario file: what happens to workflows, and what is to come of it, as
// docs/testing-workflows.md describes it. Text → values, or every mistake with its place. Pure; the
// workflows that it names are opened by the function that it is given.
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

/// A value of the file with its place, for saying later what did not come true.
struct Placed {
  std::string path;  ///< `scenarios[0].expect.output`
  Node value;
};

/// The call that starts an instance, at 0 s.
struct StartCall {
  std::string workflow;
  Json input;
  Placed place;
};

/// What an operator does about the instance that the scenario is about.
struct Control {
  enum class Verb { kCancel, kPause, kResume, kRetry, kRestart, kRerun };
  Verb verb = Verb::kCancel;
  std::string state;    ///< kRerun: from there
  bool extend = false;  ///< kRetry
};

/// What happens from outside at some time of the scenario.
struct Given {
  Span at;
  std::variant<Event, Control> what;
  Placed place;
};

/// What can be expected of an instance.
enum class Aspect {
  kStatus,
  kStates,          ///< those that it entered, in order
  kOutput,          ///< the whole of it
  kOutputContains,  ///< a part of it
  kError,           ///< a part: code or msg
  kPublished,       ///< a part of each event that it published, all of them in order
  kTook,            ///< from its start to its end
  kAttempts,        ///< when each attempt at a function was handed out, of all functions in order
  kInstances,       ///< how many of its workflow there are
};

struct Expected {
  Aspect aspect{};
  Placed wanted;
};

/// What is to come of one instance: the one that was started, or else the first of the workflow.
struct Expectation {
  std::string workflow;
  std::vector<Expected> all;
};

struct Scenario {
  std::string name;
  Position at;
  std::map<std::string, std::string> secrets;  ///< of the namespace, from the beginning
  std::map<std::string, Json> variables;       ///< the same
  /// What functions outside do with each attempt at them, by their ids.
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

/// Opens a workflow: that of a file, named as the scenario file does, or a definition that stands
/// in the scenario file itself. An error becomes a finding at its place. A null `workflow` says
/// that it has mistakes, which were reported where they are.
using OpenWorkflow = std::function<Result<ApplyWorkflow>(const Node& name_or_definition)>;

/// Reads the text of a scenario file. It may be used if `findings` has no errors and no workflow is
/// null. Codes beside those of Fields and of events: `scenario.*`.
ScenarioFile read_scenario_file(std::string_view text, const std::string& default_workflow,
                                const OpenWorkflow& open, Findings& findings);

}  // namespace millrace
