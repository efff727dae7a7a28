// `millrace function`: lists services, and pauses and resumes their calls.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/empty_list.h"
#include "cli/named_item.h"
#include "cli/pausing.h"

namespace millrace {
namespace {

Ended control_function(Session& session, const std::string& verb, const std::string& service) {
  return show_named(session,
                    {.method = "POST", .path = session.path({"functions", service, verb})});
}

ApiCall functions_call(const Session& session) { return {.path = session.path({"functions"})}; }

Fallible<Json> fetch_functions(Session& session) {
  Reply reply = TRY(session.client.send(functions_call(session)));
  if (!reply.body.value("complete", true)) {
    session.console.err << "there are more tasks than the server looks at in one call; the numbers "
                           "are too small\n";
  }
  return std::move(reply.body);
}

/// A column with a member of the object `key`.
Column inner(std::string title, const std::string& key, const std::string& member) {
  return {std::move(title), [key, member](const Json& item) -> std::string {
            const auto found = item.find(key);
            if (found == item.end() || !found->contains(member)) return "-";
            const Json& value = found->at(member);
            return value.is_string() ? value.get<std::string>() : dump_json(value);
          }};
}

Ended list_functions(Session& session) {
  const Json all = TRY(fetch_functions(session));
  session.output.list(
      all,
      {field("SERVICE", "service"), inner("KIND", "target", "kind"), flag("PAUSED", "paused"),
       field("WAITING", "waiting"), field("QUEUED", "queued"), field("RUNNING", "running"),
       field("ASKING", "asking"), age("OLDEST", "oldest", session.console.now()),
       inner("P99 START", "scheduleToStart", "p99"), inner("LAST ERROR", "lastError", "code")},
      "service");
  if (all.at("items").empty()) explain_empty_list(session, functions_call(session), "services");
  return ExitCode::kOk;
}

Ended describe_function(Session& session, const std::string& service) {
  const Json all = TRY(fetch_functions(session));
  for (const Json& item : all.at("items")) {
    if (item.at("service") != service) continue;
    session.output.item(item, "service");
    return ExitCode::kOk;
  }
  return give_up(
      ExitCode::kNotFound, "function.not_found",
      fmt::format("the settings of namespace {} name no service {}, and no task is for it",
                  session.ns, service));
}

}  // namespace

void add_function_verbs(CommandLine& commands) {
  CommandLine function = commands.noun("function", "Services that workflows call");
  function.asking("list", "Lists the services, and how many tasks wait and run",
                  "millrace function list", list_functions);
  auto [describe, described] =
      function.asking<std::string>("describe", "Shows a service, its tasks and its latest error",
                                   "millrace function describe charge", describe_function);
  describe.option("service", described, "Name of the service", "SERVICE").required();
  add_pausing(function, "function", "the calls of a service", "charge", "Name of the service",
              control_function);
}

}  // namespace millrace
