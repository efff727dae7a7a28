// Queries for namespaces: their stored settings, and the errors and warnings of these settings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/batch/commands/settings_warnings.h"
#include "orchestrator/service/page.h"
#include "tests/unit/service/query_fixture.h"

namespace millrace {
namespace {

class NamespaceQueriesTest : public QueryTest {
 protected:
  NamespaceQueriesTest() {
    now += std::chrono::hours(1);
    create_namespace("shop");
  }

  void store_settings(const std::string& name, const std::string& text) {
    auto record = read_namespace(*tx, name);
    ASSERT_TRUE(record && *record);
    (*record)->settings = text;
    write_namespace(*tx, name, **record);
    commit();
  }
  static Result<Json> namespaces(Queries& queries, const View& view) {
    return queries.namespaces(view);
  }
  static Result<Json> unreadable(Queries& queries, const View& view) {
    return queries.unreadable_settings(view);
  }
  /// The item of the namespace `shop` in the list.
  Json shop() { return answer(namespaces)["items"][1]; }
};

TEST_F(NamespaceQueriesTest, ListNamespacesSortedByName) {
  set_settings({{"lifecycle", true}});
  EXPECT_EQ(answer(namespaces), Json::parse(R"({"items": [
    {"name": "default", "createdAt": "2023-11-14T22:13:20.000Z", "settings": {"lifecycle": true}},
    {"name": "shop", "createdAt": "2023-11-14T23:13:20.000Z"}], "next": null})"));
}

TEST_F(NamespaceQueriesTest, ListNamespacesInPages) {
  create_namespace("zoo");
  const auto list = [](auto& queries, auto& view, size_t most, auto at) {
    return queries.namespaces(view, {.limit = most, .cursor = std::string(at)});
  };
  const auto names = [&](size_t limit) { return pages("name", limit, list); };
  using testing::ElementsAre;
  EXPECT_THAT(names(3), ElementsAre(ElementsAre("default", "shop", "zoo")));
  EXPECT_THAT(names(2), ElementsAre(ElementsAre("default", "shop"), ElementsAre("zoo")));
  store_settings("default", std::string(Page::kMostBytes, ' '));
  EXPECT_THAT(names(3), ElementsAre(ElementsAre("default"), ElementsAre("shop", "zoo")));
}

TEST_F(NamespaceQueriesTest, ShowTheQuotasOfOneNamespaceWithTheirUse) {
  const auto one = [](Queries& queries, const View& view) {
    return queries.one_namespace(view, "default");
  };
  set_settings({{"quotas", {{"instances", 5}, {"storeBytes", "unlimited"}}}});
  apply("id: one\nstates: [{id: only, type: noop}]\n");
  started.began(ns);
  started.began(ns);
  IndexChanges changes;
  changes.add(*tx, {.id = numbered_id(1),
                    .place = {.ns = ns, .status = InstanceStatus::kWaiting},
                    .row_bytes = 70,
                    .history_bytes = 30});
  changes.add_bytes(ns, 5);
  ASSERT_TRUE(changes.write(*tx, damages.noting()));
  commit();
  const Json shown = answer(one);
  EXPECT_EQ(shown["name"], "default");
  EXPECT_EQ(shown["quotas"], Json::parse(R"({
    "instances": {"limit": 5, "used": 1},
    "storeBytes": {"limit": "unlimited", "used": 105},
    "historyBytes": {"limit": 1073741824},
    "eventsPerSecond": {"limit": "unlimited", "overHttp": 20000},
    "calls": {"limit": 100000, "used": 2},
    "workflows": {"limit": 10000, "used": 1},
    "startKeys": {"limit": 100000, "used": 0},
    "queuedStarts": {"limit": 100000}})"));
  EXPECT_EQ(
      ask([](Queries& queries, const View& view) { return queries.one_namespace(view, "none"); })
          .error()
          .code,
      "namespace.not_found");
}

TEST_F(NamespaceQueriesTest, LeaveOutEmptySettings) {
  for (const char* const text : {"", "{}"}) {
    store_settings("shop", text);
    EXPECT_EQ(shop(), (Json{{"name", "shop"}, {"createdAt", "2023-11-14T23:13:20.000Z"}})) << text;
  }
}

TEST_F(NamespaceQueriesTest, ShowUnreadableSettingsWithTheirError) {
  const std::pair<const char*, Json> rows[] = {
      {"{", "(not JSON)"},
      {"[1]", Json::array({1})},
      {R"({"services": 5})", {{"services", 5}}},
      {R"({"later": true})", {{"later", true}}},
  };
  for (const auto& [text, shown] : rows) {
    store_settings("shop", text);
    const Json item = shop();
    EXPECT_EQ(item["settings"], shown) << text;
    EXPECT_EQ(item["settingsError"], read_settings(text).error().message) << text;
    EXPECT_FALSE(item.contains("settingsWarnings")) << text;
  }
}

TEST_F(NamespaceQueriesTest, ShowURLsWithoutUserAndPasswordAndQuery) {
  store_settings("shop", R"({
      "services": {"pay": {"url": "http://ann:secret@pay:80/x?key=secret"}},
      "webhooks": [{"url": "https://hooks/in?token=secret", "secret": "name"}]})");
  EXPECT_EQ(shop()["settings"], Json::parse(R"({
      "services": {"pay": {"url": "http://***@pay:80/x?***"}},
      "webhooks": [{"url": "https://hooks/in?***", "secret": "name"}]})"));
  store_settings("shop", R"({"later": [{"url": "http://ann:secret@pay"}]})");
  EXPECT_EQ(shop()["settings"], Json::parse(R"({"later": [{"url": "http://***@pay"}]})"));
}

TEST_F(NamespaceQueriesTest, ShowTheWarningsOfSettings) {
  const Json settings = Json::parse(R"({"services": {"mail": {"maxRuntime": "30"}}})");
  store_settings("shop", dump_json(settings));
  const Json warnings = shop()["settingsWarnings"];
  EXPECT_EQ(warnings, settings_warnings(settings, [](auto) { return true; }));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0]["path"], "services.mail.maxRuntime");
  EXPECT_FALSE(shop().contains("settingsError"));
}

TEST_F(NamespaceQueriesTest, WarnOfRulesOfRetentionForAWorkflowThatDoesNotExist) {
  const std::string settings = R"({"retention": {"workflows": {"pay": {"ended": {}}}}})";
  store_settings("shop", settings);
  store_settings("default", settings);
  EXPECT_EQ(shop()["settingsWarnings"][0]["path"], "retention.workflows.pay");
  expect_each_read_to_count(namespaces);
  apply("id: pay\nstates:\n- {id: a, type: noop}\n");
  EXPECT_FALSE(answer(namespaces)["items"][0].contains("settingsWarnings"));
  EXPECT_TRUE(shop().contains("settingsWarnings")) << "another namespace has the workflow";
}

TEST_F(NamespaceQueriesTest, NameTheNamespacesWithUnreadableSettings) {
  EXPECT_EQ(answer(unreadable), Json::array());
  store_settings("shop", R"({"later": true})");
  set_settings({{"lifecycle", true}});
  const std::string why = read_settings(R"({"later": true})").error().message;
  EXPECT_EQ(answer(unreadable), Json::array({{{"namespace", "shop"}, {"error", why}}}));
}

TEST_F(NamespaceQueriesTest, FailOnADamagedRowOfANamespace) {
  damage(Table::kNamespaces, "shop");
  EXPECT_EQ(outcome(namespaces), kDamagedRow);
  EXPECT_EQ(outcome(unreadable), kDamagedRow);
}

TEST_F(NamespaceQueriesTest, FailWhenAReadFails) {
  store_settings("shop", "{");
  expect_each_read_to_count(namespaces);
  expect_each_read_to_count(unreadable);
}

}  // namespace
}  // namespace millrace
