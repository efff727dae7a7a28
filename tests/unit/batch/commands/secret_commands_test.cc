#include "orchestrator/batch/commands/secret_commands.h"

#include <gtest/gtest.h>

#include "tests/unit/batch/commands/command_rig.h"

namespace millrace {
namespace {

TEST(SecretCommands, PutReportsWhetherTheSecretIsNew) {
  CommandRig rig;
  const PutSecret put{.ns = "default", .name = "token", .value = "t"};
  EXPECT_EQ(rig.must(put), (Json{{"name", "token"}, {"created", true}}));
  EXPECT_EQ(rig.must(put), (Json{{"name", "token"}, {"created", false}}));
}

TEST(SecretCommands, DeleteIsRefusedWhileAWebhookUsesTheSecret) {
  CommandRig rig;
  const DeleteSecret remove{.ns = "default", .name = "token"};
  EXPECT_EQ(rig.refusal(remove).code, "secret.not_found");
  rig.must(PutSecret{.ns = "default", .name = "token", .value = "t"});
  const Json settings{{"webhooks", {{{"url", "http://hook"}, {"secret", "token"}}}}};
  rig.must(CreateNamespace{.name = "default", .settings = settings});
  EXPECT_EQ(rig.refusal(remove).code, "secret.in_use");
  rig.must(CreateNamespace{.name = "default", .settings = Json::object()});
  EXPECT_EQ(rig.must(remove), (Json{{"name", "token"}, {"deleted", true}}));
}

TEST(SecretCommands, LoseTheBatchWhenAReadOfTheStoreFails) {
  expect_every_read_fault_loses_the_batch([](CommandRig&) -> Command {
    return PutSecret{.ns = "default", .name = "token", .value = "t"};
  });
  expect_every_read_fault_loses_the_batch([](CommandRig& rig) -> Command {
    rig.must(PutSecret{.ns = "default", .name = "token", .value = "t"});
    return DeleteSecret{.ns = "default", .name = "token"};
  });
}

}  // namespace
}  // namespace millrace
