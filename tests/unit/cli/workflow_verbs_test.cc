// The verbs of `workflow`.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"
#include "tests/unit/gateway/fake_service.h"

namespace millrace {
namespace {

class WorkflowVerbs : public CliTest {};

TEST_F(WorkflowVerbs, AppliesFilesAndPrintsTheOutcome) {
  const std::string order = file("order.yaml", "id: order\n");
  EXPECT_EQ(run({"workflow", "apply", order, "--dry-run"}).out,
            "WORKFLOW  REVISION  OUTCOME\norder     -         would change\n");
  EXPECT_FALSE(service_.has_workflow("order"));
  EXPECT_EQ(run({"workflow", "apply", order}).out,
            "WORKFLOW  REVISION  OUTCOME\norder     1         created\n");
  EXPECT_EQ(run({"workflow", "apply", order}).out,
            "WORKFLOW  REVISION  OUTCOME\norder     1         unchanged\n");
  EXPECT_EQ(run({"workflow", "apply", "-", "-o", "name"}, "id: order\n# new\n").out, "order\n");
  EXPECT_EQ(run({"workflow", "list"}).out,
            "WORKFLOW  REVISION  START    PAUSED  UPDATED\n"
            "order     2         default  -       5m\n");
  EXPECT_EQ(
      run({"workflow", "get", "order"}).out,
      "description  -\nid           order\nname         -\npaused       false\n"
      "revision     2\nstart        default\nstates       [{\"id\":\"wait\",\"type\":\"noop\"}]\n"
      "updatedAt    2021-09-01T12:00:00.000Z\nversion      -\n\n"
      "definition:\nid: order\n# new\n");
  EXPECT_EQ(run({"workflow", "revision", "order", "2"}).out,
            "createdAt  2021-09-01T12:00:00.000Z\nrevision   2\nworkflow   order\n\n"
            "definition:\nid: order\n# new\n");
  EXPECT_EQ(run({"workflow", "revision", "order", "3"}).code, 3);
  EXPECT_EQ(run({"workflow", "delete", "order"}).out, "cancelled  0\nid         order\n");
  EXPECT_EQ(run({"workflow", "get", "order"}).code, 3);
}

TEST_F(WorkflowVerbs, ShowsTheWaysOfTheGraph) {
  apply_order();
  EXPECT_EQ(run({"workflow", "graph", "order"}).out,
            "FROM  TO  KIND        LABEL  LINE\nwait  -   transition  -      3\n");
  const Json graph = Json::parse(run({"workflow", "graph", "order", "-o", "json"}).out);
  EXPECT_EQ(graph["states"][0]["waits"], Json::array({"paid"}));
  EXPECT_EQ(run({"workflow", "graph", "order", "--revision", "9"}).code, 3);
}

TEST_F(WorkflowVerbs, ShowsThatAWorkflowIsPaused) {
  apply_order();
  EXPECT_EQ(run({"workflow", "pause", "order"}).code, 0);
  EXPECT_EQ(run({"workflow", "list"}).out,
            "WORKFLOW  REVISION  START    PAUSED  UPDATED\n"
            "order     1         default  yes     5m\n");
  EXPECT_EQ(Json::parse(run({"workflow", "get", "order", "-o", "json"}).out)["paused"], true);
  EXPECT_EQ(run({"workflow", "resume", "order"}).code, 0);
  EXPECT_EQ(Json::parse(run({"workflow", "get", "order", "-o", "json"}).out)["paused"], false);
}

TEST_F(WorkflowVerbs, PrintsFindingsWithTheirPositionAndContinuesWithTheNextFile) {
  const std::string bad = file("bad.yaml", "id: bad\nbroken: 1\n");
  const std::string nameless = file("nameless.yaml", "broken: 1\n");
  const CommandOutput printed =
      run({"workflow", "apply", bad, nameless, file("good.yaml", "id: good\n"), "-o", "name"});
  EXPECT_EQ(printed.code, 7);
  EXPECT_EQ(printed.out, "good\n");
  const std::string tail =
      ":2:7: error: states[0].broken: there is no such key [definition.unknown_key]\n";
  EXPECT_EQ(printed.err, bad + tail + nameless + tail);
  EXPECT_EQ(run({"workflow", "apply", file("empty.yaml", "name: x\n")}).code, 7);
}

TEST_F(WorkflowVerbs, PrintsTheWarningsOfAnAppliedDefinition) {
  const std::string path = file("order.yaml", "id: order\ndoubtful: 1\n");
  for (const bool dry : {true, false}) {
    std::vector<std::string> arguments = {"workflow", "apply", path, "-o", "name"};
    if (dry) arguments.emplace_back("--dry-run");
    const CommandOutput printed = run(arguments);
    EXPECT_EQ(printed.code, 0);
    EXPECT_EQ(printed.out, "order\n");
    EXPECT_EQ(printed.err, path + ":2:7: warning: states[0]: hardly; mend it [lint.doubt]\n");
  }
}

}  // namespace
}  // namespace millrace
