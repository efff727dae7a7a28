// StateFields: how a state type reads its fields: Fields (language/fields.h) and what a workflow
// adds to them: jq templates, transitions to other states, event patterns. Mistakes become findings
// and the reader goes on with an empty value; a definition with findings is never used.
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
#include "states/event_pattern.h"

namespace millrace {

/// A jq program that the fast lane does not take, and where it stands: for the workers to check.
struct PlacedProgram {
  std::string text;
  std::string path;
  Position at;
};

/// A JSON Schema as JSON, and where it stands: whether valijson can work with it is for the workers
/// to say.
struct PlacedSchema {
  std::string text;
  std::string path;
  Position at;
};

/// What all of one definition shares while it is loaded.
struct LoadContext {
  Findings& findings;
  std::map<std::string, StateIndex, std::less<>> states;                          ///< by id
  std::map<std::string, std::shared_ptr<const Function>, std::less<>> functions;  ///< by id
  std::map<std::string, WrittenTimeouts, std::less<>> function_timeouts;          ///< by id
  std::optional<RetryPolicy> default_retries;  ///< of actions that nothing else gives a policy
  bool has_defaults = false;                   ///< it names them, if only as none
  std::vector<PlacedProgram> programs;
  std::vector<PlacedSchema> schemas;
  std::map<std::string, std::string, std::less<>> schemas_by_id;  ///< as JSON
  /// How many ids may still be compared for "did you mean". Without a bound a text of 1 MiB, with
  /// thousands of states and as many wrong transitions, is compared for minutes.
  size_t ids_to_compare = 50'000;
};

/// Finds keys of a mapping that name one attribute, the names of attributes being lower case.
class AttributeNames {
 public:
  explicit AttributeNames(Findings& findings) : findings_(findings) {}
  void add(const Member& member, const std::string& path);

 private:
  Findings& findings_;
  std::map<std::string, std::string> first_;  ///< name → the key that had it first
};

class StateFields {
 public:
  StateFields(Fields& fields, LoadContext& context) : fields_(fields), context_(context) {}

  Fields& plain() { return fields_; }

  // jq. null and "" are as if the key were absent.

  /// `transform`, `condition` and their like: a bare string is itself a program.
  std::optional<Template> query(std::string_view key);
  Template required_query(std::string_view key);
  /// The other fields that the language calls a jq command: a bare string is a literal, `"."` the
  /// whole data.
  std::optional<Template> command(std::string_view key);
  /// Text that may contain `jq(…)`, and is not empty.
  Template required_text(std::string_view key);
  /// A list in which each item must be jq (`args`); empty if it is absent, nullopt if it is no
  /// list.
  std::optional<std::vector<Template>> commands(std::string_view key);
  /// A mapping with keys of the author's choice and templates as values.
  void texts(
      std::string_view key,
      const std::function<void(const Member& member, const std::string& path, Template)>& read);

  /// Text without jq that is not empty.
  std::string required_nonempty(std::string_view key);
  /// A media type.
  std::optional<std::string> content_type(std::string_view key);

  /// The JSON of a schema that stands here, or whose id does. Empty if there is none.
  std::string required_schema(std::string_view key);
  /// The JSON of a schema that must stand here itself.
  std::string required_inline_schema(std::string_view key);

  // The way on.

  std::optional<StateIndex> transition(std::string_view key);
  Exit exit(std::string_view transform_key, std::string_view transition_key);

  // Actions.

  /// The function of that id; a null one, reported, where there is none.
  std::shared_ptr<const Function> required_function(std::string_view key);
  /// What the action says of retries and timeouts, and what it leaves open from farther away: from
  /// its state, which has these `retries`, from its function, and from the workflow.
  ActionPolicy action_policy(const Function* function, const std::optional<RetryPolicy>& retries);

  // Events.

  /// `event: {type, context}`.
  EventPattern required_event(std::string_view key);
  /// An item of `events`, flat or with an `event` in it.
  EventPattern event_of_entry();
  /// The same for a start, where no jq may stand.
  StartEvent required_start_event(std::string_view key);
  StartEvent start_event_of_entry();

  // Nested.

  void required_object(std::string_view key, const std::function<void(StateFields&)>& read);
  /// A list of mappings, at least one.
  void required_list(std::string_view key, const std::function<void(StateFields&)>& read);

  /// A time longer than zero.
  Span required_duration(std::string_view key);

 private:
  using Reader = Result<Template> (*)(const Json& value);

  /// Whether jq may stand in an event's context.
  enum class Jq { kHere, kNotHere };

  std::optional<Template> read(const Node& node, const std::string& path, Reader reader);
  std::optional<Template> read(std::string_view key, Reader reader);
  /// Reads the strings in a value one by one: what is wrong with one is reported, and its programs
  /// are noted, at its own place.
  void place(const Node& node, const std::string& path, Reader reader);
  void report_empty(std::string_view key);
  void check_temporal(const WrittenTimeouts& own, const WrittenTimeouts& all);
  std::string inline_schema(std::string_view key, std::string_view wanted);
  std::string likely_state(std::string_view id);

  EventPattern event_in(std::string_view key, Jq jq);
  EventPattern event_of_entry(Jq jq);
  EventPattern event_pattern(Jq jq);
  std::string event_type();
  EventPattern::Attribute context_attribute(const Member& member, const std::string& path, Jq jq);

  Fields& fields_;
  LoadContext& context_;
};

}  // namespace millrace
