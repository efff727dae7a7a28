#include "orchestrator/batch/commands/leftovers.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

DeleteNamespace of_namespace(std::string number) {
  return {.name = std::move(number), .leftovers = true};
}
DeleteWorkflow of_workflow(std::string number) {
  return {.space = "default", .id = std::move(number), .leftovers = true};
}

/// Erases the row of a workflow and nothing else, as earlier releases did; the catalog forgets it.
void lose_workflow(CommandRig& rig, std::string_view id) {
  erase_workflow(rig.draft().tx, NamespaceNumber(1), id);
  ASSERT_TRUE(rig.commit());
  ASSERT_TRUE(rig.draft().catalog.load(rig.draft().tx));
}

TEST(Leftovers, AreNamedByANumberThatWasGiven) {
  CommandRig rig;
  for (const char* number : {"0", "2", "one", "1x", ""}) {
    const Error error = rig.refusal(of_namespace(number));
    EXPECT_EQ(error.code, "leftovers.none") << number;
    EXPECT_NE(error.message.find("is not a number that was given (1 to 1)"), std::string::npos)
        << error.message;
  }
  EXPECT_EQ(rig.refusal(of_workflow("1")).code, "leftovers.none");
}

TEST(Leftovers, AreNotWhatExists) {
  CommandRig rig;
  EXPECT_EQ(rig.refusal(of_namespace("1")).message,
            "namespace \"default\" has the number 1: it was not deleted; delete it by its name, "
            "without --leftovers");
  rig.must(CommandRig::application(kEnds));
  EXPECT_EQ(rig.refusal(of_workflow("1")).message,
            "workflow \"ends\" of namespace \"default\" has the number 1: it was not deleted; "
            "delete it by its id, without --leftovers");
}

TEST(Leftovers, OfANamespaceAreErasedByAPurge) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "a"});
  erase_namespace(rig.draft().tx, "a");
  ASSERT_TRUE(rig.commit());
  ASSERT_TRUE(rig.draft().catalog.load(rig.draft().tx));
  EXPECT_EQ(rig.must(of_namespace("2")), (Json{{"number", 2}, {"erasing", true}}));
  EXPECT_EQ(rig.must(of_namespace("2")), (Json{{"number", 2}, {"erasing", true}}))
      << "it is being erased, and no second purge begins";
}

TEST(Leftovers, OfAWorkflowAreErasedWhereNothingIsShownByThem) {
  CommandRig rig;
  rig.must(CommandRig::application(kEnds));
  lose_workflow(rig, "ends");
  EXPECT_EQ(rig.must(of_workflow("1")), (Json{{"number", 1}, {"kept", false}}));
  EXPECT_EQ(rig.refusal(of_workflow("1")).message, "nothing is left to do about workflow number 1");
}

TEST(Leftovers, OfAWorkflowAreKeptWhereAnInstanceEndedByThem) {
  CommandRig rig;
  rig.must(CommandRig::application(kEnds));
  rig.start("ends");
  lose_workflow(rig, "ends");
  EXPECT_EQ(rig.must(of_workflow("1")), (Json{{"number", 1}, {"kept", true}}));
}

TEST(Leftovers, AreInUseWhereAnInstanceLives) {
  CommandRig rig;
  rig.must(CommandRig::application(kWaits));
  rig.start("waits");
  lose_workflow(rig, "waits");
  const Error error = rig.refusal(of_workflow("1"));
  EXPECT_EQ(error.code, "leftovers.in_use");
  EXPECT_EQ(error.message,
            "workflow number 1 has living instances, which no deletion leaves: the row of the "
            "workflow is lost; restore a backup");
}

TEST(Leftovers, OfAnotherNamespaceAreRefused) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "a"});
  rig.must(CommandRig::application(kEnds));
  rig.start("ends");
  lose_workflow(rig, "ends");
  DeleteWorkflow remove = of_workflow("1");
  remove.space = "a";
  EXPECT_EQ(rig.refusal(remove).message,
            "workflow number 1 was of namespace \"default\"; name that one (-n default)");
}

TEST(Leftovers, LoseTheBatchWithEachReadThatFails) {
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::application(kEnds));
    rig.start("ends");
    lose_workflow(rig, "ends");
    return of_workflow("1");
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CreateNamespace{.name = "a"});
    erase_namespace(rig.draft().tx, "a");
    EXPECT_TRUE(rig.commit());
    EXPECT_TRUE(rig.draft().catalog.load(rig.draft().tx));
    return of_namespace("2");
  });
}

}  // namespace
}  // namespace millrace
