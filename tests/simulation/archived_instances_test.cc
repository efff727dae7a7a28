// The archive: instances that are deleted are written before, each once, as lines of JSON; also if
// the process ends at any moment, and if the files cannot be written or were moved.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/archive/archive_files.h"
#include "orchestrator/store/rows/index_build.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/simulation/deleted_namespace.h"
#include "tests/simulation/world.h"
#include "tests/support/archive_lines.h"
#include "tests/support/file_bytes.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using std::chrono::minutes;
using testing::Ge;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kCountsFailures = R"(
id: errs
states:
- {id: stop, type: error, error: no.use, message: gone}
)";
constexpr const char* kArchiveAll = R"({"ended": {"age": "1m"}, "archive": true})";

class ArchiveWorld : public testing::Test {
 protected:
  ArchiveWorld() {
    world.apply(job("job"));
    world.apply(kCountsFailures);
    world.apply(kWaitsInDeleted);
  }

  void keep(const std::string& rules, const std::string& ns = "default") {
    world.must(CreateNamespace{.name = ns, .settings = Json{{"retention", Json::parse(rules)}}});
  }
  /// Starts instances that end at once; returns their ids.
  std::set<std::string> run(int count, const std::string& ns = "default") {
    std::vector<Answered> answers;
    for (int i = 0; i < count; ++i) {
      answers.push_back(
          world.command(StartInstance{.ns = ns, .workflow = "job", .input = {{"n", i}}}));
      if (i % 100 == 99) world.run_until_idle();
    }
    world.run_until_idle();
    std::set<std::string> ids;
    for (const Answered& answer : answers) ids.insert((**answer)->at("id").get<std::string>());
    return ids;
  }
  fs::path file(uint32_t number = 1, NamespaceNumber ns = NamespaceNumber(1),
                std::string_view name = "default") const {
    return archive_file(world.folder() / kArchiveFolder, ns, name, number);
  }
  static std::multiset<std::string> once(const std::set<std::string>& ids) {
    return {ids.begin(), ids.end()};
  }

  World world;
};

TEST_F(ArchiveWorld, HasEachInstanceThatTheRetentionDeletes) {
  keep(kArchiveAll);
  const std::set<std::string> ids = run(3);
  const Json shown = world.instance(*ids.begin());
  const Json history = world.history_items(*ids.begin());
  world.run_for(minutes(3));
  EXPECT_THAT(world.instances(), IsEmpty());
  const std::vector<Json> archived = archive_lines_of(file());
  EXPECT_EQ(archived_ids(file()), once(ids));
  const auto first = std::find_if(archived.begin(), archived.end(),
                                  [&](const Json& one) { return one.at("id") == shown.at("id"); });
  ASSERT_NE(first, archived.end());
  Json expected = shown;
  // These are computed from other rows for each answer.
  expected.erase("startedBy");
  expected.erase("transitions");
  expected["namespace"] = "default";
  expected["history"] = history;
  expected["variables"] = Json::array();
  EXPECT_EQ(*first, expected);
  EXPECT_EQ(world.metric("millrace_instances_archived_total"), 3);
  EXPECT_EQ(world.metric("millrace_instances_deleted_total{reason=\"retention\"}"), 3);
  EXPECT_EQ(world.metric("millrace_retention_archived_instances_total{namespace=\"default\"}"), 3);
}

TEST_F(ArchiveWorld, HasTheVariablesOfAnInstanceThatAreDeletedWithIt) {
  world.apply(R"(
id: notes
states:
- id: note
  type: setter
  variables:
  - {key: seen, scope: instance, value: 'jq(.n)'}
  - {key: last, scope: workflow, value: 'jq(.n)'}
)");
  keep(kArchiveAll);
  world.start("notes", {{"n", 7}});
  ASSERT_EQ(world.rows_of("variables"), 2U);
  world.run_for(minutes(3));
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_EQ(world.rows_of("variables"), 1U) << "the variable of the workflow stays";
  const std::vector<Json> archived = archive_lines_of(file());
  ASSERT_THAT(archived, SizeIs(1));
  EXPECT_EQ(archived.front().at("variables"), Json::parse(R"([
    {"key": "seen", "size": 1, "contentType": "application/json", "data": "7",
     "encoding": "utf-8"}])"));
}

TEST_F(ArchiveWorld, HasEachInstanceThatAFilterSelects) {
  keep(R"({"archive": true})");
  const std::set<std::string> ids = run(1'500);
  world.start("errs");
  world.start("waits");
  world.must(
      DeleteInstances{.ns = "default", .workflow = "job", .statuses = {InstanceStatus::kComplete}});
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(2));
  EXPECT_EQ(archived_ids(file()), once(ids));
  EXPECT_FALSE(is_purging(world));
}

