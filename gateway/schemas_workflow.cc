// Schemas of workflows and their revisions.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {

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
  all["WorkflowApplied"].schema = object({
      {"id", text()},
      {"revision?", whole("The newest revision; missing: `dry_run` was set.", 1)},
      {"changed", flag("false: the newest revision has this text.")},
      {"dryRun?", exactly(true)},
      {"warnings?", list(ref("Finding"))},
  });
  // A deletion of leftovers by their number answers {"number","kept"}.
  all["WorkflowDeleted"].schema =
      either({object({{"cancelled", whole("How many instances were cancelled.")}}),
              object({{"number", whole()}, {"kept", flag()}})});
  all["WorkflowPaused"].schema = object({
      {"id", text()},
      {"paused", flag()},
      {"changed", whole("How many instances were paused or resumed.")},
  });
}

}  // namespace millrace
