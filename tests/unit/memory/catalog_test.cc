// Catalog: names, numbers, settings and definitions. The catalog equals the store after a lost
// batch and after a failed read.
#include "orchestrator/memory/catalog.h"

#include <optional>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// A workflow that waits for `first` and then for the event type `last`.
std::string text_of(const std::string& id, const std::string& last = "second") {
  return fmt::format(R"(
id: {}
states:
- {{id: one, type: consumeEvent, event: {{type: first}}, transition: two}}
- {{id: two, type: consumeEvent, event: {{type: {}}}}}
)",
                     id, last);
}

class CatalogTest : public CatalogStoreTest {
 protected:
  Status put(const std::string& text, NamespaceNumber in) {
    auto workflow = TRY(load_stored(text));
    TRY(catalog.apply(*tx, in, text, std::move(workflow), now));
    return {};
  }
  Status put(const std::string& text) { return put(text, ns); }
  /// Loses the batch; returns the workflows that it had changed.
  std::vector<WorkflowNumber> lose_batch() {
    tx->drop();
    const auto changed = catalog.undo(*tx);
    EXPECT_TRUE(changed) << changed.error().message;
    if (!changed) return {};
    return {changed->begin(), changed->end()};
  }
  /// The namespaces and workflows of a catalog as text.
  static std::string picture(const Catalog& of) {
    std::string all;
    for (const NamespaceNumber number : of.namespaces()) {
      all += fmt::format("{} {} {} {}\n", static_cast<uint32_t>(number), of.name_of(number),
                         of.settings(number).paused.size(), of.has_unreadable_settings(number));
    }
    for (const auto& [number, entry] : of.workflows()) {
      all += fmt::format("{} {} {} {} {} {}\n", static_cast<uint32_t>(number), entry.id,
                         static_cast<uint32_t>(entry.ns), entry.latest, entry.paused,
                         entry.groups_from);
      EXPECT_EQ(of.find_workflow(entry.ns, entry.id), &entry);
      EXPECT_EQ(of.find_workflow(number), &entry);
    }
    return all;
  }
  std::string picture() const { return picture(catalog); }
  /// The namespaces and workflows of another catalog that reads the store.
  std::string stored() {
    DefinitionCache others{load_stored};
    Catalog other(others, batches);
    const Status loaded = other.load(*tx);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return picture(other);
  }
  const AwaitedTypes& awaited(WorkflowNumber workflow, uint32_t revision, StateIndex state) {
    static const AwaitedTypes none;
    const auto types = catalog.awaited(*tx, {workflow, revision}, state);
    EXPECT_TRUE(types) << types.error().message;
    last_ = types ? *types : nullptr;
    return last_ ? *last_ : none;
  }

 private:
  std::shared_ptr<const AwaitedTypes> last_;
};

TEST_F(CatalogTest, FindsNamespacesByNameAndNumber) {
  const NamespaceNumber shop = create_namespace("shop");
  EXPECT_NE(shop, ns);
  EXPECT_EQ(catalog.find_namespace("shop"), shop);
  EXPECT_EQ(catalog.name_of(shop), "shop");
  EXPECT_TRUE(catalog.has_namespace(shop));
  EXPECT_THAT(catalog.namespaces(), ElementsAre(ns, shop));
  EXPECT_EQ(catalog.find_namespace("none"), std::nullopt);
  EXPECT_EQ(catalog.name_of(NamespaceNumber(99)), "(deleted)");
  EXPECT_EQ(stored(), picture());
}

TEST_F(CatalogTest, AddsARevisionForEachNewDefinition) {
  const WorkflowNumber orders = apply(text_of("orders"));
  const WorkflowNumber bills = apply(text_of("bills"));
  EXPECT_NE(orders, bills);
  ASSERT_TRUE(put(text_of("orders")));
  EXPECT_EQ(catalog.find_workflow(orders)->latest, 1U) << "the text equals the newest revision";
  ASSERT_TRUE(put(text_of("orders", "other")));
  ASSERT_TRUE(put(text_of("orders")));
  commit_catalog();
  EXPECT_EQ(catalog.find_workflow(orders)->latest, 3U)
      << "applying the text of an older revision adds a new revision";
  EXPECT_EQ(catalog.find_workflow(ns, "orders")->number, orders);
  EXPECT_EQ(catalog.find_workflow(ns, "none"), nullptr);
  EXPECT_EQ(catalog.find_workflow(create_namespace("shop"), "orders"), nullptr);
  EXPECT_EQ(stored(), picture());
}

