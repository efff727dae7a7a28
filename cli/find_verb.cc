// `millrace find`: what a text names.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/empty_list.h"

namespace millrace {
namespace {

/// Says on standard error what to do about a text that names nothing.
void explain_nothing(Session& session, const ApiCall& call, const std::string& text,
                     bool is_complete) {
  explain_empty_list(session, call, "instances, workflows, events or dead letters");
  if (is_complete || session.output.format() != Format::kTable) return;
  session.console.err << harmless(fmt::format("not all events and dead letters were looked at: "
                                              "`millrace -n {} event list --id {}` also "
                                              "finds older events\n",
                                              shell_word(session.ns), shell_word(text)),
                                  kLineEnds);
}

Ended find_text(Session& session, const std::string& text) {
  const ApiCall call{.path = session.path({"find"}), .query = {{"q", text}}};
  const Reply reply = TRY(session.client.send(call));
  session.output.list(reply.body, {field("KIND", "kind"), field("ID", "id"), field("IS", "label")},
                      "id");
  if (!reply.body.value("items", Json::array()).empty()) return ExitCode::kOk;
  explain_nothing(session, call, text, reply.body.value("complete", true));
  return ExitCode::kNotFound;
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
