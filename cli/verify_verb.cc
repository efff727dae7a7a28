// The grammar of `millrace verify`. The program checks the store.
#include "cli/command_line.h"

namespace millrace {

void add_verify_verb(CommandLine& commands, const ProgramVerbs& program) {
  auto [verify, options] = commands.asking<VerifyOptions>(
      "verify", "Checks every row of a store and reports findings; exit 1 if there are any",
      "millrace verify --data /var/lib/millrace",
      [&shell = commands.shell(), check = program.verify](Session& session, VerifyOptions given) {
        given.data = shell.setting(given.data, {"MILLRACE_DATA"});
        given.secret_key_file = shell.setting(given.secret_key_file, {"MILLRACE_SECRET_KEY_FILE"});
        return check(session, given);
      });
  verify.option(
      "--data", options.data,
      "Data folder (MILLRACE_DATA); without a folder, or if it is in use, the server checks "
      "its store",
      "DIR");
  verify.option(
      "--secret-key-file", options.secret_key_file,
      "File with the key that encrypts secrets (MILLRACE_SECRET_KEY_FILE; default: the key "
      "in the data folder)",
      "FILE");
}

}  // namespace millrace
