// How the loader reads `compensate`.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/loader.h"
#include "states/compensation.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A workflow with further keys, and a list of states.
std::string workflow(const std::string& more, const std::string& states) {
  return fmt::format(
      "id: w\n{}\nfunctions: [{{id: do, type: subflow, workflow: a}}, {{id: undo, type: subflow, "
      "workflow: b}}]\nstates:\n{}",
      more, states);
}

/// The paths of the errors.
std::vector<std::string> errors_in(const std::string& states) {
  const Loaded loaded = load_workflow(workflow("name: x", states), nullptr);
  std::vector<std::string> paths;
  for (const Finding& one : loaded.findings.sorted()) {
    if (one.severity == Severity::kError) paths.push_back(one.path);
  }
  return paths;
}

TEST(LoadedCompensations, BelongToTheirStates) {
  const Loaded loaded = load_workflow(
      workflow("compensate: true\non_failure: {state: b, when: any, compensate: true}",
               "- {id: a, type: action, action: {function: do}, compensate: {function: undo}, "
               "transition: b}\n- {id: b, type: noop}\n"),
      nullptr);
  ASSERT_NE(loaded.workflow, nullptr) << render_text(loaded.findings, "f");
  const Workflow& read = *loaded.workflow;
  EXPECT_TRUE(read.compensates);
  EXPECT_TRUE(read.timeouts.on_failure_compensates);
  ASSERT_NE(compensation_of(read, 0), nullptr);
  EXPECT_EQ(compensation_of(read, 0)->function(), "undo");
  EXPECT_EQ(compensation_of(read, 0)->common().id, "a");
  EXPECT_EQ(compensation_of(read, 1), nullptr);
  EXPECT_EQ(compensation_of(read, 2), nullptr) << "the workflow has two states";
}

TEST(LoadedCompensations, UndoEachCallOfAStateWithSeveral) {
  const Loaded loaded = load_workflow(
      workflow("name: x",
               "- {id: a, type: foreach, array: jq(.all), action: {function: do}, compensate: "
               "{function: undo}, transition: b}\n"
               "- {id: b, type: parallel, actions: [{function: do}], compensate: {function: undo}, "
               "transition: c}\n"
               "- {id: c, type: action, action: {function: do}, compensate: {function: undo}}\n"),
      nullptr);
  ASSERT_NE(loaded.workflow, nullptr) << render_text(loaded.findings, "f");
  EXPECT_TRUE(compensation_of(*loaded.workflow, 0)->undoes_calls());
  EXPECT_TRUE(compensation_of(*loaded.workflow, 1)->undoes_calls());
  EXPECT_FALSE(compensation_of(*loaded.workflow, 2)->undoes_calls());
}

TEST(LoadedCompensations, AreNotAskedForUnlessTheDefinitionDoes) {
  const Loaded loaded = load_workflow(workflow("name: x", "- {id: a, type: noop}\n"), nullptr);
  ASSERT_NE(loaded.workflow, nullptr);
  EXPECT_FALSE(loaded.workflow->compensates);
  EXPECT_FALSE(loaded.workflow->timeouts.on_failure_compensates);
}

TEST(LoadedCompensations, AreRefusedWithTheirPlace) {
  EXPECT_THAT(errors_in("- {id: a, type: noop, compensate: {function: undo, input: 1, timeout: 5s, "
                        "retries: 'fixed(3, 1s)'}}\n"),
              IsEmpty());
  EXPECT_THAT(errors_in("- {id: a, type: noop, compensate: {function: none}}\n"),
              ElementsAre("states[0].compensate.function"));
  EXPECT_THAT(errors_in("- {id: a, type: noop, compensate: {input: 1}}\n"),
              ElementsAre("states[0].compensate.function"));
  EXPECT_THAT(errors_in("- {id: a, type: noop, compensate: true}\n"),
              ElementsAre("states[0].compensate"));
  EXPECT_THAT(errors_in("- {id: a, type: error, error: e, message: m, compensate: {function: "
                        "undo}}\n"),
              ElementsAre("states[0].compensate"));
}

}  // namespace
}  // namespace millrace
