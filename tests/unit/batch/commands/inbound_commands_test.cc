// Inbound webhooks of a namespace are paused, resumed and deleted one by one.
#include "orchestrator/batch/commands/inbound_commands.h"

#include <string>

#include <gtest/gtest.h>

#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "tests/unit/batch/commands/command_rig.h"

namespace millrace {
namespace {

constexpr const char* kTwoInbound = R"({"lifecycle": true, "hooks": {
    "git": {"verify": {"form": "github", "secrets": ["key"]}, "mapping": {"type": "push"}},
    "pay": {"verify": {"form": "stripe", "secrets": ["key"]}, "mapping": {"type": "paid"}}}})";

class InboundCommands : public testing::Test {
 protected:
  InboundCommands() {
    rig.must(PutSecret{.ns = "default", .name = "key", .value = "t"});
    rig.must(CreateNamespace{.name = "default", .settings = Json::parse(kTwoInbound)});
  }
  Json stored() { return Json::parse(read_namespace(rig.batch().tx, "default").value()->settings); }
  const InboundWebhooks& known() {
    return rig.batch().catalog.settings(NamespaceNumber(1)).inbound;
  }

  CommandRig rig;
};

TEST_F(InboundCommands, PauseAndResumeOneAndKeepAllOtherSettings) {
  Json expected = Json::parse(kTwoInbound);
  const struct {
    bool paused;
    bool changed;
  } rows[] = {{false, false}, {true, true}, {true, false}, {false, true}};
  for (const auto& row : rows) {
    const Json answer =
        rig.must(PauseInboundWebhook{.ns = "default", .name = "git", .paused = row.paused});
    EXPECT_EQ(answer, (Json{{"name", "git"}, {"paused", row.paused}, {"changed", row.changed}}));
    EXPECT_EQ(known().at("git").is_paused, row.paused);
    EXPECT_FALSE(known().at("pay").is_paused);
    expected["hooks"]["git"].erase("paused");
    if (row.paused) expected["hooks"]["git"]["paused"] = true;
    EXPECT_EQ(stored(), expected);
  }
}

TEST_F(InboundCommands, DeleteOneAndKeepAllOtherSettings) {
  EXPECT_EQ(rig.must(DeleteInboundWebhook{.ns = "default", .name = "git"}),
            (Json{{"name", "git"}, {"deleted", true}}));
  EXPECT_FALSE(known().contains("git"));
  EXPECT_TRUE(stored()["hooks"].contains("pay"));
  EXPECT_EQ(rig.refusal(DeleteSecret{.ns = "default", .name = "key"}).code, "secret.in_use");
  rig.must(DeleteInboundWebhook{.ns = "default", .name = "pay"});
  EXPECT_EQ(stored(), (Json{{"lifecycle", true}}));
  rig.must(DeleteSecret{.ns = "default", .name = "key"});
}

TEST_F(InboundCommands, RefuseANameThatTheSettingsDoNotHave) {
  for (const Command& command : {Command(PauseInboundWebhook{.ns = "default", .name = "gut"}),
                                 Command(DeleteInboundWebhook{.ns = "default", .name = "gut"})}) {
    const Error error = rig.refusal(command);
    EXPECT_EQ(error.code, "hooks.not_found");
    EXPECT_EQ(error.message, "namespace \"default\" has no inbound webhook \"gut\"");
  }
  EXPECT_EQ(stored(), Json::parse(kTwoInbound));
}

}  // namespace
}  // namespace millrace
