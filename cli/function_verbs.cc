// `millrace function`: pauses and resumes the calls of services.
#include "cli/command_line.h"
#include "cli/pausing.h"

namespace millrace {
namespace {

Ended control_function(Session& session, const std::string& verb, const std::string& service) {
  const Reply reply = TRY(
      session.client.send({.method = "POST", .path = session.path({"functions", service, verb})}));
  session.output.item(reply.body, "name");
  return ExitCode::kOk;
}

}  // namespace

void add_function_verbs(CommandLine& commands) {
  CommandLine function = commands.noun("function", "Services that workflows call");
  add_pausing(function, "function", "the calls of a service", "charge", "Name of the service",
              control_function);
}

}  // namespace millrace
