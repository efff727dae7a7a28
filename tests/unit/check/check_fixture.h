// CheckTest: the fixture for the parts of the store check, with an undamaged store that a batch has
// written. A test changes rows in a transaction, checks the store and drops the transaction. Each
// read of the store can be made to fail.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/batch/batch.h"
#include "orchestrator/check/store_check.h"
#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/meta_rows.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/task_rows.h"
#include "tests/support/index.h"
#include "tests/unit/support/batch_store.h"

namespace millrace {

class CheckTest : public BatchStoreTest {
 protected:
  using Change = std::function<void(Transaction& tx)>;

  CheckTest() {
    tx->put(Table::kMeta, kFormatKey, rows::key_of(kStoreFormat));
    tx->put(Table::kMeta, "minor", rows::key_of(kStoreMinor));
    EXPECT_TRUE(environment->keep_key());
    rows::put(*tx, Table::kMeta, "seal", "", true);
    commit();
    batches.begin();
    batch = std::make_unique<Batch>(parts(), BatchLimits());
    EXPECT_TRUE(batch->load());
    EXPECT_TRUE(batch->stream_opened({.stream_created = 1, .sequence = 0, .stamped = now}));
    EXPECT_TRUE(batch->finish(now));
    commit();
    batches.begin();
    options.load = load_stored;
  }

  // Writing an undamaged store. Each call commits a batch.

  template <class Input>
  void run(const Input& input) {
    ASSERT_TRUE(batch->apply(now, input));
    auto outcome = batch->finish(now);
    ASSERT_TRUE(outcome) << outcome.error().message;
    commit();
    batches.begin();
  }
  void run_command(Command command) { run(CommandInput{++request_, std::move(command)}); }
  void define(const std::string& text) {
    auto workflow = load_stored(text);
    ASSERT_TRUE(workflow) << workflow.error().message;
    run_command(ApplyWorkflow{.ns = "default", .text = text, .workflow = *workflow});
  }
  InstanceId start(const std::string& workflow, std::string key = "") {
    run_command(StartInstance{.ns = "default",
                              .workflow = workflow,
                              .input = {{"from", "test"}},
                              .idempotency_key = std::move(key)});
    return numbered_id(last_id);
  }
  void publish(Event event) {
    run(EventInput{.ns = "default",
                   .sequence = ++sequence_,
                   .stamped = now,
                   .event = EncodedEvent(std::move(event))});
  }

  WorkflowNumber number_of(const std::string& workflow) {
    return catalog.find_workflow(ns, workflow)->number;
  }

  // Changing the store.

  std::string part(const InstanceId& id, Part which) const {
    return part_key(rows::instance_prefix(ns, id), which);
  }
  /// Decodes a record, changes it and writes it again. A sealed row stays sealed.
  template <class T, class Edit>
  static void edit(Transaction& in, Table table, const std::string& key,
                   Result<T> (*decode)(std::string_view), std::string (*encode_it)(const T&),
                   const Edit& change) {
    const auto value = in.get(table, key);
    ASSERT_TRUE(value) << table_name(table);
    auto record = rows::decode(in, table, key, *value, decode);
    ASSERT_TRUE(record) << record.error().message;
    change(*record);
    rows::put(in, table, key, encode_it(*record), Seal::is_sealed(*value));
  }
  template <class Edit>
  void edit_head(const InstanceId& id, const Edit& change, Table table = Table::kLive) {
    edit(*tx, table, part(id, Part::kHead), decode_head, encode_head, change);
  }
  template <class Edit>
  void edit_history(uint64_t number, const Edit& change) {
    edit<HistoryRow>(*tx, Table::kHistory, rows::key_of(number), decode_history, encode, change);
  }

  // Checking the store.

  /// The findings, as lines `code table/key: found`.
  std::vector<std::string> found() {
    const auto report = check_store(*tx, options);  // check_store() accepts a transaction, too
    EXPECT_TRUE(report) << report.error().message;
    return report ? lines_of(*report) : std::vector<std::string>();
  }
  static std::vector<std::string> lines_of(const StoreReport& report) {
    std::vector<std::string> lines;
    for (const StoreFinding& one : report.findings) {
      lines.push_back(
          fmt::format("{} {}/{}: {}", kind_of(one.fault).code, one.table, one.key, one.found));
    }
    return lines;
  }
  /// Computes the index from the rows that a test has changed, so that only the change is found.
  void build_index() { millrace::build_index(*tx); }
  /// The findings after the change, which is then dropped.
  std::vector<std::string> found_after(const Change& change) {
    change(*tx);
    build_index();
    std::vector<std::string> lines = found();
    tx->drop();
    return lines;
  }
  /// Expects this finding and no other finding after the change.
  void expect_only(const std::string& line, const Change& change) {
    EXPECT_THAT(found_after(change), testing::ElementsAre(testing::HasSubstr(line)));
  }
  /// Expects this finding after the change, and allows other findings.
  void expect_among(const std::string& line, const Change& change) {
    EXPECT_THAT(found_after(change), testing::Contains(testing::HasSubstr(line)));
  }
  /// Expects a finding for each change of a field that the task of a running call of the instance
  /// has from its action. The task is of the first attempt.
  void expect_task_compared(const InstanceId& task, uint32_t call, const InstanceId& of) {
    const struct {
      const char* what;
      void (*change)(StartTask&);
    } table[] = {
        {"state", [](StartTask& one) { one.state = "other"; }},
        {"function", [](StartTask& one) { one.function = "other"; }},
        {"service or container", [](StartTask& one) { one.runs = NamedService{"other"}; }},
        {"attempt", [](StartTask& one) { one.attempt = 2; }},
        {"list of files", [](StartTask& one) { one.files = {{.key = "k"}}; }},
        {"input", [](StartTask& one) { one.input = LazyJson("other"); }},
    };
    for (const auto& row : table) {
      expect_only(
          fmt::format("task.caller tasks/{}: the {} of the task is not that of call {} of {}",
                      to_string(task), row.what, call, to_string(of)),
          [&](Transaction& in) {
            edit<StartTask>(in, Table::kTasks, rows::key_of(task), decode_task, encode, row.change);
          });
    }
  }
  void expect_sound() { EXPECT_THAT(found(), testing::IsEmpty()); }

  /// Checks the store with its first read failing, then with its second, and so on. The report must
  /// have the failed read as its only finding, because rows that were not read could cause wrong
  /// findings. Returns the number of reads.
  uint64_t expect_each_failed_read_alone() {
    build_index();
    commit();
    return fail_each_read(
        [&]() -> Status {
          const auto report = TRY(check_store(*tx, options));
          if (report.sound()) return {};
          EXPECT_THAT(lines_of(report),
                      testing::ElementsAre(testing::StartsWith("store.damaged ")));
          return fail("store.io", "");
        },
        [] {});
  }

  std::unique_ptr<Batch> batch;
  StoreCheckOptions options;

 private:
  uint64_t sequence_ = 0;
  uint64_t request_ = 0;
};

}  // namespace millrace
