// StoreLookup: what a step looks up, and how a read that failed is told afterwards.
#include "orchestrator/batch/store_lookup.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

class StoreLookupTest : public CatalogStoreTest {
 protected:
  VariableName name(const std::string& key) const {
    return {owner_of(space, {}, {}, VariableScope::kNamespace), key};
  }
  StoreLookup lookup{*tx, catalog, "the key"};
};

TEST_F(StoreLookupTest, FindsVariablesAndSecretsOfTheBatchAndOfTheStore) {
  write_variable(*tx, name("a"), {.bytes = "1"});
  write_secret(*tx, space, "s", "hidden");
  EXPECT_EQ(lookup.variable(name("a")).value()->bytes, "1");
  commit();
  EXPECT_EQ(lookup.variable(name("a")).value()->bytes, "1");
  EXPECT_EQ(lookup.secret(space, "s").value(), "hidden");
  EXPECT_FALSE(lookup.variable(name("b")).value());
  EXPECT_FALSE(lookup.secret(space, "t").value());
  EXPECT_TRUE(lookup.take_status());
  EXPECT_EQ(lookup.id_key(), "the key");
}

TEST_F(StoreLookupTest, GivesTheInputThatTheBatchMadeWithoutReadingIt) {
  Instance instance{.id = numbered_id(1), .space = space, .input = Json{{"n", 1}}};
  fail_reads_of(Table::kLive);
  EXPECT_EQ(lookup.input(instance).value().value(), (Json{{"n", 1}}));
}

TEST_F(StoreLookupTest, FindsPoliciesOfTheSettings) {
  const NamedService mail{.name = "mail"};
  EXPECT_EQ(lookup.default_retries(space), nullptr);
  EXPECT_EQ(lookup.service_policy(space, mail), nullptr);
  EXPECT_FALSE(lookup.is_held(space, mail));
  set_settings(Json::parse(
      R"({"services": {"mail": {"retries": {"maxAttempts": 3, "backoffMs": 100}},
                       "plain": {"url": "http://plain"}},
          "paused": ["mail"], "defaults": "stevora"})"));
  EXPECT_NE(lookup.default_retries(space), nullptr);
  EXPECT_NE(lookup.service_policy(space, mail), nullptr);
  EXPECT_EQ(lookup.service_policy(space, {.name = "plain"}), nullptr) << "it says nothing of calls";
  EXPECT_TRUE(lookup.is_held(space, mail));
}

TEST_F(StoreLookupTest, TellsOnceOfAReadThatFailedAndHasNothingInItsPlace) {
  write_variable(*tx, name("a"), {.bytes = "1"});
  commit();
  fail_reads_of(Table::kVariables);
  const auto found = lookup.variable(name("a"));
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  heal();
  const Status told = lookup.take_status();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, "store.io");
  EXPECT_TRUE(lookup.take_status());
  EXPECT_EQ(lookup.variable(name("a")).value()->bytes, "1");
}

TEST_F(StoreLookupTest, GivesTheErrorOfADamagedRowToTheStep) {
  write_variable(*tx, name("a"), {.bytes = "1"});
  commit();
  std::string key;
  tx->scan(Table::kVariables, "", [&](std::string_view one, std::string_view) {
    key = one;
    return false;
  });
  tx->put(Table::kVariables, key, "rubbish");
  const auto found = lookup.variable(name("a"));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, kDamagedRow);
  EXPECT_TRUE(lookup.take_status()) << "the batch goes on";
}

}  // namespace
}  // namespace millrace
