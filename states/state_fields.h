// StateFields: the interface through which a state type reads its fields. StateFields extends
// Fields (language/fields.h) with the values of workflows: jq templates, transitions to other
// states, event patterns. Mistakes become findings, and the reader continues with an empty value. A
// definition with errors is never used.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expressions/template.h"
#include "language/document.h"
#include "language/fields.h"
#include "language/findings.h"
#include "language/policy_fields.h"
#include "matchers/event_filter.h"
#include "model/definition.h"
#include "policies/duration.h"
#include "policies/evaluated_time.h"
#include "states/event_pattern.h"

namespace millrace {

/// A jq program that the fast lane cannot run, with its position. A jq worker checks such a
/// program.
struct PlacedProgram {
  std::string text;
  std::string path;
  Position at;
};

/// A JSON Schema as JSON text, with its position. A jq worker checks whether valijson can use it.
struct PlacedSchema {
  std::string text;
  std::string path;
  Position at;
};

/// The data that all states of one definition share while it is loaded.
struct LoadContext {
  Findings& findings;
  std::map<std::string, StateIndex, std::less<>> states;                          ///< by id
  std::map<std::string, std::shared_ptr<const Function>, std::less<>> functions;  ///< by id
  std::map<std::string, WrittenTimeouts, std::less<>> function_timeouts;          ///< by id
  std::optional<RetryPolicy> default_retries;  ///< the retry policy of actions without any other
  bool has_defaults = false;                   ///< the definition has the key `defaults`
  bool names_instance = false;                 ///< a jq program names `$instance`
  std::vector<PlacedProgram> programs;
  std::vector<PlacedSchema> schemas;
  std::map<std::string, std::string, std::less<>> schemas_by_id;  ///< as JSON
  /// How many comparisons of ids for "did you mean" are still allowed. Without a limit, a text of 1
  /// MiB with thousands of states and as many wrong transitions, or of functions and wrong calls,
  /// would need minutes of comparing.
  size_t ids_to_compare = 50'000;
};

/// Reports keys of a mapping that name the same attribute. Names of attributes are lower case.
class AttributeNames {
 public:
  explicit AttributeNames(Findings& findings) : findings_(findings) {}
  void add(const Member& member, const std::string& path);

 private:
  Findings& findings_;
  std::map<std::string, std::string> first_;  ///< name → the first key with that name
};

class StateFields {
 public:
  StateFields(Fields& fields, LoadContext& context) : fields_(fields), context_(context) {}

  Fields& plain() { return fields_; }

  // Fields with jq. A value that is null or "" is treated like an absent key.

  /// A query such as `transform` or `condition`: a bare string is itself a program.
  std::optional<Template> query(std::string_view key);
  Template required_query(std::string_view key);
  /// A field that the language calls a jq command: a bare string is a literal, and `"."` means all
  /// data.
  std::optional<Template> command(std::string_view key);
  /// A text that may contain `jq(…)` and is not empty.
  Template required_text(std::string_view key);
  /// A list in which each item must be jq (`args`). Empty if the key is absent, nullopt if the
  /// value is not a list.
  std::optional<std::vector<Template>> commands(std::string_view key);
  /// A mapping with keys of the author's choice and templates as values.
  void texts(
      std::string_view key,
      const std::function<void(const Member& member, const std::string& path, Template)>& read);

  /// A text without jq that is not empty.
  std::string required_nonempty(std::string_view key);
  /// A media type.
  std::optional<std::string> content_type(std::string_view key);

  /// The JSON of a schema that is written here or named by its id. Empty after a finding.
  std::string required_schema(std::string_view key);
  /// The JSON of a schema that must be written here. Empty after a finding.
  std::string required_inline_schema(std::string_view key);

  // Transitions.

  std::optional<StateIndex> transition(std::string_view key);
  /// The query of `continueAsNew`, which may stand in the place of the key `transition_key` and not
  /// beside it.
  std::optional<Template> continue_as_new(std::string_view key, std::string_view transition_key);
  /// The keys of an exit; `is_default`: those of a switch whose conditions are all false.
  Exit exit(bool is_default = false);

  // Actions.

  /// The function with that id; null, with a finding, if it does not exist.
  std::shared_ptr<const Function> required_function(std::string_view key);
  /// The retries and timeouts of the action. A value that the action does not set comes from its
  /// state (`retries`), then from its function, then from the workflow.
  ActionPolicy action_policy(const Function* function, const std::optional<RetryPolicy>& retries);

  /// `concurrency`, `throttle` and `priority` of an action; what it does not set comes from its
  /// function. null: of a function itself. Finding `definition.not_here`: the function is a
  /// subflow.
  CallFlow call_flow(const Function* function);
  /// The keys of a `throttle` of starts or of calls, with its `key`, which the caller has read.
  /// nullopt: it has a mistake.
  std::optional<Throttle> throttle(std::optional<Template> key);
  /// A query over the input of a start or of a call (`of`: "start" or "call"). The engine evaluates
  /// it in the batch that commits that, so only programs of the fast lane are possible, and
  /// `$instance` has no value yet: finding `definition.query`.
  std::optional<Template> commit_query(std::string_view key, std::string_view of);

  // Events.

  /// `event: {type, context}`.
  EventPattern required_event(std::string_view key);
  /// An item of `events`, with or without the nesting under `event`.
  EventPattern event_of_entry();
  /// `event: {type, context}` of a start, which must not contain jq.
  StartEvent required_start_event(std::string_view key);
  /// An item of `events` of a start, which must not contain jq.
  StartEvent start_event_of_entry();

  // Nested values.

  void required_object(std::string_view key, const std::function<void(StateFields&)>& read);
  /// A list of at least one mapping.
  void required_list(std::string_view key, const std::function<void(StateFields&)>& read);

  // Times.

  /// A duration, or one that jq(…) in it yields when the instance comes to the state.
  std::optional<WrittenTime> duration(std::string_view key);
  /// The end of a wait: a time, a number of seconds since 1970 or a schedule, in which jq(…) is
  /// allowed. What is constant of it is checked.
  std::optional<EvaluatedTime> until(std::string_view key);

 private:
  using Reader = Result<Template> (*)(const Json& value);

  /// Whether jq is allowed in an event's context.
  enum class Jq { kHere, kNotHere };

  std::optional<Template> read(const Node& node, const std::string& path, Reader reader);
  std::optional<Template> read(std::string_view key, Reader reader);
  /// Reads the strings in a value one by one. A mistake or a jq program is recorded with the
  /// position of the string that contains it.
  void place(const Node& node, const std::string& path, Reader reader);
  void report_empty(std::string_view key);
  void check_temporal(const WrittenTimeouts& own, const WrittenTimeouts& all);
  std::string inline_schema(std::string_view key, std::string_view wanted);

  EventPattern event_in(std::string_view key, Jq jq);
  EventPattern event_of_entry(Jq jq);
  EventPattern event_pattern(Jq jq);
  std::optional<Duration> lookback();
  std::string event_type();
  static void check_schedule(Fields& schedule);
  EventPattern::Attribute context_attribute(const Member& member, const std::string& path, Jq jq);

  Fields& fields_;
  LoadContext& context_;
};

}  // namespace millrace
