// `millrace test`: the whole program with its jq workers and files on disk.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Scenarios : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(temporary_); }
  /// Expects that no store and no folder is left.
  void TearDown() override { EXPECT_TRUE(fs::is_empty(temporary_)); }

  ProcessEnd test(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {millrace_program(), "test"});
    return run_process({.command = arguments, .environment = {{"TMPDIR", temporary_.string()}}});
  }

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  /// Writes a workflow with a program that only a jq worker can evaluate, and two scenarios.
  void write_hello() const {
    write("shop/hello.yaml",
          "id: hello\nstates:\n  - {id: a, type: noop, transform: "
          "'jq({says: (\"a,b\" | split(\",\") | map(ascii_upcase))})'}\n");
    write("shop/hello.test.yaml",
          "scenarios:\n"
          "  - {name: says it, start: {}, expect: {output: {says: [A, B]}}}\n"
          "  - {name: shouts it, start: {}, expect: {output: {says: [A, C]}}}\n");
  }

  Folder folder_;
  fs::path temporary_ = folder_.path() / "tmp";
};

TEST_F(Scenarios, PassForTheDocumentsOfTheFiveVocabularies) {
  const ProcessEnd end = test({"tests/documents"});
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  for (const char* name : {"steep", "temporal", "stevora", "direktiv", "zart"}) {
    EXPECT_THAT(end.output, HasSubstr(fmt::format("ok     tests/documents/{}.test.yaml: ", name)));
  }
  EXPECT_THAT(end.output, Not(HasSubstr("FAILED")));
}

TEST_F(Scenarios, PassForTheExamples) {
  const ProcessEnd end = test({"examples"});
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_EQ(end.errors, "");
  for (const char* name : {"guest-booking", "order-fan-in", "purchase", "reservation"}) {
    EXPECT_THAT(end.output, HasSubstr(fmt::format("ok     examples/{0}/{0}.test.yaml: ", name)));
  }
  EXPECT_THAT(end.output, HasSubstr(" in 13 files: "));
  EXPECT_THAT(end.output, Not(HasSubstr("FAILED")));
}

TEST_F(Scenarios, PassForTheSamplesOfTheDocumentation) {
  const ProcessEnd end = test({"docs/samples", "tests/corpus/direktiv"});
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_EQ(end.errors, "");
  EXPECT_THAT(end.output, HasSubstr("ok     docs/samples/foreach.test.yaml: "));
  EXPECT_THAT(end.output, HasSubstr("ok     tests/corpus/direktiv/decision.test.yaml: "));
  EXPECT_THAT(end.output, Not(HasSubstr("FAILED")));
}

TEST_F(Scenarios, ShowTheExpectedAndTheActualValueIfTheyFail) {
  write_hello();
  const ProcessEnd end = test({(folder_.path() / "shop").string()});
  EXPECT_EQ(end.code, 9) << end.errors;
  EXPECT_THAT(end.output, HasSubstr("hello.test.yaml: says it ("));
  EXPECT_THAT(end.output, HasSubstr("FAILED "));
  EXPECT_THAT(end.output,
              HasSubstr("shop/hello.test.yaml:3:62: scenarios[1].expect.output.says[1]: expected "
                        "\"C\", got \"B\"\n"));
  EXPECT_THAT(end.output, HasSubstr("2 scenarios in 1 file: 1 passed, 1 FAILED ("));
}

TEST_F(Scenarios, CanBeSelectedByName) {
  write_hello();
  const std::string folder = folder_.path().string();
  const ProcessEnd end = test({folder, "--only", "says"});
  EXPECT_EQ(end.code, 0) << end.output << end.errors;
  EXPECT_THAT(end.output, HasSubstr("1 scenario in 1 file: 1 passed ("));
  EXPECT_EQ(test({folder, "--only", "whispers"}).code, 3);
}

TEST_F(Scenarios, AreReportedInTheFormatOfJUnit) {
  write_hello();
  write("shop/wrong.test.yaml", "workflows: [hello.yaml]\nscenarios: 5\n");
  const ProcessEnd end = test({folder_.path().string(), "-o", "junit"});
  EXPECT_EQ(end.code, 7) << "the exit code of an invalid file takes precedence over a failure";
  EXPECT_TRUE(end.output.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "))
      << end.output;
  EXPECT_THAT(end.output, HasSubstr("tests=\"3\" failures=\"1\" errors=\"1\""));
  EXPECT_THAT(end.output, HasSubstr("wrong.test.yaml:2:12: error: scenarios: "));
}

TEST_F(Scenarios, RunAlthoughOtherFilesHaveErrors) {
  write_hello();
  write("broken.yaml", "id: broken\nstates:\n  - {id: a, type: noop, transform: 'jq(. |)'}\n");
  write("broken.test.yaml", "scenarios:\n  - {name: x, start: {}, expect: {status: done}}\n");
  const ProcessEnd end = test({folder_.path().string(), "--only", "says"});
  EXPECT_EQ(end.code, 7);
  EXPECT_THAT(end.output, HasSubstr("broken.yaml:3:"));
  EXPECT_THAT(end.output, HasSubstr("broken.test.yaml:2:43: error: scenarios[0].expect.status: "));
  EXPECT_THAT(end.output, HasSubstr("1 scenario in 2 files: 1 passed, 1 file with errors ("));
}

TEST_F(Scenarios, LeaveNothingBehindWhenTheyAreInterrupted) {
  write("clock.yaml",
        "id: clock\nstates:\n  - {id: tick, type: delay, duration: 1s, transition: tock}\n"
        "  - {id: tock, type: noop, transition: tick}\n");
  const std::string file = write(
      "clock.test.yaml", "scenarios:\n  - {name: runs, start: {}, expect: {status: complete}}\n");
  Process process({.command = {millrace_program(), "test", file},
                   .environment = {{"TMPDIR", temporary_.string()}}});
  ASSERT_TRUE(eventually([&] { return !fs::is_empty(temporary_); }));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130);
  EXPECT_TRUE(process.group_ends());
}

TEST_F(Scenarios, FailIfNoScenarioIsFoundOrTheCommandIsInvalid) {
  EXPECT_EQ(test({(folder_.path() / "nowhere").string()}).code, 3);
  EXPECT_EQ(test({temporary_.string()}).code, 3);
  EXPECT_EQ(test({"examples", "-o", "table"}).code, 2);
  EXPECT_EQ(test({}).code, 2);
}

}  // namespace
}  // namespace millrace
