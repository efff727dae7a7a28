// Rows that deletions by earlier releases left in the store, and namespaces whose row is lost.
// millrace keeps and reports these rows until an operator deletes them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "tests/simulation/deleted_namespace.h"
#include "tests/simulation/world.h"

namespace millrace {
namespace {

using std::chrono::hours;
using testing::Gt;
using testing::HasSubstr;
using testing::SizeIs;

/// A store of an earlier release, which erased no rows of a deleted namespace and did not record
/// the deletion of a workflow. Namespace 2, which was called `a`, is deleted, and so are two
/// workflows of `default`: one with instances and one without.
class Leftovers : public testing::Test {
 protected:
  Leftovers() {
    world.apply(job("stays"));
    world.start("stays");
    for (const char* const id : {"gone", "gone-unused"}) world.apply(job(id));
    world.start("gone");
    world.must(CreateNamespace{.name = "a"});
    for (const char* const text : {kCallsAndGoesOn, kWaitsInDeleted}) world.apply(text, "a");
    world.apply(job("job"), "a");
    for (const char* const id : {"job", "calls"}) {
      for (int i = 0; i < 2; ++i) {
        world.must(
            StartInstance{.ns = "a", .workflow = id, .idempotency_key = fmt::format("key-{}", i)});
      }
    }
    world.crash();
    world.change_store([](Transaction& tx) {
      delete_names(tx, "a");
      for (const char* const id : {"gone", "gone-unused"}) {
        erase_workflow(tx, NamespaceNumber(1), id);
      }
    });
    world.functions.be_replaced();
    world.checks_store = false;
    world.recover();
    world.run_until_idle();
  }

  std::string damages() { return dump_json(world.processor().damages().list()); }
  Json finish(const std::string& workflow) {
    return world.must(DeleteWorkflow{.ns = "default", .id = workflow, .leftovers = true});
  }

