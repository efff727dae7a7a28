#include "cli/app.h"

#include <fmt/format.h>

#include "base/defaults.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "cli/command_parser.h"
#include "cli/shell.h"

namespace millrace {
namespace {

void add_global_options(Verb all, GlobalFlags& flags) {
  all.option("--url", flags.url,
             fmt::format("URL of the server (MILLRACE_URL; default: {})", defaults::server_url()),
             "URL");
  all.option(
      "--token-file", flags.token_file,
      "File with the token for the server (MILLRACE_TOKEN_FILE; MILLRACE_TOKEN holds the token "
      "itself)",
      "FILE");
  all.option("-n,--namespace", flags.ns, "The namespace (MILLRACE_NAMESPACE; default: default)",
             "NAME");
  all.option(
      "-o,--output", flags.format,
      "Output format: table (default on a terminal), json (default otherwise), jsonl, yaml or "
      "name",
      "FORMAT");
  all.flag("--stale", flags.is_stale,
           "In a cluster, let the node at --url answer reads from its own folder, and show how old "
           "the answer is");
}

/// Runs the command line. A server that is not a millrace of this release may answer with JSON of
/// another form than the command reads.
Ended run_command(CommandParser& parser, std::vector<std::string> arguments, std::ostream& out) {
  try {
    return parser.run(std::move(arguments), out);
  } catch (const Json::exception&) {
    return give_up(
        ExitCode::kFailed, "client.answer",
        "the server answered with JSON of another form than this command reads; expected "
        "a millrace server of release " MILLRACE_VERSION "; check --url or MILLRACE_URL");
  }
}

}  // namespace

int run_app(std::vector<std::string> arguments, Console& console, const ProgramVerbs& program) {
  Shell shell(console);
  CommandParser parser("millrace", "Event-driven workflows on NATS.", "millrace " MILLRACE_VERSION);
  add_global_options(parser.globals(), shell.flags());
  CommandLine commands(parser.commands(), shell);
  add_all_verbs(commands, program);
  return shell.end(run_command(parser, std::move(arguments), console.out));
}

}  // namespace millrace
