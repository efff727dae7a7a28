// Warnings about mappings for whose types no workflow listens, and what lint knows of the types of
// a namespace.
#include "orchestrator/service/type_warnings.h"

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kListensForOrders = R"(
id: orders
start: {type: event, event: {type: order.placed}}
states:
- {id: pay, type: consumeEvent, event: {type: order.paid}, transition: send}
- {id: send, type: generateEvent, event: {type: order.sent, source: orders}}
)";

class TypeWarningsTest : public LocalServiceTest {
 protected:
  /// The places of the warnings in the answer, and its error.
  static std::vector<std::string> warned(const std::optional<Result<Json>>& answer) {
    std::vector<std::string> places;
    if (!answer || !*answer) {
      ADD_FAILURE() << (answer ? answer->error().message : "no answer");
      return places;
    }
    for (const Json& one : (*answer)->value("warnings", Json::array()))
      places.push_back(one["path"]);
    return places;
  }
  std::vector<std::string> put_webhook(const std::string& type) {
    std::optional<Result<Json>> answer;
    const Json settings = {{"hooks",
                            {{"git",
                              {{"verify", {{"form", "github"}, {"secrets", Json::array({"key"})}}},
                               {"mapping", {{"type", type}}}}}}}};
    service->command(PutSecret{.ns = "default", .name = "key", .value = "secret"},
                     [](const Result<Json>&) {});
    service->command(CreateNamespace{.name = "default", .settings = settings},
                     [&](const Result<Json>& one) { answer = one; });
    world.run_until_idle();
    return warned(answer);
  }
  std::vector<std::string> put_source(const std::string& type) {
    origins.add("ORDERS", "shop.orders", "{}");
    std::optional<Result<Json>> answer;
    service->source_desk().apply("default", "orders",
                                 Json{{"stream", "ORDERS"}, {"mapping", {{"type", type}}}},
                                 [&](const Result<Json>& one) { answer = one; });
    world.run_until_idle();
    return warned(answer);
  }
  std::vector<std::string> unknown_types(const std::string& type) {
    const std::string text =
        "id: a\nstart: {type: event, event: {type: " + type + "}}\nstates: [{id: a, type: noop}]\n";
    std::vector<std::string> found;
    for (const Finding& one : service->load_definition(text, "default").findings.sorted()) {
      if (one.code == "lint.event_unknown") found.push_back(one.path);
    }
    return found;
  }
};

TEST_F(TypeWarningsTest, NameAMappingForWhoseTypeNoWorkflowListens) {
  world.apply(kListensForOrders);
  for (const char* const type : {"order.placed", "order.paid", "order.jq(.data.kind)"}) {
    EXPECT_THAT(put_source(type), IsEmpty()) << type;
    EXPECT_THAT(put_webhook(type), IsEmpty()) << type;
  }
  for (const char* const type : {"order.sent", "order.placd", "payment.jq(.data.kind)"}) {
    EXPECT_THAT(put_source(type), ElementsAre("mapping.type")) << type;
    EXPECT_THAT(put_webhook(type), ElementsAre("hooks.git.mapping.type")) << type;
  }
}

TEST_F(TypeWarningsTest, SayWhatToDo) {
  const EventMapping mapping =
      parse_mapping("mapping", *parse_json(R"({"type": "order.placd"})")).value();
  const std::vector<PlacedMapping> all = {{.where = "mapping", .mapping = mapping}};
  const Json warnings = type_warnings(all, {});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0]["message"].get<std::string>(), HasSubstr("\"order.placd\""));
  EXPECT_THAT(warnings[0]["message"].get<std::string>(), HasSubstr("correct the type"));
}

TEST_F(TypeWarningsTest, LetLintKnowWhichTypesAreMade) {
  world.apply(kListensForOrders);
  EXPECT_THAT(unknown_types("order.placd"), IsEmpty()) << "without a mapping, nothing is known";
  put_source("order.placed");
  put_webhook("git.jq(.data.kind)");
  for (const char* const type : {"order.placed", "order.sent", "git.push"}) {
    EXPECT_THAT(unknown_types(type), IsEmpty()) << type;
  }
  EXPECT_THAT(unknown_types("order.placd"), ElementsAre("start.event.type"));
  on_read = [] { return true; };
  EXPECT_THAT(unknown_types("order.placd"), IsEmpty()) << "the store cannot be read";
}

TEST_F(TypeWarningsTest, LetLintKnowWhichLimitsTheCallsOfTheNamespaceHave) {
  const auto calling = [](const std::string& id, const std::string& limit) {
    return "id: " + id + "\nfunctions: [{id: f, type: service, service: bank" + limit +
           "}]\nstates: [{id: a, type: action, action: {function: f}, timeout: 1h}]\n";
  };
  const auto unkept = [&](const std::string& text, const std::string& ns = "default") {
    std::vector<std::string> found;
    for (const Finding& one : service->load_definition(text, ns).findings.sorted()) {
      if (one.code == "lint.limit_not_kept" && one.severity == Severity::kWarning) {
        found.push_back(one.path);
      }
    }
    return found;
  };
  const std::string slots = ", concurrency: {limit: 2}";
  EXPECT_THAT(unkept(calling("pay", "")), IsEmpty());
  world.apply(calling("settle", slots));
  EXPECT_THAT(unkept(calling("pay", "")), ElementsAre("functions[0].service"));
  EXPECT_THAT(unkept(calling("pay", slots)), IsEmpty());
  const char* const higher = ", concurrency: {limit: 3}";
  const char* const lower = ", concurrency: {limit: 1}";
  EXPECT_THAT(unkept(calling("pay", higher)), ElementsAre("functions[0].concurrency"));
  EXPECT_THAT(unkept(calling("pay", lower)), ElementsAre("functions[0].concurrency"))
      << "the calls of the other workflow exceed it";
  EXPECT_THAT(unkept(calling("settle", "")), IsEmpty()) << "the earlier revision does not count";
  EXPECT_THAT(unkept(calling("pay", ""), "other"), IsEmpty()) << "another namespace";
  world.apply(calling("pay", ""));
  EXPECT_THAT(unkept(calling("settle", slots)), ElementsAre("functions[0].concurrency"));
  on_read = [] { return true; };
  EXPECT_THAT(unkept(calling("pay", "")), IsEmpty()) << "the store cannot be read";
}

}  // namespace
}  // namespace millrace
