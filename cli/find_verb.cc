// `millrace find`: what a text names.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/other_namespaces.h"

namespace millrace {
namespace {

/// What a found item is; of an event also the command that explains it.
Column what_it_is(const Session& session) {
  return {"IS", [label = field("IS", "label"), ns = session.ns](const Json& item) {
            const std::string text = label.cell(item);
            if (item.value("kind", "") != "event") return text;
            return fmt::format("{}; see `millrace -n {} event why {}`", text, shell_word(ns),
                               shell_word(item.value("id", "")));
          }};
}

/// The other namespaces that have something of this name; if none has, those that have instances.
std::string elsewhere_text(Session& session, const ApiCall& call) {
  const auto have_it = find_in_other_namespaces(session, call);
  if (!have_it.empty()) return other_namespaces_text(have_it);
  const ApiCall instances{.path = session.path({"instances"}), .query = {{"limit", "1"}}};
  return other_namespaces_text(find_in_other_namespaces(session, instances), "instances");
}

/// Says what was looked for and where, and what to do about a text that names nothing. As a verb
/// that ends with kNotFound, it does so in all formats.
std::string nothing_found_text(Session& session, const ApiCall& call, const std::string& text,
                               bool is_complete) {
  const std::string program = "millrace -n " + shell_word(session.ns);
  std::string says = fmt::format(
      "no such instances, workflows, events or dead letters in namespace {}{}\n"
      "`find` looks for the beginning of the id of an instance or a workflow, for an idempotency "
      "key, for the sequence or the id of an event, and for the id, the reason or the event id of "
      "a dead letter; a value of an attribute or of a correlation is found by "
      "`{} event list --attr NAME=VALUE`, `{} instance list --correlation VALUE` and "
      "`{} group list`\n",
      session.ns, elsewhere_text(session, call), program, program, program);
  if (is_complete) return says;
  return says + fmt::format(
                    "not all events and dead letters were looked at: `{} event list --id {}` also "
                    "finds older events\n",
                    program, shell_word(text));
}

Ended find_text(Session& session, const std::string& text) {
  const ApiCall call{.path = session.path({"find"}), .query = {{"q", text}}};
  const Reply reply = TRY(session.client.send(call));
  session.output.list(reply.body, {field("KIND", "kind"), field("ID", "id"), what_it_is(session)},
                      "id");
  if (!reply.body.value("items", Json::array()).empty()) return ExitCode::kOk;
  session.console.err << harmless(
      nothing_found_text(session, call, text, reply.body.value("complete", true)), kLineEnds);
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
