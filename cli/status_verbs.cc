// `millrace status`, for people and for health checks of containers; and `millrace version`.
#include "cli/command_line.h"

namespace millrace {
namespace {

Ended show_status(Session& session) {
  const Reply reply = TRY(session.client.send({.path = "/readyz"}));
  session.output.item(reply.body, "status");
  return ExitCode::kOk;
}

Ended show_version(Shell& shell) {
  Console& console = shell.console();
  const std::string& format_name = shell.flags().format;
  if (format_name.empty() || format_name == "table") {
    console.out << "millrace " MILLRACE_VERSION "\n";
    return ExitCode::kOk;
  }
  const Format format = TRY(parse_format(format_name, console.out_is_terminal));
  Output(console, format).item({{"version", MILLRACE_VERSION}}, "version");
  return ExitCode::kOk;
}

}  // namespace

void add_status_verbs(CommandLine& commands) {
  commands.asking("status", "Shows whether the server is ready to accept events; exit 1 if not",
                  "millrace status", show_status);
  commands.local("version", "Prints the version of this program", "millrace version -o json",
                 show_version);
}

}  // namespace millrace