TEST_F(ArchiveWorld, HasNoInstanceThatACommandDeletesByItsId) {
  keep(R"({"archive": true})");
  const std::set<std::string> ids = run(1);
  world.must(DeleteInstance{.ns = "default", .instance = *parse_instance_id(*ids.begin())});
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(ArchiveWorld, HasEachInstanceOnceIfTheProcessEndsAtAnyMoment) {
  keep(kArchiveAll);
  std::set<std::string> ids;
  for (int turns = 0;; ++turns) {
    const std::set<std::string> more = run(40);
    ids.insert(more.begin(), more.end());
    world.clock.advance(minutes(2));
    bool is_done = false;
    for (int i = 0; i < turns; ++i) is_done = !world.step();
    world.restart_at(turns);
    EXPECT_THAT(archive_lines_of(file()), testing::Not(SizeIs(Ge(ids.size() + 1)))) << turns;
    world.run_for(minutes(3));
    EXPECT_THAT(world.instances(), IsEmpty()) << turns;
    ASSERT_EQ(archived_ids(file()), once(ids)) << turns;
    if (is_done) break;
    ASSERT_LT(turns, 40);
  }
}

TEST_F(ArchiveWorld, HasAllVariablesOfAnInstanceIfTheProcessEndsAtAnyMoment) {
  constexpr size_t kVariables = 50;
  std::string notes = "id: notes\nstates:\n- id: note\n  type: setter\n  variables:\n";
  for (size_t n = 0; n < kVariables; ++n) {
    notes += fmt::format("  - {{key: v{}, scope: instance, value: 'jq(.n)'}}\n", n);
  }
  world.apply(notes);
  keep(kArchiveAll);
  size_t started = 0;
  for (int turns = 0;; ++turns) {
    for (int i = 0; i < 50; ++i, ++started) world.start("notes", {{"n", i}});
    world.clock.advance(minutes(2));
    bool is_done = false;
    for (int i = 0; i < turns; ++i) is_done = !world.step();
    world.restart();
    world.run_for(minutes(3));
    EXPECT_EQ(world.rows_of("variables"), 0U) << turns;
    const std::vector<Json> archived = archive_lines_of(file());
    ASSERT_THAT(archived, SizeIs(started)) << turns;
    for (const Json& line : archived) EXPECT_THAT(line.at("variables"), SizeIs(kVariables));
    if (is_done) break;
    ASSERT_LT(turns, 40);
  }
}

TEST_F(ArchiveWorld, IsWrittenInSmallPagesIfInstancesHaveLargeVariables) {
  keep(kArchiveAll);
  const std::set<std::string> ids = run(6);
  world.crash();
  world.change_store([&](Transaction& tx) {
    for (const std::string& id : ids) {
      const VariableOwner owner{.scope = VariableScope::kInstance,
                                .ns = NamespaceNumber(1),
                                .instance = *parse_instance_id(id)};
      write_variable(tx, {owner, "large"}, {.bytes = std::string(3 << 20, 'v')});
    }
    request_count_of_rows(tx);  // a batch would have counted the rows
  });
  world.recover();
  world.clock.advance(minutes(2));
  size_t lines = 0;
  while (world.step()) {
    const size_t found = fs::exists(file()) ? archive_lines_of(file()).size() : 0;
    EXPECT_LE(found, lines + 2) << "a page has some MiB of variables";
    lines = found;
  }
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_EQ(archived_ids(file()), once(ids));
}

TEST_F(ArchiveWorld, HasTwoLinesIfTheProcessEndsWhileTheLastOfManyVariablesAreLeft) {
  constexpr size_t kVariables = 12'000;
  keep(kArchiveAll);
  const std::string id = *run(1).begin();
  const VariableOwner owner{.scope = VariableScope::kInstance,
                            .ns = NamespaceNumber(1),
                            .instance = *parse_instance_id(id)};
  world.crash();
  world.change_store([&](Transaction& tx) {
    for (size_t n = 0; n < kVariables; ++n) {
      write_variable(tx, {owner, fmt::format("v{}", n)}, {.bytes = "1"});
    }
    request_count_of_rows(tx);  // a batch would have counted the rows
  });
  world.recover();
  world.clock.advance(minutes(2));
  for (int i = 0; i < 100 && world.rows_of("variables") == kVariables; ++i) world.step();
  EXPECT_THAT(world.instances(), SizeIs(1)) << "it is deleted in several batches";
  const size_t left = world.rows_of("variables");
  EXPECT_LT(left, kVariables);
  world.restart();
  world.run_for(minutes(3));
  EXPECT_THAT(world.instances(), IsEmpty());
  const std::vector<Json> archived = archive_lines_of(file());
  ASSERT_THAT(archived, SizeIs(2));
  EXPECT_EQ(archived[0].at("id"), id);
  EXPECT_EQ(archived[1].at("id"), id);
  EXPECT_THAT(archived[0].at("variables"), SizeIs(kVariables));
  EXPECT_THAT(archived[1].at("variables"), SizeIs(left));
}

TEST_F(ArchiveWorld, LosesALineThatWasNotCommittedWhenMillraceStarts) {
  keep(kArchiveAll);
  const std::set<std::string> ids = run(2);
  world.run_for(minutes(3));
  world.crash();
  std::ofstream(file(), std::ios::app) << R"({"id":"half)";
  world.recover();
  EXPECT_EQ(archived_ids(file()), once(ids));
}

