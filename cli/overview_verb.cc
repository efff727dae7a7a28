// `millrace overview`: the instances of a namespace by status, and what asks for attention.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/consequence.h"
#include "cli/empty_list.h"

namespace millrace {
namespace {

/// The verb, with its argument, that shows more of what asks for attention; empty: there is none.
std::string further_verb(const Json& one) {
  const std::string kind = one.value("kind", "");
  if (kind == "retrying") return "instance history " + one.value("instance", "");
  if (kind == "deadline") return "instance why " + one.value("instance", "");
  if (kind == "unknownNamespace") return "dlq list";
  if (kind == "incompleteGroups") {
    return "group list --workflow " + shell_word(one.value("workflow", ""));
  }
  if (kind == "compensationStopped") {
    return fmt::format("instance list --has compensations --workflow {}",
                       shell_word(one.value("workflow", "")));
  }
  if (kind == "pausedSource" || kind == "sourceWaits") {
    return "source describe " + shell_word(one.value("source", ""));
  }
  if (kind == "noWorkers") return "function describe " + shell_word(one.value("service", ""));
  return "";
}

std::string attention_line(const Session& session, const Json& one) {
  std::string line = one.value("kind", "");
  for (const char* const key : {"workflow", "state", "service", "source", "namespace", "detail"}) {
    if (one.contains(key)) line += " " + one.value(key, "");
  }
  if (one.contains("count")) line += fmt::format(": {}", one.at("count").get<uint64_t>());
  if (one.contains("running")) {
    line += fmt::format(" waiting, {} running", one.at("running").get<uint64_t>());
  }
  if (one.contains("at")) {
    line += fmt::format(": since {}, due {}", one.value("since", "-"), one.value("at", ""));
  } else if (one.contains("since")) {
    line += ", the oldest since " + one.value("since", "");
  }
  if (const std::string then = consequence_text(one); !then.empty()) line += ", then " + then;
  if (const std::string verb = further_verb(one); !verb.empty()) {
    const std::string ns = one.value("namespace", session.ns);
    line += fmt::format("; see `millrace -n {} {}`", shell_word(ns), verb);
  }
  return line;
}

std::string cut_line(const Json& one) {
  std::string line = one.value("kind", "") + ": there may be more";
  if (one.contains("exactUntil")) {
    line += fmt::format(" that are due at {} or later", one.value("exactUntil", ""));
  }
  if (one.contains("detail")) line += ": " + one.value("detail", "");
  return line;
}

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
    session.console.out << "! " << harmless(attention_line(session, one)) << "\n";
  }
  for (const Json& one : reply.body.value("cut", Json::array())) {
    session.console.out << "! " << harmless(cut_line(one)) << "\n";
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
