// The grammar of `millrace verify`; the program checks the store.
#include "cli/command_line.h"

namespace millrace {

void add_verify_verb(CommandLine& commands, const ProgramVerbs& program) {
  auto [verify, options] = commands.asking<VerifyOptions>(
      "verify", "Checks every row of a store and says what does not fit; exit 1 if so",
      "millrace verify --data /var/lib/millrace",
      [&shell = commands.shell(), check = program.verify](Session& session, VerifyOptions given) {
        given.data = shell.setting(given.data, {"MILLRACE_DATA"});
        given.secret_key_file = shell.setting(given.secret_key_file, {"MILLRACE_SECRET_KEY_FILE"});
        return check(session, given);
      });
  verify.option("--data", options.data,
                "Folder of the data (MILLRACE_DATA); where it is in use, or none is named, the "
                "server is asked",
                "DIR");
  verify.option("--secret-key-file", options.secret_key_file,
                "The key that secrets are sealed with (MILLRACE_SECRET_KEY_FILE; the one in the "
                "folder)",
                "FILE");
}

}  // namespace millrace
