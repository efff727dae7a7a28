#include "orchestrator/batch/commands/secret_commands.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "tests/unit/batch/commands/command_rig.h"

namespace millrace {
namespace {

TEST(SecretCommands, PutReportsWhetherTheSecretIsNew) {
  CommandRig rig;
  const PutSecret put{.ns = "default", .name = "token", .value = "t"};
  EXPECT_EQ(rig.must(put), (Json{{"name", "token"}, {"created", true}}));
  EXPECT_EQ(rig.must(put), (Json{{"name", "token"}, {"created", false}}));
}

TEST(SecretCommands, KeepTheValuesThatInstancesMayStillHave) {
  CommandRig rig;
  for (const char* value : {"first", "first", "second"}) {
    rig.must(PutSecret{.ns = "default", .name = "token", .value = value});
  }
  rig.must(DeleteSecret{.ns = "default", .name = "token"});
  const auto kept = read_secret_values(rig.batch().tx, NamespaceNumber(1));
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->values, (std::vector<std::string>{"first", "second"}));
}

TEST(SecretCommands, NoteThatTheValueOfADamagedRowIsMissing) {
  CommandRig rig;
  const PutSecret put{.ns = "default", .name = "token", .value = "value"};
  rig.must(put);
  Transaction& tx = rig.batch().tx;
  const std::string key = rows::ns_prefix(NamespaceNumber(1)) + "token";
  std::string row(*tx.get(Table::kSecrets, key));
  row.back() = static_cast<char>(row.back() ^ 1);
  tx.put(Table::kSecrets, key, std::move(row));
  ASSERT_TRUE(rig.commit());
  rig.must(put);
  EXPECT_FALSE(read_secret_values(tx, NamespaceNumber(1)).value().is_complete);
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

TEST(SecretCommands, DeleteIsRefusedWhileAnInboundWebhookUsesTheSecret) {
  CommandRig rig;
  const DeleteSecret remove{.ns = "default", .name = "old"};
  rig.must(PutSecret{.ns = "default", .name = "new", .value = "t"});
  rig.must(PutSecret{.ns = "default", .name = "old", .value = "t"});
  const auto settings = [](const char* secrets) {
    const std::string text = std::string(R"({"hooks": {"git": {"mapping": {"type": "push"},
        "verify": {"form": "github", "secrets": )") +
                             secrets + "}}}}";
    return CreateNamespace{.name = "default", .settings = Json::parse(text)};
  };
  rig.must(settings(R"(["new", "old"])"));
  EXPECT_EQ(rig.refusal(remove).code, "secret.in_use");
  rig.must(settings(R"(["new"])"));
  EXPECT_EQ(rig.must(remove), (Json{{"name", "old"}, {"deleted", true}}));
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
