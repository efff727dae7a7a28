// The command line as a whole: help, examples, unknown commands, exit codes, and the options that
// it passes to the verbs of the program.
#include <filesystem>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class CommandLineTest : public CliTest {};

/// The words of a command line as a shell would split it, up to a redirection.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  for (const char c : line + ' ') {
    if (c == '\'') {
      quoted = !quoted;
    } else if (c != ' ' || quoted) {
      word += c;
    } else if (word == "<" || word == ">") {
      return words;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, ""));
    }
  }
  return words;
}

TEST_F(CommandLineTest, HasHelpWithAnExampleForEveryVerb) {
  const std::vector<std::vector<std::string>> verbs = {
      {"serve"},
      {"dev"},
      {"lint"},
      {"graph"},
      {"explain"},
      {"schema"},
      {"openapi"},
      {"test"},
      {"run"},
      {"verify"},
      {"backup"},
      {"restore"},
      {"store", "info"},
      {"store", "compact"},
      {"status"},
      {"find"},
      {"cluster", "status"},
      {"cluster", "leave"},
      {"cluster", "remove"},
      {"cluster", "take-over"},
      {"version"},
      {"source", "apply"},
      {"source", "list"},
      {"source", "describe"},
      {"source", "try"},
      {"source", "pause"},
      {"source", "resume"},
      {"source", "delete"},
      {"webhook", "list"},
      {"webhook", "describe"},
      {"webhook", "try"},
      {"webhook", "pause"},
      {"webhook", "resume"},
      {"webhook", "delete"},
      {"workflow", "apply"},
      {"workflow", "list"},
      {"workflow", "get"},
      {"workflow", "revision"},
      {"workflow", "graph"},
      {"workflow", "delete"},
      {"instance", "list"},
      {"instance", "count"},
      {"instance", "calls"},
      {"instance", "children"},
      {"instance", "get"},
      {"instance", "history"},
      {"instance", "scenario"},
      {"instance", "why"},
      {"instance", "follow"},
      {"instance", "cancel"},
      {"instance", "delete"},
      {"event", "send"},
      {"event", "list"},
      {"event", "get"},
      {"event", "replay"},
      {"event", "tail"},
      {"event", "why"},
      {"event", "try"},
      {"replay", "list"},
      {"replay", "show"},
      {"replay", "stop"},
      {"schedule", "list"},
      {"schedule", "next"},
      {"schedule", "trigger"},
      {"next"},
      {"overview"},
      {"function", "list"},
      {"function", "describe"},
      {"call", "list"},
      {"call", "complete"},
      {"call", "fail"},
      {"listener", "list"},
      {"group", "list"},
      {"group", "drop"},
      {"queue", "list"},
      {"dlq", "list"},
      {"dlq", "show"},
      {"dlq", "replay"},
      {"dlq", "drop"},
      {"namespace", "list"},
      {"namespace", "get"},
      {"namespace", "create"},
      {"namespace", "delete"},
  };
  for (std::vector<std::string> verb : verbs) {
    const std::string name = fmt::format("{}", fmt::join(verb, " "));
    verb.emplace_back("--help");
    const CommandOutput printed = run(verb);
    EXPECT_EQ(printed.code, 0) << name;
    EXPECT_NE(printed.out.find("Example:\n  millrace " + name), std::string::npos) << printed.out;
  }
  EXPECT_EQ(run({"--version"}).out, "millrace 0.1.0\n");
}

TEST_F(CommandLineTest, SaysThatTheTimeoutOfAnEvaluationIsProcessorTime) {
  for (const char* const verb : {"serve", "run"}) {
    std::istringstream words(run({verb, "--help"}).out);
    std::string help;  // on one line
    for (std::string word; words >> word;) help += word + " ";
    EXPECT_NE(help.find("Timeout of the evaluation of one state, in processor time"),
              std::string::npos)
        << help;
  }
}