  World world;
};

TEST_F(Leftovers, AreKeptAndReportedUntilAnOperatorDeletesThem) {
  const auto filled = keys(world);
  world.run_for(hours(1));
  world.restart();
  EXPECT_EQ(keys(world), filled);
  EXPECT_THAT(damages(), testing::AllOf(HasSubstr("`millrace namespace delete 2 --leftovers`"),
                                        HasSubstr("`millrace workflow delete 2 --leftovers`"),
                                        HasSubstr("`millrace workflow delete 3 --leftovers`")));
}

TEST_F(Leftovers, OfANamespaceAreErasedEvenAcrossARestart) {
  const auto asked = [&] { return world.command(DeleteNamespace{.name = "2", .leftovers = true}); };
  const Answered erased = asked();
  world.step();
  ASSERT_TRUE(erased->has_value() && **erased);
  EXPECT_EQ(***erased, (Json{{"number", 2}, {"erasing", true}}));
  ASSERT_TRUE(is_purging(world));
  const Answered again = asked();
  world.restart();
  world.run_until_idle();
  EXPECT_FALSE(is_purging(world));
  for (const auto& [key, value] : world.rows()) {
    EXPECT_FALSE(key.starts_with(std::string("ended/\0\0\0\2", 10))) << key;
    EXPECT_FALSE(key.starts_with("tasks/")) << key;
  }
  EXPECT_THAT(world.instances(), SizeIs(2)) << "the instances of `default` stay";
  EXPECT_THAT(world.metric("millrace_rows_purged_total"), Gt(4));
}

TEST_F(Leftovers, AreGoneWhenAnOperatorHasDeletedEach) {
  world.must(DeleteNamespace{.name = "2", .leftovers = true});
  EXPECT_EQ(finish("2"), (Json{{"number", 2}, {"kept", true}})) << "it has an ended instance";
  EXPECT_EQ(finish("3"), (Json{{"number", 3}, {"kept", false}}));
  EXPECT_EQ(finish("5"), (Json{{"number", 5}, {"kept", false}})) << "`waits` of namespace 2";
  EXPECT_EQ(world.refusal(DeleteWorkflow{.ns = "default", .id = "2", .leftovers = true}).code,
            "leftovers.none");
  world.checks_store = true;
  world.restart();
  EXPECT_EQ(damages(), "[]");
  for (const Json& instance : world.instances()) EXPECT_EQ(instance["status"], "complete");
}

TEST_F(Leftovers, DoNotIncludeRowsInUse) {
  const auto none = [&](const std::string& number) {
    return world.refusal(DeleteNamespace{.name = number, .leftovers = true});
  };
  EXPECT_THAT(none("1").message, HasSubstr("namespace \"default\" has the number 1"));
  for (const char* const number : {"1", "0", "3", "a", "-1", "4294967298"}) {
    EXPECT_EQ(none(number).code, "leftovers.none") << number;
  }
  const auto workflow = [&](const std::string& ns, const std::string& number) {
    return world.refusal(DeleteWorkflow{.ns = ns, .id = number, .leftovers = true});
  };
  EXPECT_EQ(workflow("default", "1").code, "leftovers.none");
  EXPECT_EQ(workflow("default", "7").code, "leftovers.none");
  const Error of_namespace = workflow("default", "4");
  EXPECT_EQ(of_namespace.code, "leftovers.in_use");
  EXPECT_THAT(of_namespace.message, HasSubstr("millrace namespace delete 2 --leftovers"));
  world.must(CreateNamespace{.name = "b"});
  EXPECT_THAT(workflow("b", "2").message, HasSubstr("-n default"));
}

TEST(NamespaceWithoutARow, IsNotDeletedAsALeftoverIfItHasWorkflowsVariablesOrSecrets) {
  const std::pair<const char*, std::function<void(World&)>> cases[] = {
      {"workflows", [](World& world) { world.apply(job("job"), "a"); }},
      {"variables",
       [](World& world) {
         world.must(PutVariable{.place = {.ns = "a"}, .key = "k", .value = {.bytes = "v"}});
       }},
      {"secrets",
       [](World& world) { world.must(PutSecret{.ns = "a", .name = "s", .value = "v"}); }},
      {"workflows that were deleted",
       [](World& world) {
         world.apply(job("job"), "a");
         world.must(DeleteWorkflow{.ns = "a", .id = "job"});
       }},
      {"live instances",
       [](World& world) {
         world.apply(kWaitsInDeleted, "a");
         world.must(StartInstance{.ns = "a", .workflow = "waits"});
         world.crash();
         world.change_store(
             [](Transaction& tx) { erase_workflow(tx, NamespaceNumber(2), "waits"); });
         world.recover();
       }},
  };
  for (const auto& [what, fill_in] : cases) {
    World world;
    world.checks_store = false;
    world.must(CreateNamespace{.name = "a"});
    fill_in(world);
    world.crash();
    world.change_store([](Transaction& tx) { erase_namespace(tx, "a"); });
    world.recover();
    const auto filled = keys(world);
    const Error refused = world.refusal(DeleteNamespace{.name = "2", .leftovers = true});
    EXPECT_EQ(refused.code, "leftovers.in_use") << what;
    EXPECT_THAT(refused.message, testing::AllOf(HasSubstr(what), HasSubstr("restore a backup")));
    world.run_for(hours(1));
    EXPECT_EQ(keys(world), filled) << what;
  }
}

TEST(NamespaceWithoutARow, IsNotErasedByAPurgeWhileItHasALiveInstance) {
  World world;
  world.must(CreateNamespace{.name = "a"});
  world.apply(kWaitsInDeleted, "a");
  world.must(StartInstance{.ns = "a", .workflow = "waits"});
  const auto filled = keys(world);
  world.checks_store = false;
  world.crash();
  world.change_store([](Transaction& tx) {
    erase_namespace(tx, "a");
    write_purge(tx, {.kind = Purge::Kind::kNamespace, .number = 2, .record = {.ns = "a"}});
  });
  world.recover();
  world.run_for(hours(1));
  const auto left = keys(world);
  for (const std::string& key : filled) {
    EXPECT_TRUE(key == "namespaces/a" || std::count(left.begin(), left.end(), key) == 1) << key;
  }
  EXPECT_THAT(dump_json(world.processor().damages().list()), HasSubstr("so the namespace was not"));
  EXPECT_EQ(world.processor().ready().error().code, kDamagedRow);
}

}  // namespace
}  // namespace millrace
