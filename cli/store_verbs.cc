// The grammar of `millrace store`. The program reads and compacts the stores.
#include "cli/command_line.h"

namespace millrace {
namespace {

void add_store_info(CommandLine& commands, decltype(ProgramVerbs::store_info) show) {
  auto [info, options] = commands.asking<StoreInfoOptions>(
      "info", "Shows the size of a store: files, used and free pages, instances of each namespace",
      "millrace store info --data /var/lib/millrace",
      [&shell = commands.shell(), show](Session& session, StoreInfoOptions given) {
        given.data = shell.setting(given.data, {"MILLRACE_DATA"});
        return show(session, given);
      });
  info.option("--data", options.data,
              "Data folder (MILLRACE_DATA); without a folder, or if it is in use, the server shows "
              "its store",
              "DIR");
}

void add_compact(CommandLine& commands, decltype(ProgramVerbs::compact) run) {
  auto [compact, options] = commands.local<CompactOptions>(
      "compact",
      "Makes data.mdb of a stopped server as small as its rows; needs disk space for a copy",
      "millrace store compact --data /var/lib/millrace",
      [run](Shell& shell, CompactOptions given) -> Ended {
        Console& console = shell.console();
        Output output(console, TRY(parse_format(shell.flags().format, console.out_is_terminal)));
        given.data = shell.setting(given.data, {"MILLRACE_DATA"});
        if (given.data.empty()) return wrong_usage("--data or MILLRACE_DATA is required");
        return run(console, output, given);
      });
  compact.option("--data", options.data,
                 "Data folder of a stopped server; required (MILLRACE_DATA)", "DIR");
}

}  // namespace

void add_store_verbs(CommandLine& commands, const ProgramVerbs& program) {
  if (program.store_info == nullptr && program.compact == nullptr) return;
  CommandLine store = commands.noun("store", "The size of a store");
  if (program.store_info != nullptr) add_store_info(store, program.store_info);
  if (program.compact != nullptr) add_compact(store, program.compact);
}

}  // namespace millrace
