// Schemas of errors, and of the findings about a definition.
#include "gateway/api_schemas.h"
#include "gateway/schema_parts.h"

namespace millrace {

void add_problem_schemas(ApiSchemas& all) {
  using namespace schema;
  all["Problem"].schema = object({
      {"type", text("Always about:blank.")},
      {"title", text("The reason phrase of the HTTP status.")},
      {"status", whole("The HTTP status.", 400)},
      {"code", text("The stable code of the error; docs/errors.md lists all codes.")},
      {"detail", text("What is wrong, for people. The text may change between releases.")},
      {"errors?", list(ref("Mistake"))},
  });
  all["Problem"].media = {{"application/problem+json", {{"schema", ref("Problem")}}}};
  // A finding about a definition, or a mistake in the input of a workflow.
  all["Mistake"].schema = object({
      {"path", text("The place, such as `states[0].timeout` or `.order.id`.")},
      {"message", text("What is wrong.")},
      {"line?", whole("The line of a place in a definition, from 1; 0: the whole document.")},
      {"column?", whole("The column of a place in a definition, from 1; 0: the whole line.")},
      {"code?", text("The stable code of a finding.")},
      {"severity?", word({"error", "warning", "note"})},
  });
  all["Finding"].schema = object({
      {"path", text("The place in the definition, such as `states[0].timeout`.")},
      {"line", whole("The line of the place, from 1; 0: the whole document.")},
      {"column", whole("The column of the place, from 1; 0: the whole line.")},
      {"message", text("What is wrong, and how to correct it.")},
      {"code", text("The stable code of the finding.")},
      {"severity", word({"error", "warning", "note"})},
  });
  all["Findings"].schema = object({
      {"errors", list(ref("Finding"))},
      {"omitted?", whole("How many further findings are not listed.", 1)},
  });
}

}  // namespace millrace
