// The verbs of `namespace`.
#include <gtest/gtest.h>

#include "tests/unit/cli/cli_fixture.h"

namespace millrace {
namespace {

class NamespaceVerbs : public CliTest {};

TEST_F(NamespaceVerbs, PrintsTheWarningsOfSettings) {
  const std::string settings = R"({"services": {"a": {"maxRuntime": "30"}}})";
  const CommandOutput table =
      run({"-o", "table", "namespace", "create", "shop", "--settings", settings});
  EXPECT_EQ(table.code, 0);
  EXPECT_EQ(table.err, "warning: services.a.maxRuntime: write 30s\n");
  EXPECT_EQ(table.out, "created  true\nname     shop\n");
  const CommandOutput json =
      run({"-o", "json", "namespace", "create", "shop", "--settings", settings});
  EXPECT_EQ(json.err, table.err);
  EXPECT_EQ(Json::parse(json.out)["warnings"][0]["path"], "services.a.maxRuntime");
}

TEST_F(NamespaceVerbs, PrintsWhatNewSettingsRemove) {
  ASSERT_EQ(run({"namespace", "create", "shop", "--settings",
                 R"({"services": {"ship": {"url": "http://ship"}}, "hooks": {"git": {"verify":
                     {"form": "github", "secrets": ["key"]}, "mapping": {"type": "push"}}}})"})
                .code,
            0);
  const CommandOutput table =
      run({"-o", "table", "namespace", "create", "shop", "--settings", R"({"lifecycle": true})"});
  EXPECT_EQ(table.code, 0);
  EXPECT_EQ(table.err,
            "removed: hooks.git: the new settings do not have it\n"
            "removed: services.ship (http://ship): the new settings do not have it\n");
  EXPECT_EQ(table.out, "created  false\nname     shop\n");
  const CommandOutput json = run({"-o", "json", "namespace", "create", "shop", "--settings", "{}"});
  EXPECT_EQ(json.err, "removed: lifecycle: the new settings do not have it\n");
  EXPECT_EQ(Json::parse(json.out)["removed"][0]["path"], "lifecycle");
}

TEST_F(NamespaceVerbs, ShowsTheQuotasOfANamespace) {
  const CommandOutput table = run({"-o", "table", "namespace", "get", "default"});
  EXPECT_EQ(table.code, 0) << table.err;
  for (const char* const part :
       {"QUOTA", "USED", "LIMIT", "instances", "3", "10", "unlimited (20000 over HTTP)"}) {
    EXPECT_NE(table.out.find(part), std::string::npos) << part << " in " << table.out;
  }
  const CommandOutput json = run({"-o", "json", "namespace", "get", "default"});
  EXPECT_EQ(Json::parse(json.out)["quotas"]["instances"]["used"], 3);
  EXPECT_EQ(run({"namespace", "get", "none"}).code, 3);
}

TEST_F(NamespaceVerbs, ListsCreatesAndDeletesNamespaces) {
  expect_outputs({
      {{"namespace", "list"}, "NAMESPACE\ndefault\n"},
      {{"namespace", "create", "shop"}, "created  true\nname     shop\n"},
      {{"namespace", "list", "-o", "name"}, "default\nshop\n"},
      {{"namespace", "delete", "shop", "-o", "name"}, "shop\n"},
  });
}

}  // namespace
}  // namespace millrace
