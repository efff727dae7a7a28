// `millrace find`: what a text names.
#include "cli/command_line.h"

namespace millrace {
namespace {

Ended find_text(Session& session, const std::string& text) {
  const Reply reply =
      TRY(session.client.send({.path = session.path({"find"}), .query = {{"q", text}}}));
  session.output.list(reply.body, {field("KIND", "kind"), field("ID", "id"), field("IS", "label")},
                      "id");
  return reply.body["items"].empty() ? ExitCode::kNotFound : ExitCode::kOk;
}

}  // namespace

void add_find_verb(CommandLine& commands) {
  auto [find, text] = commands.asking<std::string>(
      "find",
      "Finds instances and workflows by the beginning of their id, instances by their idempotency "
      "key, events by their sequence or id, and dead letters by their id, reason or event id",
      "millrace find order", find_text);
  find.option("text", text, "The beginning of an id, a key, a sequence, a reason, or an event id")
      .required();
}

}  // namespace millrace
