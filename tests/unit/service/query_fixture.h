// QueryTest: queries on a store whose rows the test writes in the form that a batch writes. The
// test can make any read fail.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orchestrator/service/queries.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/row.h"
#include "scenarios/virtual_clock.h"
#include "tests/unit/support/catalog_store.h"

namespace millrace {

class QueryTest : public CatalogStoreTest {
 protected:
  using Ask = std::function<Result<Json>(Queries& queries, const View& view)>;
  /// Asks for a page of a list.
  using AskPage = std::function<Result<Json>(Queries& queries, const View& view, size_t limit,
                                             std::string_view cursor)>;

  // Rows. Each call commits.

  /// An instance of the first revision that waits in the first state of its workflow.
  Instance waiting_instance(WorkflowNumber workflow, uint8_t number) const {
    Instance instance{
        .id = numbered_id(number), .ns = ns, .revision = {workflow, 1}, .started_at = now};
    instance.status = InstanceStatus::kWaiting;
    instance.phase = Phase::kWaiting;
    instance.execution_from = instance.runs_from = instance.state_from = now;
    instance.input = instance.data = Json{{"number", number}};
    return instance;
  }
  /// The instance, ended with that status one second after its start.
  static Instance ended(Instance instance, InstanceStatus status) {
    instance.status = status;
    instance.phase = Phase::kEnded;
    instance.ended_at = instance.started_at + std::chrono::seconds(1);
    return instance;
  }
  /// Writes the rows of the instance, and its rows in the index.
  void store(Instance instance) {
    IndexChanges index;
    const auto before = read_head_anywhere(*tx, instance.ns, instance.id);
    if (before && *before) index.remove(*tx, indexed(**before));
    const std::vector<Call> none;
    write_instance(*tx, instance, {.input = true, .data = true, .calls = &none});
    index.add(*tx, indexed(instance));
    EXPECT_TRUE(index.write(*tx, [](const Error& error) { ADD_FAILURE() << error.message; }));
    commit();
  }
  static std::string head_key(const Instance& instance) {
    return part_key(rows::instance_prefix(instance.ns, instance.id), Part::kHead);
  }
  static std::string definition_key(Revision revision) {
    Writer key;
    key.raw(rows::workflow_prefix(revision.workflow));
    key.u32(revision.number);
    return key.take();
  }
  /// Replaces the value of the row by bytes that do not decode.
  void damage(Table table, const std::string& key) {
    tx->put(table, key, "damaged");
    commit();
  }
  void drop(Table table, const std::string& key) {
    tx->erase(table, key);
    commit();
  }

  // Answers from the last commit, with an empty definition cache.

  Result<Json> ask(const Ask& query) {
    DefinitionCache loaded(load_stored);
    Queries queries(loaded, started, clock);
    const Snapshot view = TRY(Snapshot::take(*environment));
    return query(queries, view);
  }
  Json answer(const Ask& query) {
    const Result<Json> found = ask(query);
    EXPECT_TRUE(found) << found.error().code << ": " << found.error().message;
    return found.value_or(nullptr);
  }
  /// The error code of the query; "found": it does not fail.
  std::string outcome(const Ask& query) {
    const Result<Json> found = ask(query);
    return found ? "found" : found.error().code;
  }
  /// All pages of a list, each as the values of `key` of its items.
  std::vector<std::vector<std::string>> pages(const std::string& key, size_t limit,
                                              const AskPage& list) {
    constexpr size_t kMostPages = 100;
    std::vector<std::vector<std::string>> all;
    Json cursor = "";
    while (cursor.is_string() && all.size() < kMostPages) {
      const Json page = answer([&](Queries& queries, const View& view) {
        return list(queries, view, limit, cursor.get<std::string>());
      });
      if (page.is_null()) return all;
      all.emplace_back();
      for (const Json& item : page["items"]) all.back().push_back(item[key]);
      cursor = page["next"];
    }
    EXPECT_LT(all.size(), kMostPages) << "the pages do not end";
    return all;
  }

  /// Makes each read of the query fail. Expects the query to fail each time, and the same Queries
  /// object to give the complete answer afterwards.
  void expect_each_read_to_count(const Ask& query) {
    const Json whole = answer(query);
    std::optional<DefinitionCache> loaded;
    std::optional<Queries> queries;
    const auto ask_again = [&]() -> Status {
      const Snapshot view = TRY(Snapshot::take(*environment));
      const Json found = TRY(query(*queries, view));
      EXPECT_EQ(found, whole);
      return {};
    };
    const auto ask_anew = [&] {
      queries.reset();
      loaded.emplace(load_stored);
      queries.emplace(*loaded, started, clock);
      return ask_again();
    };
    const uint64_t reads = fail_each_read(ask_anew, [&] {
      EXPECT_TRUE(ask_again()) << "the failed read has left an incomplete answer";
    });
    EXPECT_GT(reads, 0U) << "the query reads nothing";
  }

  StartedTasks started;
  VirtualClock clock;
};

}  // namespace millrace
