// StoreLookup: what a step can look up, and how a failed read is reported.
#include "orchestrator/batch/store_lookup.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/support/batch_store.h"

namespace millrace {
namespace {

class StoreLookupTest : public BatchStoreTest {
 protected:
  VariableName name(const std::string& key) const {
    return {owner_of(ns, {}, {}, VariableScope::kNamespace), key};
  }
  StoreLookup lookup{*tx, catalog, tasks, "the key"};
};

TEST_F(StoreLookupTest, FindsVariablesAndSecretsOfTheBatchAndOfTheStore) {
  write_variable(*tx, name("a"), {.bytes = "1"});
  write_secret(*tx, ns, "s", "hidden");
  EXPECT_EQ(lookup.variable(name("a")).value()->bytes, "1");
  commit();
  EXPECT_EQ(lookup.variable(name("a")).value()->bytes, "1");
  EXPECT_EQ(lookup.secret(ns, "s").value(), "hidden");
  EXPECT_FALSE(lookup.variable(name("b")).value());
  EXPECT_FALSE(lookup.secret(ns, "t").value());
  EXPECT_TRUE(lookup.take_status());
  EXPECT_EQ(lookup.id_key(), "the key");
}

TEST_F(StoreLookupTest, ReturnsTheInputOfANewInstanceWithoutARead) {
  Instance instance{.id = numbered_id(1), .ns = ns, .input = Json{{"n", 1}}};
  fail_reads_of(Table::kLive);
  EXPECT_EQ(lookup.input(instance).value().value(), (Json{{"n", 1}}));
}

TEST_F(StoreLookupTest, ReturnsTheStartingEventOfANewInstanceWithoutARead) {
  Instance instance;
  EXPECT_TRUE(lookup.start_event(instance).value().is_null()) << "its head has no size of it";
  instance.start_event = Json{{"id", "1"}};
  EXPECT_EQ(lookup.start_event(instance).value(), instance.start_event);
}

TEST_F(StoreLookupTest, FindsThePoliciesOfTheSettings) {
  const NamedService mail{.name = "mail"};
  EXPECT_EQ(lookup.default_retries(ns), nullptr);
  EXPECT_EQ(lookup.service_policy(ns, mail), nullptr);
  EXPECT_FALSE(lookup.is_held(ns, mail));
  set_settings(Json::parse(
      R"({"services": {"mail": {"retries": {"maxAttempts": 3, "backoffMs": 100}},
                       "plain": {"url": "http://plain"}},
          "paused": ["mail"], "defaults": "stevora"})"));
  EXPECT_NE(lookup.default_retries(ns), nullptr);
  EXPECT_NE(lookup.service_policy(ns, mail), nullptr);
  EXPECT_EQ(lookup.service_policy(ns, {.name = "plain"}), nullptr) << "the service has no policy";
  EXPECT_TRUE(lookup.is_held(ns, mail));
}

TEST_F(StoreLookupTest, ReportsAFailedReadOnceAndReturnsNoValue) {
  write_variable(*tx, name("a"), {.bytes = "1"});
  commit();
  fail_reads_of(Table::kVariables);
  const auto found = lookup.variable(name("a"));
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  heal();
  const Status status = lookup.take_status();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "store.io");
  EXPECT_TRUE(lookup.take_status());
  EXPECT_EQ(lookup.variable(name("a")).value()->bytes, "1");
}

TEST_F(StoreLookupTest, ReturnsTheErrorOfADamagedRowToTheStep) {
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
  EXPECT_TRUE(lookup.take_status()) << "a damaged row does not lose the batch";
}

}  // namespace
}  // namespace millrace
