// Schemas of workflows, their revisions and inputs, and of the workflow language.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {
namespace {

Json graph_of_states() {
  using namespace schema;
  const Json state = object({
      {"id", text()},
      {"type", text("The type of the state.")},
      {"line", whole("The line where the state begins.")},
      {"waits", list(text(), "The types of the events for which the state waits.")},
      {"calls", list(text(), "The functions that the state calls.")},
      {"undo?", text("The function of its `compensate`.")},
      {"compensates?", exactly(true, "An Error state with `compensate: true`.")},
  });
  const Json way = object({
      {"from", or_null(text("The id of a state; null: any state."))},
      {"to", or_null(text("The id of a state; null: the instance ends."))},
      {"kind", word({"transition", "condition", "event", "default", "catch", "on_failure"})},
      {"label", text("The condition, the type of the event or the error codes; may be empty.")},
      {"line", whole("The line where the way is written.")},
      {"nextRun?", exactly(true, "The way leads to the next run of the instance (continueAsNew).")},
      {"compensates?", exactly(true, "An `on_failure` with `compensate: true`.")},
  });
  const Json limit = object({
      {"kind",
       word({"singular", "rateLimit", "debounce", "batch", "concurrency", "throttle", "priority"},
            "Its key in the definition.")},
      {"function?", text("The id of the function whose calls it limits.")},
      {"state?", text("The id of the state whose calls it limits.")},
      {"text", text("Its keys and values, in short.")},
      {"line", whole("The line where it is written.")},
  });
  return object({
      {"id", text("The id of the workflow.")},
      {"revision", whole("", 1)},
      {"limits?", list(limit, "The limits of starts and of calls; missing: there are none.")},
      {"compensates?", exactly(true, "The workflow has `compensate: true`.")},
      {"start", object({{"state", or_null(text("The id of the first state."))},
                        {"label", text("The types of the events, or the schedule.")}})},
      {"states", list(state)},
      {"ways", list(way)},
  });
}

void add_input_schemas(ApiSchemas& all) {
  using namespace schema;
  all["InputSchema"].schema = object({
      {"schema", any("The JSON Schema of the input; null: the first state does not check it.")},
      {"from", or_null(text("The id of the state that checks the input."))},
      {"example", any("A value for a form to begin with.")},
  });
  all["InputToCheck"].schema = any("The input; no body: an empty object.");
  all["InputChecked"].schema =
      object({{"valid", exactly(true)}, {"errors", list(ref("Mistake"), "Empty.")}});
}

void add_language_schemas(ApiSchemas& all) {
  using namespace schema;
  all["ExpressionTrial"].schema = object({
      {"text", any("The expression, or a value whose strings contain expressions.")},
      {"as?", word({"query", "value", "template"}, "How it is read; missing: query.")},
      {"data?", any("The data of the instance; missing: an empty object.")},
      {"instance?", any("The value of `$instance`; missing: null.")},
  });
  all["ExpressionResult"].schema = object({{"result", any()}});
  all["DefinitionSchema"].schema = open_object({{"$schema", text()}});
}

}  // namespace

void add_workflow_schemas(ApiSchemas& all) {
  using namespace schema;
  all["Definition"].media = {{"application/yaml", {{"schema", text()}}},
                             {"*/*", {{"schema", text("YAML or JSON.")}}}};
  const Json head = object({
      {"id", text()},
      {"revision", whole("The newest revision.", 1)},
      {"start", word({"default", "event", "eventsXor", "eventsAnd", "scheduled"})},
      {"name", text()},
      {"paused", flag()},
      {"updatedAt", instant("When the newest revision was applied.")},
  });
  all["WorkflowHead"].schema =
      extended(head, {
                         {"counts?", map(whole(), "How many instances have each status.")},
                         {"nextTick?", instant("The next tick of the schedule.")},
                     });
  all["Workflows"].schema = page(ref("WorkflowHead"));
  all["Workflow"].schema = extended(
      head,
      {
          {"description", text()},
          {"version", text()},
          {"states", list(object({{"id", text()}, {"type", text("The type of the state.")}}))},
          {"definition", text("The text of the newest revision.")},
      });
  all["Revisions"].schema = page(object({
      {"revision", whole("", 1)},
      {"createdAt", instant()},
      {"definition?", text("The text of the revision; missing: `texts` was 0.")},
  }));
  all["Revision"].schema = object({
      {"workflow", text("The id of the workflow.")},
      {"revision", whole("", 1)},
      {"createdAt", instant()},
      {"definition", text("The text of the revision.")},
  });
  all["WorkflowGraph"].schema = graph_of_states();
  add_input_schemas(all);
  add_language_schemas(all);
  all["WorkflowApplied"].schema = object({
      {"id", text()},
      {"revision?", whole("The newest revision; missing: `dry_run` was set.", 1)},
      {"changed", flag("false: the newest revision has this text.")},
      {"dryRun?", exactly(true)},
      {"warnings?", list(ref("Finding"))},
  });
  // A deletion of leftovers by their number answers {"number","kept"}.
  all["WorkflowDeleted"].schema =
      either({deletion(), object({{"number", whole()}, {"kept", flag()}})});
  all["WorkflowPaused"].schema = object({
      {"id", text()},
      {"paused", flag()},
      {"changed", whole("How many instances were paused or resumed.")},
  });
}

}  // namespace millrace
