// The setting `hooks` of a namespace.
#include "orchestrator/definition/inbound_webhooks.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/definition/namespace_settings.h"

namespace millrace {
namespace {

using testing::HasSubstr;

TEST(InboundWebhooks, AreSettingsOfANamespace) {
  const auto settings = read_settings(R"({"hooks": {"git": {
      "verify": {"form": "github", "secrets": ["a"]}, "mapping": {"type": "push"}}}})");
  ASSERT_TRUE(settings) << settings.error().message;
  ASSERT_TRUE(settings->inbound.contains("git"));
  const InboundWebhook& git = settings->inbound.at("git");
  EXPECT_EQ(git.verify.form, SignatureSetting::Form::kGithub);
  EXPECT_EQ(git.mapping.type.assemble({}).value(), "push");
  EXPECT_FALSE(git.is_paused);
}

TEST(InboundWebhooks, MayBePaused) {
  const auto settings = read_settings(R"({"hooks": {"git": {"paused": true,
      "verify": {"form": "github", "secrets": ["a"]}, "mapping": {"type": "push"}}}})");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_TRUE(settings->inbound.at("git").is_paused);
}

TEST(InboundWebhooks, NameThePlaceOfAWrongValueAndWhatToWrite) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {R"({"hooks": []})", "hooks: write an object"},
      {R"({"hooks": {"a b": {}}})", "hooks.a b: the name has 1 to 128 letters"},
      {R"({"hooks": {"git": 1}})", "hooks.git: write an object"},
      {R"({"hooks": {"git": {}}})", "hooks.git.verify: write an object"},
      {R"({"hooks": {"git": {"verify": {"form": "github", "secrets": ["a"]}}}})",
       "hooks.git.mapping: write an object"},
      {R"({"hooks": {"git": {"verify": {"form": "github", "secrets": ["a"]}, "mapping": {}}}})",
       "hooks.git.mapping.type: write the type"},
      {R"({"hooks": {"git": {"secret": "a"}}})",
       "hooks.git.secret: unknown setting; valid: verify, mapping, paused"},
      {R"({"hooks": {"git": {"paused": 1}}})", "hooks.git.paused: write true or false"},
  };
  for (const auto& [text, message] : wrong) {
    const auto settings = read_settings(text);
    ASSERT_FALSE(settings) << text;
    EXPECT_EQ(settings.error().code, "settings.invalid") << text;
    EXPECT_THAT(settings.error().message, HasSubstr(message)) << text;
  }
  Json many = Json::object();
  for (size_t i = 0; i <= kMostInboundWebhooks; ++i) many[std::to_string(i)] = Json::object();
  EXPECT_THAT(parse_inbound_webhooks("hooks", many).error().message,
              HasSubstr("hooks: 33 inbound webhooks are given; at most 32 are possible"));
}

}  // namespace
}  // namespace millrace