TEST_F(CatalogTest, LoadsEachRevisionOnce) {
  const WorkflowNumber orders = apply(text_of("orders"));
  apply(text_of("orders", "other"));
  DefinitionCache others{load_stored};
  Catalog other(others, batches);
  ASSERT_TRUE(other.load(*tx));
  const auto first = other.definition(*tx, {orders, 1});
  const auto second = other.definition(*tx, {orders, 2});
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  fail_reads_of(Table::kDefinitions);
  EXPECT_EQ(other.definition(*tx, {orders, 1}), *first);
  heal();
  const auto missing = other.definition(*tx, {orders, 3});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, kDamagedRow);
}

TEST_F(CatalogTest, RefusesADefinitionOfAnotherWorkflow) {
  const WorkflowNumber orders = apply(text_of("orders"));
  const WorkflowNumber bills = apply(text_of("bills"));
  write_definition(*tx, {orders, 1}, {.created_at = now, .text = text_of("bills")});
  write_definition(*tx, {bills, 1}, {.created_at = now, .text = "no: workflow"});
  commit();
  DefinitionCache others{load_stored};
  Catalog other(others, batches);
  ASSERT_TRUE(other.load(*tx));
  for (const WorkflowNumber number : {orders, bills}) {
    const auto read = other.definition(*tx, {number, 1});
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, kDamagedRow);
  }
}

TEST_F(CatalogTest, KnowsTheEventTypesThatAnInstanceMayStillWaitFor) {
  const WorkflowNumber orders = apply(text_of("orders"));
  EXPECT_THAT(awaited(orders, 1, 0), ElementsAre("first", "second"));
  EXPECT_THAT(awaited(orders, 1, 1), ElementsAre("second"));
  const auto beyond = catalog.awaited(*tx, {orders, 1}, 2);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, kDamagedRow);
}

TEST_F(CatalogTest, KnowsTheEventTypesOfTheRevisionsOfWhichItWasAsked) {
  const WorkflowNumber orders = apply(text_of("orders"));
  const WorkflowNumber bills = apply(text_of("bills", "third"));
  const std::set<Revision> first{Revision{orders, 1}};
  const std::set<Revision> both{Revision{orders, 1}, Revision{bills, 1}};
  EXPECT_THAT(catalog.known_types({}), testing::Optional(testing::IsEmpty()));
  EXPECT_EQ(catalog.known_types(first), std::nullopt);
  awaited(orders, 1, 1);
  EXPECT_THAT(catalog.known_types(first), testing::Optional(ElementsAre("first", "second")))
      << "of all states";
  EXPECT_EQ(catalog.known_types(both), std::nullopt);
  awaited(bills, 1, 0);
  EXPECT_THAT(catalog.known_types(both),
              testing::Optional(ElementsAre("first", "second", "third")));
}

TEST_F(CatalogTest, ForgetsTheTypesOfAWorkflowThatIsRemoved) {
  const NamespaceNumber shop = create_namespace("shop");
  const WorkflowNumber orders = apply(text_of("orders"));
  const WorkflowNumber bills = apply(text_of("bills"));
  ASSERT_TRUE(put(text_of("sales"), shop));
  const WorkflowNumber sales = catalog.find_workflow(shop, "sales")->number;
  for (const WorkflowNumber workflow : {orders, bills, sales}) awaited(workflow, 1, 0);
  catalog.remove_workflow(*tx, orders);
  EXPECT_EQ(catalog.known_types({Revision{orders, 1}}), std::nullopt);
  EXPECT_THAT(catalog.known_types({Revision{bills, 1}}), testing::Optional(testing::SizeIs(2)));
  catalog.remove_namespace(*tx, shop);
  EXPECT_EQ(catalog.known_types({Revision{sales, 1}}), std::nullopt);
  EXPECT_THAT(catalog.known_types({Revision{bills, 1}}), testing::Optional(testing::SizeIs(2)));
}

