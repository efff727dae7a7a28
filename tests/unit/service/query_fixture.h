// QueryTest: what queries answer on a store whose rows the test writes as a batch would leave them.
// Any read of it can be made to fail.
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
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/row.h"
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
        .id = numbered_id(number), .space = space, .revision = {workflow, 1}, .started_at = now};
    instance.status = InstanceStatus::kWaiting;
    instance.phase = Phase::kWaiting;
    instance.execution_from = instance.runs_from = instance.state_from = now;
    instance.input = instance.data = Json{{"number", number}};
    return instance;
  }
  /// The same instance a second after its start, ended with that status.
  static Instance ended(Instance instance, InstanceStatus status) {
    instance.status = status;
    instance.phase = Phase::kEnded;
    instance.ended_at = instance.started_at + std::chrono::seconds(1);
    return instance;
  }
  void store(const Instance& instance) {
    const std::vector<Call> none;
    write_instance(*tx, instance, {.input = true, .data = true, .calls = &none});
    commit();
  }
  static std::string head_key(const Instance& instance) {
    return part_key(rows::instance_prefix(instance.space, instance.id), Part::kHead);
  }
  static std::string definition_key(Revision revision) {
    Writer key;
    key.raw(rows::workflow_prefix(revision.workflow));
    key.u32(revision.number);
    return key.take();
  }
  /// Has the row hold what no release writes.
  void damage(Table table, const std::string& key) {
    tx->put(table, key, "damaged");
    commit();
  }
  void drop(Table table, const std::string& key) {
    tx->erase(table, key);
    commit();
  }

  // Answers, on the last commit, with no definition loaded before.

  Result<Json> ask(const Ask& query) {
    DefinitionCache loaded(load_stored);
    Queries queries(loaded, begun);
    const Snapshot view = TRY(Snapshot::take(*environment));
    return query(queries, view);
  }
  Json answer(const Ask& query) {
    const Result<Json> found = ask(query);
    EXPECT_TRUE(found) << found.error().code << ": " << found.error().message;
    return found.value_or(nullptr);
  }
  /// The code of the error with which the query fails; "found": it does not.
  std::string outcome(const Ask& query) {
    const Result<Json> found = ask(query);
    return found ? "found" : found.error().code;
  }
  /// All pages of a list, by what stands under `key` of their items.
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

  /// Each read of the query is made to fail: then it fails, and the same Queries answer the whole
  /// of it once no read fails any more.
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
      queries.emplace(*loaded, begun);
      return ask_again();
    };
    const uint64_t reads = fail_each_read(
        ask_anew, [&] { EXPECT_TRUE(ask_again()) << "the failed read has left something behind"; });
    EXPECT_GT(reads, 0U) << "it reads nothing";
  }

  BegunTasks begun;
};

}  // namespace millrace
