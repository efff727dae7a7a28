// `millrace find`: what a text names.
#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/other_namespaces.h"

namespace millrace {
namespace {

/// The command that shows more of a found item; empty: the columns name it.
std::string command_about(const Json& item) {
  const std::string kind = item.value("kind", "");
  const std::string id = shell_word(item.value("id", ""));
  if (kind == "group") return "group list";
  if (kind == "event") return "event why " + id;
  if (kind == "task") return "instance calls " + shell_word(item.value("instance", ""));
  if (kind == "source" || kind == "webhook") return kind + " describe " + id;
  if (kind == "service") return "function describe " + id;
  if (kind == "pendingStart")
    return "queue list --workflow " + shell_word(item.value("workflow", ""));
  return "";
}

/// What a found item is, and the command that shows more.
Column what_it_is(const Session& session) {
  return {"IS", [label = field("IS", "label"), ns = session.ns](const Json& item) {
            const std::string text = label.cell(item);
            const std::string command = command_about(item);
            if (command.empty()) return text;
            return fmt::format("{}; see `millrace -n {} {}`", text, shell_word(ns), command);
          }};
}

/// Says that events and dead letters were not looked at; empty: they were.
std::string not_read_text(const Json& answer) {
  if (!answer.contains("notRead")) return "";
  return fmt::format(
      "the broker did not answer, so not all events and dead letters were looked at: {}\n",
      answer["notRead"].value("msg", ""));
}

/// Says what was looked for and where, and what to do about a text that names nothing. As a verb
/// that ends with kNotFound, it does so in all formats.
std::string nothing_found_text(Session& session, const ApiCall& call, const std::string& text,
                               const Json& answer) {
  const std::string program = "millrace -n " + shell_word(session.ns);
  std::string says = fmt::format(
      "nothing in namespace {} has this id, key or name{}\n"
      "`find` looks for the beginning of the id of an instance or a workflow, for the whole id of "
      "an instance that `debounce` or `batch` has put off, for an idempotency "
      "key, for the id of a group, for the id of a task that has not ended, for the id of a replay "
      "of a range, for the name of a source, an inbound webhook or a service, for the sequence or "
      "the id of an event, and for the id, the reason or the event id of a dead letter; `{} "
      "listener list --value {}` shows the instances that wait for an event "
      "with "
      "this value of an attribute; values of events and groups are found by "
      "`{} event list --attr NAME=VALUE`, `{} instance list --correlation VALUE` and "
      "`{} group list`\n",
      session.ns, other_namespaces_text(find_in_other_namespaces(session, call)), program,
      shell_word(text), program, program, program);
  if (answer.value("complete", true) || answer.contains("notRead")) return says;
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
  const bool is_found = !reply.body.value("items", Json::array()).empty();
  const std::string nothing = is_found ? "" : nothing_found_text(session, call, text, reply.body);
  session.console.err << harmless(nothing + not_read_text(reply.body), kLineEnds);
  if (is_found) return ExitCode::kOk;
  return ExitCode::kNotFound;
}

}  // namespace

void add_find_verb(CommandLine& commands) {
  auto [find, text] = commands.asking<std::string>(
      "find",
      "Finds instances and workflows by the beginning of their id, instances by their idempotency "
      "key, starts that `debounce` or `batch` has put off by the id of their instance, groups, "
      "tasks that have not ended and replays of ranges by their id, sources, inbound "
      "webhooks and services by their name, events by their sequence or id, and dead letters by "
      "their id, reason or event id",
      "millrace find order", find_text);
  find.option("text", text,
              "The beginning of an id, a key, a name, a sequence, a reason, or an event id")
      .required();
}

}  // namespace millrace