TEST_F(CommandLineTest, NamesAnUnknownCommand) {
  struct Row {
    std::vector<std::string> arguments;
    std::string begin;
  };
  const Row rows[] = {
      {{"bogus"},
       "millrace: \"bogus\" is not a command of `millrace`; expected one of: serve, dev, "},
      {{"bogus", "--help"},
       "millrace: \"bogus\" is not a command of `millrace`; expected one of: "},
      {{"--help", "bogus"},
       "millrace: \"bogus\" is not a command of `millrace`; expected one of: "},
      {{"-n", "shop", "bogus"},
       "millrace: \"bogus\" is not a command of `millrace`; expected one of: "},
      {{"workflows"},
       "millrace: \"workflows\" is not a command of `millrace`; did you mean "
       "\"workflow\"?; expected one of: "},
      {{"instance", "lst", "--help"},
       "millrace: \"lst\" is not a command of `millrace instance`; did you mean \"list\"?; "
       "expected one of: list, get, "},
      {{"event", "explain", "18"},
       "millrace: \"explain\" is not a command of `millrace event`; did you mean \"why\"?; "
       "expected one of: send, "},
      {{"dlq", "get", "7"},
       "millrace: \"get\" is not a command of `millrace dlq`; did you mean \"show\"?; "
       "expected one of: "},
      {{"secret", "explain"},
       "millrace: \"explain\" is not a command of `millrace secret`; expected one of: "},
      {{"instance"}, "millrace: `millrace instance` needs a command; expected one of: list, get, "},
      {{}, "millrace: `millrace` needs a command; expected one of: serve, "},
  };
  for (const Row& row : rows) {
    const CommandOutput printed = run(row.arguments);
    EXPECT_EQ(printed.code, 2) << row.begin;
    EXPECT_EQ(printed.out, "") << row.begin;
    EXPECT_EQ(printed.err.substr(0, row.begin.size()), row.begin);
  }
  for (const std::vector<std::string>& help :
       {std::vector<std::string>{"--help"}, {"instance", "--help"}, {"-n", "shop", "--help"}}) {
    EXPECT_EQ(run(help).code, 0);
  }
}

TEST_F(CommandLineTest, TakesTheWordHelpForTheOption) {
  struct Row {
    std::vector<std::string> arguments;
    std::vector<std::string> same_as;
  };
  const Row rows[] = {
      {{"help"}, {"--help"}},
      {{"help", "--help"}, {"--help"}},
      {{"help", "find"}, {"find", "--help"}},
      {{"help", "instance"}, {"instance", "--help"}},
      {{"help", "event", "why"}, {"event", "why", "--help"}},
      {{"-n", "shop", "help", "find"}, {"find", "--help"}},
      {{"help", "bogus"}, {"bogus", "--help"}},
  };
  for (const Row& row : rows) {
    const CommandOutput printed = run(row.arguments);
    const CommandOutput expected = run(row.same_as);
    EXPECT_EQ(printed.code, expected.code) << row.arguments.back();
    EXPECT_EQ(printed.out, expected.out) << row.arguments.back();
    EXPECT_EQ(printed.err, expected.err) << row.arguments.back();
  }
  EXPECT_EQ(run({"find", "help"}).out, "KIND      ID    IS\nworkflow  help  revision 1\n");
}

