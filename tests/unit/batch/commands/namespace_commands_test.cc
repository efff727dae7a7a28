#include "orchestrator/batch/commands/namespace_commands.h"

#include <gtest/gtest.h>

#include "tests/unit/batch/commands/command_rig.h"
#include "tests/unit/batch/commands/definitions.h"

namespace millrace {
namespace {

Json services(const char* paused) {
  return {{"services", {{"charge", {{"url", "http://charge"}}}}}, {"paused", Json::parse(paused)}};
}

TEST(NamespaceCommands, CreateCreatesANamespaceOnce) {
  CommandRig rig;
  EXPECT_EQ(rig.must(CreateNamespace{.name = "a"}), (Json{{"name", "a"}, {"created", true}}));
  EXPECT_EQ(rig.must(CreateNamespace{.name = "a"}), (Json{{"name", "a"}, {"created", false}}));
}

TEST(NamespaceCommands, CreateRefusesAWebhookWithAnUnknownSecret) {
  CommandRig rig;
  const Json settings{{"webhooks", {{{"url", "http://hook"}, {"secret", "token"}}}}};
  const CreateNamespace create{.name = "a", .settings = settings};
  const Error error = rig.refusal(create);
  EXPECT_EQ(error.code, "settings.invalid");
  EXPECT_EQ(error.message,
            "webhooks[0].secret: the namespace has no secret \"token\"; create the namespace, then "
            "set the secret (`millrace secret set token`), then these settings");
  EXPECT_EQ(rig.refusal(PutSecret{.ns = "a", .name = "token", .value = "t"}).code,
            "namespace.not_found")
      << "a refused command creates nothing";
  rig.must(CreateNamespace{.name = "a"});
  rig.must(PutSecret{.ns = "a", .name = "token", .value = "t"});
  EXPECT_EQ(rig.must(create)["created"], false);
}

TEST(NamespaceCommands, CreateReturnsWarningsForSettingsWithoutTheExpectedEffect) {
  CommandRig rig;
  const Json settings{
      {"webhooks", {{{"url", "http://hook"}, {"types", {"millrace.instance.stopped"}}}}}};
  const Json answer = rig.must(CreateNamespace{.name = "a", .settings = settings});
  ASSERT_EQ(answer["warnings"].size(), 1U) << answer;
  EXPECT_EQ(answer["warnings"][0]["path"], "webhooks[0].types[0]");
}

TEST(NamespaceCommands, CreateWarnsOfRulesOfRetentionForAWorkflowThatDoesNotExist) {
  CommandRig rig;
  const CreateNamespace create{
      .name = "a",
      .settings = Json::parse(R"({"retention": {"workflows": {"waits": {"ended": {}}}}})")};
  const Json answer = rig.must(create);
  ASSERT_EQ(answer["warnings"].size(), 1U) << answer;
  EXPECT_EQ(answer["warnings"][0]["path"], "retention.workflows.waits");
  rig.must(CommandRig::apply_workflow(kWaits, "a"));
  EXPECT_FALSE(rig.must(create).contains("warnings"));
}

TEST(NamespaceCommands, DeleteIsRefusedWhileAnInstanceIsLive) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "a"});
  rig.must(CommandRig::apply_workflow(kWaits, "a"));
  rig.must(StartInstance{.ns = "a", .workflow = "waits", .input = Json::object()});
  EXPECT_EQ(rig.refusal(DeleteNamespace{.name = "a"}).code, "namespace.not_empty");
  EXPECT_EQ(rig.must(DeleteNamespace{.name = "a", .cancel = true}), (Json{{"cancelled", 1}}));
  EXPECT_EQ(rig.refusal(DeleteNamespace{.name = "a"}).code, "namespace.not_found");
}

TEST(NamespaceCommands, DeleteIsRefusedForTheDefaultNamespace) {
  CommandRig rig;
  const Error error = rig.refusal(DeleteNamespace{.name = "default", .cancel = true});
  EXPECT_EQ(error.code, "namespace.not_empty");
  EXPECT_EQ(error.message, "the namespace \"default\" cannot be deleted");
}

TEST(NamespaceCommands, PauseIsRefusedForAnUnknownService) {
  CommandRig rig;
  PauseService pause{.ns = "default", .name = "charge"};
  EXPECT_EQ(rig.refusal(pause).code, "function.not_found");
  rig.must(CommandRig::apply_workflow(kCalls));
  EXPECT_EQ(rig.must(pause), (Json{{"name", "charge"}, {"paused", true}, {"changed", true}}))
      << "a workflow uses the service";
  EXPECT_EQ(rig.must(pause)["changed"], false);
  pause.paused = false;
  EXPECT_EQ(rig.must(pause), (Json{{"name", "charge"}, {"paused", false}, {"changed", true}}));
}

TEST(NamespaceCommands, PauseChangesNothingIfTheSettingsAlreadyPauseTheService) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "default", .settings = services(R"(["charge"])")});
  EXPECT_EQ(rig.must(PauseService{.ns = "default", .name = "charge"})["changed"], false);
  rig.must(CreateNamespace{.name = "default", .settings = services("[]")});
  EXPECT_EQ(rig.must(PauseService{.ns = "default", .name = "charge"})["changed"], true);
}

TEST(NamespaceCommands, LoseTheBatchWhenAReadOfTheStoreFails) {
  expect_every_read_fault_loses_the_batch(
      [](CommandRig&) -> Command { return CreateNamespace{.name = "a"}; });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::apply_workflow(kCalls));
    rig.must(CreateNamespace{.name = "default", .settings = services(R"(["charge"])")});
    rig.start("calls");
    return CreateNamespace{.name = "default", .settings = services("[]")};
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CreateNamespace{.name = "a"});
    rig.must(CommandRig::apply_workflow(kWaits, "a"));
    rig.must(StartInstance{.ns = "a", .workflow = "waits", .input = Json::object()});
    return DeleteNamespace{.name = "a", .cancel = true};
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(CommandRig::apply_workflow(kCalls));
    rig.must(PauseService{.ns = "default", .name = "charge"});
    rig.start("calls");
    return PauseService{.ns = "default", .name = "charge", .paused = false};
  });
}

}  // namespace
}  // namespace millrace
