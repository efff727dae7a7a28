// The commands in docs/http.md work, run in their order. Their answers are as the OpenAPI document
// describes them.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "tests/support/millrace_server.h"

namespace millrace {
namespace {

/// All blocks of shell commands in a document, as one script.
std::string script_of(const std::string& path) {
  std::istringstream lines(read_repository_file(path));
  std::string script;
  bool within = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      within = line == "```sh";
    } else if (within) {
      script += line + "\n";
    }
  }
  return script;
}

class HttpDocument : public MillraceTest {
 protected:
  /// Runs a script in its own folder. An error status makes curl exit with an error.
  ProcessEnd run(const std::string& script) const {
    std::ofstream(folder_.path() / ".curlrc")
        << "fail-with-body\nsilent\nshow-error\nnoproxy = *\n";
    return run_process(
        {.command = {"bash", "-c", "set -euxo pipefail; cd \"$CURL_HOME\"\n" + script},
         .environment = {{"CURL_HOME", folder_.path().string()},
                         {"MILLRACE", millrace_.checked_url()}}});
  }

  Folder folder_;
};

TEST_F(HttpDocument, HasCommandsThatWork) {
  const auto made = nats_.connect()->api(
      "STREAM.CREATE.ORDERS", {{"name", "ORDERS"}, {"subjects", Json::array({"shop.orders.*"})}});
  ASSERT_TRUE(made) << made.error().message;
  const ProcessEnd end = run(script_of("docs/http.md"));
  EXPECT_EQ(end.code, 0) << end.errors.substr(end.errors.size() -
                                              std::min<size_t>(500, end.errors.size()))
                         << end.output;
}

TEST_F(HttpDocument, FailsTheTestOnACommandThatMillraceRejects) {
  const ProcessEnd end = run("curl -X DELETE \"$MILLRACE/v1/ns/nowhere\"");
  EXPECT_EQ(end.code, 22);
  EXPECT_THAT(end.output, testing::HasSubstr("namespace.not_found"));
}

TEST_F(HttpDocument, HasACommandForEachVerbOfAnInstance) {
  const std::string text = read_repository_file("docs/http.md");
  for (const char* const verb : {"cancel", "pause", "resume", "retry", "restart", "rerun"}) {
    EXPECT_NE(text.find(std::string("instances/$ID/") + verb), std::string::npos) << verb;
    EXPECT_NE(text.find(std::string("$NS/instances/") + verb + "?"), std::string::npos) << verb;
  }
}

TEST_F(HttpDocument, AgreesWithTheCommandLineOnAVerbThatTheInstanceStatusForbids) {
  millrace_.apply("id: done\nstates: [{id: a, type: noop}]\n");
  const std::string id = millrace_.start_instance("done", Json::object());
  millrace_.instance_once(id, "complete");
  for (const char* const verb : {"cancel", "pause", "resume", "retry"}) {
    const ProcessEnd end = millrace_.cli({"instance", verb, id});
    EXPECT_EQ(end.code, 6) << verb;
    EXPECT_THAT(end.errors, testing::AllOf(testing::HasSubstr(id), testing::HasSubstr("complete")));
    EXPECT_EQ(millrace_.ask("POST", "instances/" + id + "/" + verb).status, 409) << verb;
  }
}

}  // namespace
}  // namespace millrace
