// The grammar of `millrace test`; the program plays the scenarios.
#include "cli/command_line.h"

namespace millrace {
namespace {

using PlayTests = decltype(ProgramVerbs::test);

Ended run_tests(Shell& shell, PlayTests play, TestOptions options) {
  const std::string& format = shell.flags().format;
  if (!format.empty() && format != "text" && format != "junit") {
    return wrong_usage("test -o: there are text and junit");
  }
  options.as_junit = format == "junit";
  return play(shell.console(), options);
}

}  // namespace

void add_test_verb(CommandLine& commands, const ProgramVerbs& program) {
  auto [test, options] = commands.local<TestOptions>(
      "test", "Plays the scenarios beside workflows, without a server",
      "millrace test examples/\n  millrace test order.test.yaml -o junit",
      [play = program.test](Shell& shell, const TestOptions& given) {
        return run_tests(shell, play, given);
      });
  test.option("path", options.paths, "Scenario files (*.test.yaml), or folders that hold some",
              "DIR|FILE")
      .required();
  test.option("--only", options.only, "Only scenarios with this in their name");
}

}  // namespace millrace
