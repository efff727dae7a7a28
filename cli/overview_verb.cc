// `millrace overview`: the instances of a namespace by status, and what asks for attention.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/empty_list.h"

namespace millrace {
namespace {

Ended show_overview(Session& session) {
  const Reply reply = TRY(session.client.send({.path = session.path({"overview"})}));
  if (session.output.format() != Format::kTable) {
    session.output.value(reply.body);
    return ExitCode::kOk;
  }
  Json items = Json::array();
  for (const Json& count : reply.body.value("counts", Json::array())) {
    items.push_back({{"workflow", count.at(0)}, {"status", count.at(1)}, {"count", count.at(2)}});
  }
  const bool is_empty = items.empty();
  session.output.list(
      {{"items", std::move(items)}},
      {field("WORKFLOW", "workflow"), field("STATUS", "status"), field("INSTANCES", "count")},
      "workflow");
  if (is_empty) {
    explain_empty_list(session, {.path = session.path({"instances"}), .query = {{"limit", "1"}}},
                       "instances");
  }
  for (const Json& one : reply.body.value("attention", Json::array())) {
    std::string line = one.value("kind", "");
    for (const char* const key : {"workflow", "service", "detail"}) {
      if (one.contains(key)) line += " " + one.value(key, "");
    }
    if (one.contains("count")) line += fmt::format(": {}", one.at("count").get<uint64_t>());
    session.console.out << "! " << harmless(line) << "\n";
  }
  return ExitCode::kOk;
}

}  // namespace

void add_overview_verb(CommandLine& commands) {
  commands.asking("overview",
                  "Shows the instances by workflow and status, and what asks for attention",
                  "millrace overview", show_overview);
}

}  // namespace millrace