TEST_F(CatalogTest, HasABoundedNumberOfTypesInMemory) {
  constexpr size_t kStates = 250;
  std::string text = "id: wide\nstates:\n";
  for (size_t i = 0; i < kStates; ++i) {
    text += fmt::format("- {{id: s{}, type: noop, transition: s{}}}\n", i, i + 1);
  }
  text += fmt::format("- id: s{}\n  type: eventXor\n  events:\n", kStates);
  for (size_t i = 0; i < 1'024; ++i) text += fmt::format("  - {{type: t{}}}\n", i);
  const WorkflowNumber orders = apply(text_of("orders"));
  const WorkflowNumber wide = apply(text);
  awaited(orders, 1, 0);
  for (StateIndex state = 0; state < kStates; ++state) awaited(wide, 1, state);
  EXPECT_EQ(catalog.known_types({Revision{orders, 1}}), std::nullopt) << "it was forgotten";
  EXPECT_THAT(catalog.known_types({Revision{wide, 1}}), testing::Optional(testing::SizeIs(1'024)));
  EXPECT_THAT(awaited(orders, 1, 0), ElementsAre("first", "second")) << "it is computed again";
  EXPECT_THAT(catalog.known_types({Revision{orders, 1}}),
              testing::Optional(ElementsAre("first", "second")));
}

TEST_F(CatalogTest, CollectsABoundedNumberOfTypes) {
  const auto awaiting = [](const std::string& id, size_t types) {
    std::string text =
        fmt::format("id: {}\nstates:\n- id: wait\n  type: eventXor\n  events:\n", id);
    for (size_t i = 0; i < types; ++i) text += fmt::format("  - {{type: {}{}}}\n", id, i);
    return text;
  };
  const WorkflowNumber half = apply(awaiting("half", 1'024));
  const WorkflowNumber rest = apply(awaiting("rest", 1'024));
  const WorkflowNumber one = apply(awaiting("one", 1));
  for (const WorkflowNumber workflow : {half, rest, one}) awaited(workflow, 1, 0);
  EXPECT_THAT(catalog.known_types({Revision{half, 1}, Revision{rest, 1}}),
              testing::Optional(testing::SizeIs(2'048)));
  EXPECT_EQ(catalog.known_types({Revision{half, 1}, Revision{rest, 1}, Revision{one, 1}}),
            std::nullopt)
      << "events of all types are kept then";
}

TEST_F(CatalogTest, FindsTheServiceThatAFunctionNames) {
  const NamespaceNumber shop = create_namespace("shop");
  set_settings(Json::parse(R"({"services": {"mail": {"url": "http://mail"}}})"));
  const NamedService here{.name = "mail"};
  const NamedService global{.name = "mail", .global = true};
  EXPECT_NE(catalog.find_service(ns, here), nullptr);
  EXPECT_EQ(catalog.find_service(shop, here), nullptr);
  EXPECT_NE(catalog.find_service(shop, global), nullptr);
  EXPECT_EQ(catalog.ns_of(shop, here), shop);
  EXPECT_EQ(catalog.ns_of(shop, global), ns);
}

TEST_F(CatalogTest, ReportsServicesAsHeldIfTheyArePausedOrHaveUnreadableSettings) {
  const NamespaceNumber shop = create_namespace("shop");
  const NamedService mail{.name = "mail"};
  const NamedService global{.name = "mail", .global = true};
  EXPECT_FALSE(catalog.is_held(ns, mail));
  set_settings(Json::parse(R"({"paused": ["mail"]})"));
  EXPECT_TRUE(catalog.is_held(ns, mail));
  EXPECT_FALSE(catalog.is_held(ns, {.name = "other"}));
  EXPECT_FALSE(catalog.is_held(shop, mail));

  damage_settings();
  EXPECT_TRUE(catalog.has_unreadable_settings(ns));
  EXPECT_TRUE(catalog.is_held(ns, {.name = "other"}));
  EXPECT_TRUE(catalog.is_held(shop, global)) << "the target of the global service is not known";
  EXPECT_FALSE(catalog.is_held(shop, mail));
  set_settings(Json::object());
  EXPECT_FALSE(catalog.is_held(ns, mail));
}

TEST_F(CatalogTest, ListsTheNamespacesWithRulesOfRetention) {
  EXPECT_TRUE(catalog.retaining().empty());
  set_settings(Json::parse(R"({"retention": {"ended": {"age": "30d"}}})"));
  EXPECT_EQ(catalog.retaining(), std::set{ns});
  ASSERT_TRUE(catalog.load(*tx));
  EXPECT_EQ(catalog.retaining(), std::set{ns});
  set_settings(Json::parse(R"({"retention": {"ended": {}}})"));
  EXPECT_TRUE(catalog.retaining().empty());
  set_settings(Json::parse(R"({"retention": {"history": {"records": 100}}})"));
  EXPECT_EQ(catalog.retaining(), std::set{ns});
  set_settings(Json::parse(R"({"retention": {"failed": {"count": 1}}})"));
  catalog.remove_namespace(*tx, ns);
  EXPECT_TRUE(catalog.retaining().empty());
}

TEST_F(CatalogTest, FindsTheHistoryLimitsOfAWorkflow) {
  ASSERT_TRUE(put(text_of("orders")));
  ASSERT_TRUE(put(text_of("loops")));
  const WorkflowNumber orders = catalog.find_workflow(ns, "orders")->number;
  const WorkflowNumber loops = catalog.find_workflow(ns, "loops")->number;
  EXPECT_FALSE(catalog.history_limits(ns, loops).records);
  set_settings(Json::parse(R"({"retention": {
      "history": {"records": 1000}, "workflows": {"loops": {"history": {"records": 200}}}}})"));
  EXPECT_EQ(catalog.history_limits(ns, loops).records, 200U);
  EXPECT_EQ(catalog.history_limits(ns, orders).records, 1'000U);
  EXPECT_EQ(catalog.history_limits(ns, WorkflowNumber(99)).records, 1'000U)
      << "a deleted workflow has the limits of the namespace";
}

TEST_F(CatalogTest, ForgetsANamespaceWithItsWorkflows) {
  const NamespaceNumber shop = create_namespace("shop");
  ASSERT_TRUE(put(text_of("orders"), shop));
  apply(text_of("orders"));
  const WorkflowNumber of_shop = catalog.find_workflow(shop, "orders")->number;
  catalog.remove_namespace(*tx, shop);
  catalog.remove_namespace(*tx, NamespaceNumber(99));
  commit_catalog();
  EXPECT_FALSE(catalog.has_namespace(shop));
  EXPECT_EQ(catalog.find_namespace("shop"), std::nullopt);
  EXPECT_EQ(catalog.find_workflow(of_shop), nullptr);
  EXPECT_NE(catalog.find_workflow(ns, "orders"), nullptr);
  EXPECT_EQ(stored(), picture());
  EXPECT_NE(create_namespace("shop"), shop) << "a number is never used twice";
}

TEST_F(CatalogTest, PausesAndRemovesWorkflowsAndClosesTheirGroups) {
  const WorkflowNumber orders = apply(text_of("orders"));
  apply(text_of("bills"));
  apply(text_of("orders", "other"));
  catalog.pause_workflow(*tx, orders, true);
  catalog.renew_groups(*tx, orders);
  commit_catalog();
  EXPECT_TRUE(catalog.find_workflow(orders)->paused);
  EXPECT_EQ(catalog.find_workflow(orders)->groups_from, 2U);
  EXPECT_EQ(stored(), picture());
  catalog.remove_workflow(*tx, orders);
  commit_catalog();
  EXPECT_EQ(catalog.find_workflow(orders), nullptr);
  EXPECT_EQ(catalog.find_workflow(ns, "orders"), nullptr);
  EXPECT_EQ(stored(), picture());
}

TEST_F(CatalogTest, RefusesAnInstanceOfAWorkflowInAnotherNamespace) {
  const WorkflowNumber orders = apply(text_of("orders"));
  Instance instance{.ns = ns, .revision = {orders, 1}};
  EXPECT_TRUE(catalog.check_owner(instance));
  instance.revision.workflow = WorkflowNumber(99);
  EXPECT_TRUE(catalog.check_owner(instance)) << "a deleted workflow belongs to no namespace";
  instance.revision.workflow = orders;
  instance.ns = create_namespace("shop");
  const Status owned = catalog.check_owner(instance);
  ASSERT_FALSE(owned);
  EXPECT_EQ(owned.error().code, kDamagedRow);
}

TEST_F(CatalogTest, EqualsTheStoreAfterALostBatch) {
  const NamespaceNumber shop = create_namespace("shop");
  const WorkflowNumber orders = apply(text_of("orders"));
  const WorkflowNumber bills = apply(text_of("bills"));
  const std::string before = picture();
  EXPECT_THAT(lose_batch(), IsEmpty()) << "the batch has changed nothing";

  ASSERT_TRUE(catalog.create_namespace(*tx, "other", now));
  ASSERT_TRUE(put(text_of("orders", "other")));
  ASSERT_TRUE(put(text_of("new")));
  catalog.pause_workflow(*tx, orders, true);
  catalog.remove_workflow(*tx, bills);
  catalog.remove_namespace(*tx, shop);
  ASSERT_TRUE(catalog.set_settings(*tx, ns, R"({"paused": ["mail"]})",
                                   *parse_settings(Json::parse(R"({"paused": ["mail"]})"))));
  const WorkflowNumber lost = catalog.find_workflow(ns, "new")->number;
  EXPECT_THAT(lose_batch(), ElementsAre(orders, bills, lost));
  EXPECT_EQ(picture(), before);
  EXPECT_EQ(stored(), before);
}

TEST_F(CatalogTest, ForgetsTheDefinitionsOfALostBatch) {
  const WorkflowNumber orders = apply(text_of("orders"));
  ASSERT_TRUE(put(text_of("orders", "lost")));
  EXPECT_THAT(awaited(orders, 2, 1), ElementsAre("lost"));
  lose_batch();
  EXPECT_FALSE(catalog.definition(*tx, {orders, 2}));
  EXPECT_EQ(catalog.known_types({Revision{orders, 2}}), std::nullopt);
  apply(text_of("orders", "kept"));
  EXPECT_THAT(awaited(orders, 2, 1), ElementsAre("kept"));
}

TEST_F(CatalogTest, KeepsCommittedChangesWhenTheNextBatchIsLost) {
  apply(text_of("orders"));
  const std::string before = picture();
  EXPECT_THAT(lose_batch(), IsEmpty());
  EXPECT_EQ(picture(), before);
}

TEST_F(CatalogTest, LoadsCompletelyOnceAllReadsSucceed) {
  create_namespace("shop");
  apply(text_of("orders"));
  const std::string before = picture();
  EXPECT_GE(fail_each_read([&] { return catalog.load(*tx); }, [] {}), 2U);
  EXPECT_EQ(picture(), before);
}

TEST_F(CatalogTest, ChangesNothingWhenAReadFails) {
  const WorkflowNumber orders = apply(text_of("orders"));
  const std::string before = picture();
  const auto is_as_before = [&] {
    lose_batch();
    EXPECT_EQ(picture(), before);
  };
  EXPECT_GE(fail_each_read([&] { return put(text_of("orders", "other")); }, is_as_before), 1U);
  is_as_before();
  EXPECT_GE(fail_each_read([&] { return put(text_of("new")); }, is_as_before), 1U);
  is_as_before();
  EXPECT_GE(
      fail_each_read([&] { return catalog.create_namespace(*tx, "shop", now); }, is_as_before), 1U);
  is_as_before();
  EXPECT_GE(fail_each_read([&] { return catalog.set_settings(*tx, ns, "{}", {}); }, is_as_before),
            1U);
  is_as_before();
  DefinitionCache others{load_stored};
  Catalog other(others, batches);
  ASSERT_TRUE(other.load(*tx));
  const auto define = [&]() -> Status {
    TRY(other.definition(*tx, {orders, 1}));
    return {};
  };
  EXPECT_EQ(fail_each_read(define, [] {}), 1U);
}

TEST_F(CatalogTest, RefusesToLoadTwoNamespacesWithOneNumber) {
  write_namespace(*tx, "twin", {.number = ns, .created_at = now});
  commit();
  DefinitionCache others{load_stored};
  Catalog other(others, batches);
  const Status loaded = other.load(*tx);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, kDamagedRow);
}

}  // namespace
}  // namespace millrace
