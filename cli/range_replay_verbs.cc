// `millrace replay`: lists, shows and stops replays of ranges of the event stream, which
// `millrace event replay` begins and the server continues without it.
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/empty_list.h"
#include "cli/output.h"

namespace millrace {
namespace {

/// The sequences of the range: `1-18`.
std::string range_text(const Json& replay) {
  return fmt::format("{}-{}", replay.value("first", uint64_t{0}),
                     replay.value("last", uint64_t{0}));
}

/// What may take the events: a workflow or an instance; `-`: each listener.
std::string target_of_replay(const Json& replay) {
  const Json to = replay.value("to", Json::object());
  for (const char* const member : {"workflow", "instance"}) {
    if (to.contains(member)) return harmless(to.value(member, ""));
  }
  return "-";
}

/// Why a running replay sends nothing now, or why it has failed: an error code; `-`: nothing.
std::string hindrance_text(const Json& replay) {
  for (const char* const member : {"waits", "error"}) {
    const std::string code = replay.value(member, Json::object()).value("code", "");
    if (!code.empty()) return harmless(code);
  }
  return "-";
}

Ended list_replays(Session& session) {
  const ApiCall call{.path = session.path({"replays"})};
  const Reply all = TRY(session.client.send(call));
  session.output.list(
      all.body,
      {field("ID", "id"), field("STATE", "state"), age("AGE", "createdAt", session.console.now()),
       flag("DRY RUN", "dryRun"), Column{"RANGE", range_text}, field("TYPE", "type"),
       field("SOURCE", "source"), Column{"TO", target_of_replay}, field("MATCHED", "matched"),
       field("SENT", "sent"), field("POSITION", "position"), Column{"ERROR", hindrance_text}},
      "id");
  if (all.body.at("items").empty()) explain_empty_list(session, call, "replays");
  return ExitCode::kOk;
}

Ended show_replay(Session& session, const std::string& id) {
  const Reply reply = TRY(session.client.send({.path = session.path({"replays", id})}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

Ended stop_replay(Session& session, const std::string& id) {
  const Reply reply =
      TRY(session.client.send({.method = "DELETE", .path = session.path({"replays", id})}));
  session.output.item(reply.body, "id");
  return ExitCode::kOk;
}

}  // namespace

void add_range_replay_verbs(CommandLine& commands) {
  CommandLine replay =
      commands.noun("replay", "Replays of ranges of the event stream, which `event replay` begins");
  replay.asking("list", "Lists the replays of ranges and their progress, newest first",
                "millrace replay list", list_replays);
  auto [show, shown] = replay.asking<std::string>(
      "show", "Shows a replay of a range and its progress",
      "millrace replay show 6f1c0e2a9b7d4c58a1e3f50b7d2c9a44", show_replay);
  show.option("ID", shown, "The id of the replay, from `replay list`").required();
  auto [stop, stopped] = replay.asking<std::string>(
      "stop", "Stops a replay of a range; the events that it has sent stay",
      "millrace replay stop 6f1c0e2a9b7d4c58a1e3f50b7d2c9a44", stop_replay);
  stop.option("ID", stopped, "The id of the replay, from `replay list`").required();
}

}  // namespace millrace
