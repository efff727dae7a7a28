// The grammar of `millrace test`. The program runs the scenarios.
#include "cli/command_line.h"

namespace millrace {
namespace {

using PlayTests = decltype(ProgramVerbs::test);

Ended run_tests(Shell& shell, PlayTests play, TestOptions options) {
  const std::string& format = shell.flags().format;
  if (!format.empty() && format != "text" && format != "junit") {
    return wrong_usage("test -o: unknown format; expected text or junit");
  }
  options.as_junit = format == "junit";
  return play(shell.console(), options);
}

}  // namespace

void add_test_verb(CommandLine& commands, const ProgramVerbs& program) {
  auto [test, options] = commands.local<TestOptions>(
      "test", "Runs the scenarios of workflows, without a server",
      "millrace test examples/\n  millrace test order.test.yaml -o junit",
      [play = program.test](Shell& shell, const TestOptions& given) {
        return run_tests(shell, play, given);
      });
  test.option("path", options.paths,
              "Scenario files (order.test.yaml, not the workflow order.yaml), or folders that "
              "contain them",
              "DIR|FILE")
      .required();
  test.option("--only", options.only, "Run only scenarios whose names contain this");
}

}  // namespace millrace
