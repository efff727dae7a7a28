#include "orchestrator/batch/commands/leftovers.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

DeleteNamespace delete_namespace(std::string number) {
  return {.name = std::move(number), .leftovers = true};
}
DeleteWorkflow delete_workflow(std::string number) {
  return {.ns = "default", .id = std::move(number), .leftovers = true};
}

/// Erases only the row of a workflow, as earlier releases did, and reloads the catalog.
void lose_workflow(CommandRig& rig, std::string_view id) {
  erase_workflow(rig.batch().tx, NamespaceNumber(1), id);
  ASSERT_TRUE(rig.commit());
  ASSERT_TRUE(rig.batch().catalog.load(rig.batch().tx));
}

TEST(Leftovers, AreNotErasedIfTheGivenNumberWasNeverAssigned) {
  CommandRig rig;
  for (const char* number : {"0", "2", "one", "1x", ""}) {
    const Error error = rig.refusal(delete_namespace(number));
    EXPECT_EQ(error.code, "leftovers.none") << number;
    EXPECT_NE(error.message.find("is not a number that was assigned (1 to 1)"), std::string::npos)
        << error.message;
  }
  EXPECT_EQ(rig.refusal(delete_workflow("1")).code, "leftovers.none");
}

TEST(Leftovers, AreNotErasedIfTheirNamespaceOrWorkflowExists) {
  CommandRig rig;
  EXPECT_EQ(rig.refusal(delete_namespace("1")).message,
            "namespace \"default\" has the number 1: it was not deleted; delete it by its name, "
            "without --leftovers");
  rig.must(CommandRig::apply_workflow(kEnds));
  EXPECT_EQ(rig.refusal(delete_workflow("1")).message,
            "workflow \"ends\" of namespace \"default\" has the number 1: it was not deleted; "
            "delete it by its id, without --leftovers");
}

TEST(Leftovers, AreErasedByAPurgeIfTheyBelongToANamespace) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "a"});
  erase_namespace(rig.batch().tx, "a");
  ASSERT_TRUE(rig.commit());
  ASSERT_TRUE(rig.batch().catalog.load(rig.batch().tx));
  EXPECT_EQ(rig.must(delete_namespace("2")), (Json{{"number", 2}, {"erasing", true}}));
  EXPECT_EQ(rig.must(delete_namespace("2")), (Json{{"number", 2}, {"erasing", true}}))
      << "the first purge continues, and no second purge starts";
}

TEST(Leftovers, AreErasedIfNoInstanceNeedsTheWorkflow) {
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kEnds));
  lose_workflow(rig, "ends");
  EXPECT_EQ(rig.must(delete_workflow("1")), (Json{{"number", 1}, {"kept", false}}));
  EXPECT_EQ(rig.refusal(delete_workflow("1")).message,
            "workflow number 1 has no leftovers to erase");
}

TEST(Leftovers, AreKeptForEndedInstancesOfTheWorkflow) {
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kEnds));
  rig.start("ends");
  lose_workflow(rig, "ends");
  EXPECT_EQ(rig.must(delete_workflow("1")), (Json{{"number", 1}, {"kept", true}}));
}

TEST(Leftovers, AreNotErasedWhileAnInstanceOfTheWorkflowIsLive) {
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kWaits));
  rig.start("waits");
  lose_workflow(rig, "waits");
  const Error error = rig.refusal(delete_workflow("1"));
  EXPECT_EQ(error.code, "leftovers.in_use");
  EXPECT_EQ(error.message,
            "workflow number 1 has live instances, which no deletion leaves: the row of the "
            "workflow is lost; restore a backup");
}

TEST(Leftovers, AreNotErasedIfTheCommandNamesAnotherNamespace) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "a"});
  rig.must(CommandRig::apply_workflow(kEnds));
  rig.start("ends");
  lose_workflow(rig, "ends");
  DeleteWorkflow remove = delete_workflow("1");
  remove.ns = "a";
  EXPECT_EQ(
      rig.refusal(remove).message,
      "workflow number 1 belonged to namespace \"default\"; name that namespace (-n default)");
}

TEST(Leftovers, LoseTheBatchWhenAReadOfTheStoreFails) {
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::apply_workflow(kEnds));
    rig.start("ends");
    lose_workflow(rig, "ends");
    return delete_workflow("1");
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CreateNamespace{.name = "a"});
    erase_namespace(rig.batch().tx, "a");
    EXPECT_TRUE(rig.commit());
    EXPECT_TRUE(rig.batch().catalog.load(rig.batch().tx));
    return delete_namespace("2");
  });
}

}  // namespace
}  // namespace millrace
