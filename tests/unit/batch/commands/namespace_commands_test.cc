#include "orchestrator/batch/commands/namespace_commands.h"

#include <string>
#include <variant>

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

TEST(NamespaceCommands, CreateRefusesAnInboundWebhookWithAnUnknownSecret) {
  CommandRig rig;
  const CreateNamespace create{.name = "a", .settings = Json::parse(R"({"hooks": {"git": {
          "verify": {"form": "github", "secrets": ["new", "old"]}, "mapping": {"type": "push"}}}})")};
  rig.must(CreateNamespace{.name = "a"});
  rig.must(PutSecret{.ns = "a", .name = "new", .value = "t"});
  const Error error = rig.refusal(create);
  EXPECT_EQ(error.code, "settings.invalid");
  EXPECT_EQ(error.message,
            "hooks.git.verify.secrets[1]: the namespace has no secret \"old\"; create the "
            "namespace, then set the secret (`millrace secret set old`), then these settings");
  rig.must(PutSecret{.ns = "a", .name = "old", .value = "t"});
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

Json service_at(const std::string& key, const std::string& place) {
  return {{"services", {{"charge", {{key, place}}}}}};
}

TEST(NamespaceCommands, CreateRefusesTargetsThatNoCallMayReach) {
  CommandRig rig;
  rig.batch().request_subjects = {.prefix = "orders", .allowed = {"shop.>"}};
  for (const char* const subject :
       {"$JS.API.STREAM.PURGE.MILLRACE_DLQ", "_INBOX.a", "millrace.events.default.x",
        "orders.events.default.x", "stock.reserve"}) {
    const Error error =
        rig.refusal(CreateNamespace{.name = "default", .settings = service_at("request", subject)});
    EXPECT_EQ(error.code, "settings.invalid") << subject;
    EXPECT_TRUE(error.message.starts_with("services.charge.request: ")) << error.message;
  }
  rig.must(CreateNamespace{.name = "default", .settings = service_at("request", "shop.charge")});
  const Error no_host =
      rig.refusal(CreateNamespace{.name = "default", .settings = service_at("url", "http://")});
  EXPECT_EQ(no_host.message,
            "services.charge.url: not a valid URL: No host part in the URL; write an HTTP URL such "
            "as http://host:8080/path");
  const Json webhook{{"webhooks", {{{"url", "http://a b"}}}}};
  EXPECT_TRUE(rig.refusal(CreateNamespace{.name = "default", .settings = webhook})
                  .message.starts_with("webhooks[0].url: "));
}

TEST(NamespaceCommands, PauseKeepsServicesWhoseStoredTargetsWouldBeRefusedNow) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "default", .settings = service_at("request", "shop.charge")});
  rig.batch().request_subjects.allowed = {"stock.>"};
  EXPECT_EQ(rig.must(PauseService{.ns = "default", .name = "charge"})["changed"], true);
}

TEST(NamespaceCommands, CreateKeepsTheStoredPartsOfURLsThatAreNotShown) {
  CommandRig rig;
  const std::string url = "http://ann:secret@pay/x?key=secret";
  rig.must(CreateNamespace{.name = "default", .settings = service_at("url", url)});
  const auto stored_url = [&] {
    const auto& services = rig.batch().catalog.settings(NamespaceNumber(1)).services;
    return std::get<HttpService>(*services.find("charge")->second.target).url;
  };
  Json shown = service_at("url", "http://***@pay/x?***");
  shown["lifecycle"] = true;
  rig.must(CreateNamespace{.name = "default", .settings = shown});
  EXPECT_EQ(stored_url(), url);
  const Error other = rig.refusal(
      CreateNamespace{.name = "default", .settings = service_at("url", "http://***@other/x")});
  EXPECT_EQ(other.code, "settings.invalid");
  EXPECT_EQ(stored_url(), url);
  rig.must(CreateNamespace{.name = "default", .settings = service_at("url", "http://pay/x")});
  EXPECT_EQ(stored_url(), "http://pay/x");
}

TEST(NamespaceCommands, CreateReturnsWhatTheNewSettingsRemove) {
  CommandRig rig;
  const Json first = service_at("url", "http://ann:secret@pay/x?key=secret");
  EXPECT_FALSE(rig.must(CreateNamespace{.name = "default", .settings = first}).contains("removed"));
  const Json answer = rig.must(CreateNamespace{.name = "default", .settings = Json::object()});
  EXPECT_EQ(answer["removed"], Json::parse(R"([{"path": "services.charge",
                                                "url": "http://***@pay/x?***"}])"));
  rig.must(CreateNamespace{.name = "default", .settings = first});
  Json same = service_at("url", "http://***@pay/x?***");
  same["lifecycle"] = true;
  EXPECT_FALSE(rig.must(CreateNamespace{.name = "default", .settings = same}).contains("removed"));
  EXPECT_FALSE(rig.must(CreateNamespace{.name = "default"}).contains("removed"));
}

TEST(NamespaceCommands, CreateRefusesTooManyWebhooks) {
  CommandRig rig;
  Json webhooks = Json::array();
  for (int i = 0; i < 32; ++i) webhooks.push_back(Json{{"url", "http://receiver"}});
  rig.must(CreateNamespace{.name = "a", .settings = Json{{"webhooks", webhooks}}});
  webhooks.push_back(Json{{"url", "http://another"}});
  const Error error =
      rig.refusal(CreateNamespace{.name = "a", .settings = Json{{"webhooks", webhooks}}});
  EXPECT_EQ(error.code, "settings.invalid");
  EXPECT_EQ(error.message,
            "webhooks: there are 33 webhooks; write at most 32, and let one receiver pass the "
            "events on to others");
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

TEST(NamespaceCommands, DeleteIsRefusedWhileAnInstanceMakesItsCompensations) {
  CommandRig rig;
  rig.must(CreateNamespace{.name = "a"});
  rig.must(CommandRig::apply_workflow(kUndoes, "a"));
  rig.must(StartInstance{.ns = "a", .workflow = "undoes", .input = Json::object()});
  DeleteNamespace remove{.name = "a", .cancel = true};
  const Error refused = rig.refusal(remove);
  EXPECT_EQ(refused.code, "namespace.compensating");
  EXPECT_EQ(refused.message.find("namespace \"a\" is not deleted yet: "), 0U) << refused.message;
  remove.drop_compensations = true;
  EXPECT_EQ(rig.must(remove), (Json{{"cancelled", 1}, {"droppedCompensations", 1}}));
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

TEST(NamespaceCommands, PauseSearchesInOneDefinitionIfThatTakesAWholeUnitOfWork) {
  struct Spent final : WorkBudget {
    bool is_spent(size_t) const override { return true; }
  };
  CommandRig rig;
  rig.must(CommandRig::apply_workflow(kWaits));
  rig.must(CommandRig::apply_workflow(kCalls));
  Spent unit;
  Command command = PauseService{.ns = "default", .name = "charge"};
  for (const bool is_last : {false, true}) {
    CommandContext context = rig.context();
    context.unit = &unit;
    Result<CommandProgress> progress = carry_out(context, command);
    ASSERT_TRUE(progress) << progress.error().message;
    ASSERT_TRUE(rig.commit());
    ASSERT_EQ(std::holds_alternative<Json>(*progress), is_last);
    if (!is_last) command = std::get<Command>(*std::move(progress));
  }
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
