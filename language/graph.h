// The graph of a definition: its states and all ways between them, as values, as JSON and as a
// Mermaid flowchart. The graph is made from the parsed text by the grammar's tables, so it has
// states of every type and every transition. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "language/document.h"

namespace millrace {

struct GraphState {
  std::string id;
  std::string type;
  size_t line = 0;                 ///< where the state begins, from 1
  std::vector<std::string> waits;  ///< the types of the events that the state waits for
  std::vector<std::string> calls;  ///< the functions that the state calls, each once
  std::string undo;                ///< the function of its `compensate`; empty: it has none
  bool compensates = false;        ///< an Error state with `compensate: true`
};

/// A limit of the starts of the workflow, or of calls.
struct GraphLimit {
  std::string kind;  ///< its key in the definition, such as `concurrency`
  /// The function whose calls it limits, or the state that makes them; both empty: of the starts.
  std::string function = {};
  std::string state = {};
  std::string text;  ///< its keys and values: `limit 2, key jq(.customer)`
  size_t line = 0;   ///< where the key is written, from 1
};

/// What an instance follows a way for.
enum class WayKind {
  kTransition,  ///< the state is done
  kCondition,   ///< the condition of an entry of `conditions` is true
  kEvent,       ///< the event of an entry of `events` has arrived
  kDefault,     ///< no condition is true
  kCatch,       ///< an entry of `catch` matches the error
  kOnFailure,   ///< the instance as a whole has timed out or failed
};

/// `transition`, `condition`, `event`, `default`, `catch` or `on_failure`.
std::string_view to_string(WayKind kind);

struct GraphWay {
  std::optional<size_t> from;  ///< the number of a state; nullopt: any state (kOnFailure)
  std::optional<size_t> to;    ///< the number of a state; nullopt: the instance ends
  WayKind kind = WayKind::kTransition;
  std::string label;  ///< the condition, the type of the event or the error codes; may be empty
  size_t line = 0;    ///< where the way is written, from 1
  bool is_next_run = false;  ///< `continueAsNew`: the way leads to the next run, in the first state
  bool compensates = false;  ///< an `on_failure` with `compensate: true`
};

struct WorkflowGraph {
  size_t first = 0;                ///< the number of the state in which instances begin
  std::string start_label;         ///< the types of the start's events, or its schedule
  bool fails_any = false;          ///< `on_failure` applies to any failure, not only the timeout
  bool compensates = false;        ///< the workflow has `compensate: true`
  std::vector<GraphState> states;  ///< in the order of the text
  std::vector<GraphWay> ways;      ///< those of a state in the order of the text
  /// Those of the starts, of the functions, and of the states, each in the order of the text.
  std::vector<GraphLimit> limits;
};

/// The graph of a document that the loader accepts.
WorkflowGraph workflow_graph(const Node& document);

/// {"start":{"state","label"},
/// "states":[{"id","type","line","waits","calls","undo","compensates"}],
/// "ways":[{"from","to","kind","label","line","nextRun","compensates"}],
/// "limits":[{"kind","function","state","text","line"}],"compensates"}; `from` is null for
/// `on_failure`, `to` is null for the end of the instance, `nextRun` is true for a `continueAsNew`
/// and missing otherwise, `undo` is missing in a state without the call of a `compensate`, and
/// `limits` in a definition without limits. `compensates` is true where the definition has
/// `compensate: true`, and missing otherwise. Labels, and each value in the text of a limit, have
/// 60 characters at most.
Json to_json(const WorkflowGraph& graph);

/// The flowchart of a document that the loader accepts: the states with their types, the
/// transitions with their causes (dotted for `catch`, thick for `continueAsNew`), the start and the
/// ends; what undoes a state, and what makes the compensations; and, in a box of its own, the
/// limits in short.
std::string mermaid_graph(const Node& document);

}  // namespace millrace
