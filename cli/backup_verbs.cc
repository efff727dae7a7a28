// The grammar of `millrace backup` and `millrace restore`. The program reads and writes the stores.
#include "cli/command_line.h"
#include "cli/quantity.h"

namespace millrace {
namespace {

/// The lowest limit of --rate. The server ends a backup whose next chunk is asked for too late, and
/// a slower caller could not read a chunk with the largest row in time.
constexpr uint64_t kLeastRate = uint64_t{1} << 20;

struct BackupFlags {
  BackupOptions options;
  std::string rate;
};

void add_backup(CommandLine& commands, decltype(ProgramVerbs::backup) run) {
  auto [backup, flags] = commands.asking<BackupFlags>(
      "backup", "Writes a backup of a store, while its server runs or when it is stopped",
      "millrace backup /backups/monday --rate 20MiB\n  millrace backup - > monday.tar",
      [&shell = commands.shell(), run](Session& session, const BackupFlags& given) -> Ended {
        BackupOptions options = given.options;
        options.data = shell.setting(options.data, {"MILLRACE_DATA"});
        if (!given.rate.empty()) options.rate = TRY(read_number("rate", given.rate));
        if (options.rate > 0 && options.rate < kLeastRate) {
          return wrong_usage("--rate: " + given.rate + " is too low; expected at least " +
                             bytes_text(kLeastRate));
        }
        return run(session, options);
      });
  backup
      .option("destination", flags.options.destination,
              "A new or empty folder; `-` for a tar stream on standard output", "DIR|-")
      .required();
  backup.option("--data", flags.options.data,
                "Data folder of a stopped server (MILLRACE_DATA); without a folder, or if it is in "
                "use, the server gives out its store",
                "DIR");
  backup.option("--rate", flags.rate, "The most bytes per second that are read (default: no limit)",
                "BYTES|MiB|GiB|TiB");
}

void add_restore(CommandLine& commands, decltype(ProgramVerbs::restore) run) {
  auto [restore, flags] = commands.local<RestoreOptions>(
      "restore", "Makes a data folder from a backup; exit 1 if it does not pass the store check",
      "millrace restore /backups/monday --data /var/lib/millrace --secret-key-file millrace.key",
      [run](Shell& shell, RestoreOptions given) -> Ended {
        Console& console = shell.console();
        Output output(console, TRY(parse_format(shell.flags().format, console.out_is_terminal)));
        given.data = shell.setting(given.data, {"MILLRACE_DATA"});
        given.secret_key_file = shell.setting(given.secret_key_file, {"MILLRACE_SECRET_KEY_FILE"});
        if (given.data.empty()) return wrong_usage("--data or MILLRACE_DATA is required");
        if (given.copy_key && given.secret_key_file.empty()) {
          return wrong_usage("--copy-key needs --secret-key-file or MILLRACE_SECRET_KEY_FILE");
        }
        return run(console, output, given);
      });
  restore
      .option("backup", flags.backup,
              "The folder of a backup; `-` for a tar stream on standard input", "DIR|-")
      .required();
  restore.option("--data", flags.data,
                 "Data folder to make; it must be missing or empty; required (MILLRACE_DATA)",
                 "DIR");
  restore.option("--secret-key-file", flags.secret_key_file,
                 "File with the key of the store, which is not in a backup "
                 "(MILLRACE_SECRET_KEY_FILE)",
                 "FILE");
  restore.flag("--copy-key", flags.copy_key,
               "Write the key into the data folder, for a server without --secret-key-file");
  restore.flag("--take-over", flags.take_over,
               "Keep the id of the store: the restored store replaces the original");
  restore.flag("--keep", flags.keep,
               "If the restore fails, keep its temporary folder (DIR.partial)");
}

}  // namespace

void add_backup_verbs(CommandLine& commands, const ProgramVerbs& program) {
  if (program.backup != nullptr) add_backup(commands, program.backup);
  if (program.restore != nullptr) add_restore(commands, program.restore);
}

}  // namespace millrace