TEST_F(CommandLineTest, SaysThatAnOptionIsGivenMoreThanOnce) {
  const CommandOutput refused = run({"-n", "a", "-n", "b", "workflow", "list"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.err,
            "millrace: --namespace is given more than once; give it once\n"
            "run `millrace COMMAND --help` for usage\n");
}

TEST_F(CommandLineTest, SaysInItsHelpWhereAnEventIsExplained) {
  EXPECT_NE(run({"--help"}).out.find("Publish CloudEvents; see what became of them, and why"),
            std::string::npos);
}

TEST_F(CommandLineTest, AcceptsTheExamplesOfItsHelp) {
  apply_order();
  service_.end_at_once("complete");
  service_.end_watches();
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  for (const char* name : {"order.yaml", "payment.yaml", "workflows/a.yaml"}) {
    file(name, "id: order\nstates: [{id: one, type: noop}]\n");
  }
  for (const char* name : {"body.json", "event.json", "shop.json", "logo.png"}) {
    file(name, R"({"specversion": "1.0", "id": "8", "source": "s", "type": "t"})");
  }
  // Visits the `--help` of every command and its subcommands.
  std::vector<std::vector<std::string>> paths = {{}};
  size_t examples = 0;
  while (!paths.empty()) {
    const std::vector<std::string> path = paths.back();
    paths.pop_back();
    std::vector<std::string> arguments = path;
    arguments.emplace_back("--help");
    std::istringstream help(run(arguments).out);
    enum { kElsewhere, kCommands, kExamples } part = kElsewhere;
    for (std::string line; std::getline(help, line);) {
      if (line == "Subcommands:") {
        part = kCommands;
      } else if (line == "Example:") {
        part = kExamples;
      } else if (part == kCommands && line.starts_with("  ") && line[2] != ' ') {
        paths.push_back(path);
        paths.back().push_back(line.substr(2, line.find(' ', 2) - 2));
      } else if (part == kExamples && line.starts_with("  millrace ")) {
        const CommandOutput printed = run(words_of(line.substr(11)), "s3cr3t-of-16-characters");
        EXPECT_NE(printed.code, 2) << line << ": " << printed.err;
        ++examples;
      }
    }
  }
  std::filesystem::current_path(before);
  EXPECT_GT(examples, 40U);
}

TEST_F(CommandLineTest, EndsWithTheExitCodeOfTheError) {
  apply_order();
  struct Row {
    std::vector<std::string> arguments;
    int code;
  };
  ASSERT_EQ(run({"run", "order"}).code, 0);
  const Row rows[] = {
      {{"instance", "get", "0190b5a4-7c1e-7f2a-8000-000000000000"}, 3},
      {{"workflow", "list", "-n", "none"}, 3},
      {{"workflow", "delete", "order"}, 6},
      {{"workflow", "delete", "3", "--leftovers", "--cancel"}, 2},
      {{"namespace", "delete", "2", "--leftovers", "--cancel"}, 2},
      {{"workflow", "delete", "order", "--drop-compensations"}, 2},
      {{"namespace", "delete", "default"}, 6},
      {{"namespace", "create", "a b"}, 1},
      {{"workflow", "list", "--url", "http://127.0.0.1:1"}, 5},
      {{"workflow", "list", "--url", "ftp://127.0.0.1"}, 2},
      {{"instance", "list", "--limit", "many"}, 1},
      {{"workflow", "apply", "/does/not/exist"}, 2},
      {{}, 2},
      {{"nothing"}, 2},
      {{"workflow"}, 2},
      {{"workflow", "get"}, 2},
      {{"workflow", "get", "a", "b"}, 2},
      {{"workflow", "list", "--wrong"}, 2},
  };
  for (const Row& row : rows) {
    const CommandOutput printed = run(row.arguments);
    const std::string what = row.arguments.empty() ? "" : row.arguments.back();
    EXPECT_EQ(printed.code, row.code) << what << ": " << printed.err;
    EXPECT_EQ(printed.out, "") << what;
    EXPECT_TRUE(printed.err.starts_with("millrace: ")) << what;
  }
  env_["MILLRACE_NAMESPACE"] = "none";
  EXPECT_EQ(run({"workflow", "list"}).code, 3);
  EXPECT_EQ(run({"workflow", "list", "-n", "default"}).code, 0)
      << "a flag overrides an environment variable";
}

TEST_F(CommandLineTest, PassesTheScenariosToTheVerbTest) {
  EXPECT_EQ(run({"test", "a", "b.test.yaml", "--only", "x", "-o", "junit"}).code, 9);
  EXPECT_EQ(tested_.paths, (std::vector<std::string>{"a", "b.test.yaml"}));
  EXPECT_EQ(tested_.only, "x");
  EXPECT_TRUE(tested_.as_junit);
  EXPECT_EQ(run({"test", "a", "-o", "json"}).code, 2);
  EXPECT_EQ(run({"test"}).code, 2);
}

TEST_F(CommandLineTest, PassesTheDataFolderAndTheSecretKeyFileToTheVerbVerify) {
  const CommandOutput printed =
      run({"verify", "--data", "d", "--secret-key-file", "k", "-o", "json"});
  EXPECT_EQ(printed.code, 1);
  EXPECT_EQ(Json::parse(printed.out), service_.store_report);
  EXPECT_EQ(verified_.data, "d");
  EXPECT_EQ(verified_.secret_key_file, "k");
  env_["MILLRACE_DATA"] = "e";
  env_["MILLRACE_SECRET_KEY_FILE"] = "l";
  run({"verify"});
  EXPECT_EQ(verified_.data, "e");
  EXPECT_EQ(verified_.secret_key_file, "l");
}

TEST_F(CommandLineTest, PassesTheDestinationTheDataFolderAndTheRateToTheVerbBackup) {
  EXPECT_EQ(run({"backup", "b", "--data", "d", "--rate", "20MiB", "-o", "name"}).out, "b\n");
  EXPECT_EQ(backed_up_.destination, "b");
  EXPECT_EQ(backed_up_.data, "d");
  EXPECT_EQ(backed_up_.rate, uint64_t{20} << 20);
  env_["MILLRACE_DATA"] = "e";
  EXPECT_EQ(run({"backup", "-"}).code, 0);
  EXPECT_EQ(backed_up_.destination, "-");
  EXPECT_EQ(backed_up_.data, "e");
  EXPECT_EQ(backed_up_.rate, 0U) << "no limit";
  for (const char* const rate : {"20MB", "0", "1023KiB"}) {
    const CommandOutput printed = run({"backup", "b", "--rate", rate});
    EXPECT_EQ(printed.code, 2) << rate;
    EXPECT_TRUE(printed.err.starts_with("millrace: --rate: ")) << printed.err;
  }
  EXPECT_EQ(run({"backup"}).code, 2);
}

TEST_F(CommandLineTest, PassesTheBackupTheDataFolderAndTheKeyToTheVerbRestore) {
  EXPECT_EQ(run({"restore", "b", "--data", "d", "--secret-key-file", "k", "--copy-key",
                 "--take-over", "--keep", "-o", "name"})
                .out,
            "d\n");
  EXPECT_EQ(restored_.backup, "b");
  EXPECT_EQ(restored_.data, "d");
  EXPECT_EQ(restored_.secret_key_file, "k");
  EXPECT_TRUE(restored_.copy_key && restored_.take_over && restored_.keep);
  EXPECT_EQ(run({"restore", "b"}).code, 2) << "the data folder is missing";
  const CommandOutput extra = run({"restore", "b", "d"});
  EXPECT_EQ(extra.code, 2);
  EXPECT_NE(extra.err.find("not expected: d; a value follows its option: --data DIR, "
                           "--secret-key-file FILE"),
            std::string::npos)
      << extra.err;
  const CommandOutput wrong = run({"restore", "b", "--dta", "d"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("; did you mean \"--data\"?"), std::string::npos) << wrong.err;
  EXPECT_EQ(run({"restore", "b", "--data", "d", "--copy-key"}).code, 2) << "the key is missing";
  env_["MILLRACE_DATA"] = "e";
  env_["MILLRACE_SECRET_KEY_FILE"] = "l";
  EXPECT_EQ(run({"restore", "-"}).code, 0);
  EXPECT_EQ(restored_.backup, "-");
  EXPECT_EQ(restored_.data, "e");
  EXPECT_EQ(restored_.secret_key_file, "l");
  EXPECT_FALSE(restored_.copy_key || restored_.take_over || restored_.keep);
}

TEST_F(CommandLineTest, PassesTheDataFolderToTheVerbsOfAStore) {
  EXPECT_EQ(run({"store", "info", "--data", "d", "-o", "name"}).out, "8192\n");
  EXPECT_EQ(measured_.data, "d");
  EXPECT_EQ(run({"store", "info"}).code, 0);
  EXPECT_EQ(measured_.data, "") << "the store of the server";
  EXPECT_EQ(run({"store", "compact", "--data", "d", "-o", "name"}).out, "d\n");
  EXPECT_EQ(compacted_.data, "d");
  EXPECT_EQ(run({"store", "compact"}).code, 2) << "the data folder is missing";
  env_["MILLRACE_DATA"] = "e";
  EXPECT_EQ(run({"store", "info"}).code, 0);
  EXPECT_EQ(measured_.data, "e");
  EXPECT_EQ(run({"store", "compact"}).code, 0);
  EXPECT_EQ(compacted_.data, "e");
}

TEST_F(CommandLineTest, PassesTheDataFolderToTheVerbThatLeavesACluster) {
  EXPECT_EQ(run({"cluster", "leave", "--data", "d", "-o", "name"}).out, "d\n");
  EXPECT_EQ(left_.data, "d");
  EXPECT_EQ(run({"cluster", "leave"}).code, 2) << "the data folder is missing";
  env_["MILLRACE_DATA"] = "e";
  EXPECT_EQ(run({"cluster", "leave"}).code, 0);
  EXPECT_EQ(left_.data, "e");
}

}  // namespace
}  // namespace millrace