TEST_F(ArchiveWorld, KeepsInstancesWhileItCannotBeWritten) {
  keep(kArchiveAll);
  keep(R"({"ended": {"age": "1m"}})", "shop");
  world.apply(job("job"), "shop");
  const fs::path archives = world.folder() / kArchiveFolder;
  std::ofstream(archives) << "no folder";
  const std::set<std::string> ids = run(2);
  run(3, "shop");
  world.run_for(minutes(5));
  EXPECT_THAT(world.instances(), SizeIs(2));
  EXPECT_EQ(world.metric("millrace_instances_deleted_total{reason=\"retention\"}"), 3)
      << "the retention of other namespaces continues";
  EXPECT_THAT(world.metric("millrace_archive_failures_total"), Ge(2));
  EXPECT_NE(world.processor().next_wake(), Duration(0)) << "the engine waits for the next attempt";
  fs::remove(archives);
  world.run_for(minutes(2));
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_EQ(archived_ids(file()), once(ids));
}

TEST_F(ArchiveWorld, OfOtherNamespacesIsWrittenWhileThatOfOneCannotBe) {
  keep(kArchiveAll);
  keep(kArchiveAll, "shop");
  world.apply(job("job"), "shop");
  const fs::path archives = world.folder() / kArchiveFolder;
  fs::create_directory(archives);
  std::ofstream(archives / "default.1") << "no folder";
  const std::set<std::string> waiting = run(2);
  const std::set<std::string> sold = run(2, "shop");
  world.run_for(minutes(3));
  EXPECT_EQ(archived_ids(file(1, NamespaceNumber(2), "shop")), once(sold));
  EXPECT_THAT(world.instances(), SizeIs(2));
  const std::string failures = "millrace_namespace_archive_failures_total{namespace=\"default\"}";
  EXPECT_THAT(world.metric(failures), Ge(2)) << "each pass makes an attempt";
  EXPECT_EQ(world.metric("millrace_archive_failures_total"), world.metric(failures));
  fs::remove(archives / "default.1");
  world.run_for(minutes(2));
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_EQ(archived_ids(file()), once(waiting));
}

TEST_F(ArchiveWorld, HasEachInstanceThatAFilterSelectsAlsoAfterAFailure) {
  keep(R"({"archive": true})");
  const std::set<std::string> ids = run(1'200);
  const fs::path archives = world.folder() / kArchiveFolder;
  std::ofstream(archives) << "no folder";
  world.must(
      DeleteInstances{.ns = "default", .workflow = "job", .statuses = {InstanceStatus::kComplete}});
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(ids.size()));
  EXPECT_TRUE(is_purging(world)) << "the deletion waits";
  fs::remove(archives);
  world.run_for(minutes(1));
  EXPECT_THAT(world.instances(), IsEmpty());
  EXPECT_EQ(archived_ids(file()), once(ids));
  EXPECT_FALSE(is_purging(world));
}

TEST_F(ArchiveWorld, ContinuesInANewFileIfItsFileWasMoved) {
  keep(kArchiveAll);
  const std::set<std::string> first = run(2);
  world.run_for(minutes(3));
  EXPECT_EQ(archived_ids(file()), once(first));
  fs::remove(file());
  const std::set<std::string> second = run(2);
  world.run_for(minutes(3));
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_EQ(archived_ids(file(2)), once(second));
  EXPECT_EQ(world.metric("millrace_archive_failures_total"), 0);
}

TEST_F(ArchiveWorld, OfARestoredStoreBeginsWithTheNextNumberAndChangesNoFileThatExists) {
  keep(kArchiveAll);
  run(2);
  world.run_for(minutes(3));
  ASSERT_TRUE(fs::exists(file()));
  world.crash();
  fs::remove_all(world.folder() / kArchiveFolder);  // a backup does not have it
  world.recover();
  const std::set<std::string> second = run(2);
  world.run_for(minutes(3));
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_EQ(archived_ids(file(2)), once(second));
  world.crash();
  fs::remove(file(2));
  std::ofstream(file(3)) << "of another server";
  world.recover();
  const std::set<std::string> fourth = run(2);
  world.run_for(minutes(3));
  EXPECT_EQ(archived_ids(file(4)), once(fourth));
  EXPECT_EQ(file_bytes(file(3)), "of another server");
  EXPECT_EQ(world.metric("millrace_archive_failures_total"), 0);
}

TEST_F(ArchiveWorld, OfADeletedNamespaceStaysAndIsNotUsedByAnotherOneWithItsName) {
  keep(kArchiveAll, "shop");
  world.apply(job("job"), "shop");
  const std::set<std::string> first = run(2, "shop");
  world.run_for(minutes(3));
  world.must(DeleteNamespace{.name = "shop"});
  world.run_until_idle();
  keep(kArchiveAll, "shop");
  world.apply(job("job"), "shop");
  const std::set<std::string> second = run(1, "shop");
  world.run_for(minutes(3));
  EXPECT_EQ(archived_ids(file(1, NamespaceNumber(2), "shop")), once(first));
  EXPECT_EQ(archived_ids(file(1, NamespaceNumber(3), "shop")), once(second));
}

}  // namespace
}  // namespace millrace
