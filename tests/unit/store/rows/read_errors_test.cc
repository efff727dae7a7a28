// A function whose read fails returns the error of the read, and does not report that rows are
// missing.
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include "orchestrator/store/rows/doubtful_head.h"
#include "orchestrator/store/rows/index_rows.h"
#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/start_rate_rows.h"
#include "orchestrator/store/rows/value_piece_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "orchestrator/store/transaction.h"
#include "tests/support/folder.h"
#include "tests/unit/store/rows/row_support.h"

namespace millrace {
namespace {

constexpr NamespaceNumber kReadSpace{1};

/// The error of a result; nullopt: it has none.
template <class Read>
std::optional<Error> error_of(const Read& result) {
  return result ? std::nullopt : std::optional(result.error());
}

class ReadErrors : public testing::Test {
 protected:
  ReadErrors() {
    environment_ =
        Environment::open(folder_.path(), {.fails_read =
                                               [this](Table table, std::string_view key) {
                                                 return fails_ && fails_(table, key);
                                               }})
            .value();
    tx_.emplace(*environment_);
  }

  /// The pieces of a value of this instance's variable `a`.
  static PieceValue value() {
    return {.name = {owner_of(kReadSpace, WorkflowNumber(4), id(1), VariableScope::kInstance), "a"},
            .number = 40};
  }
  Status purge_of_pieces() {
    PurgeBudget budget;
    const StagedPieces staged{.ns = kReadSpace, .workflow = WorkflowNumber(4), .instance = id(1)};
    TRY(purge_pieces(*tx_, staged, value().number, budget, [](const Error& error) {
      ADD_FAILURE() << "a row that is not read is not damaged: " << error.message;
    }));
    return {};
  }

  Folder folder_;
  std::function<bool(Table table, std::string_view key)> fails_;
  std::unique_ptr<Environment> environment_;
  std::optional<Transaction> tx_;
};

TEST_F(ReadErrors, AreThoseOfTheFunctionsThatReadATable) {
  const View& view = *tx_;
  const struct {
    const char* name;
    Table table;
    std::function<std::optional<Error>()> read;
  } rows[] = {
      {"some_by_status", Table::kByStatus,
       [&] {
         return error_of(some_by_status(view, kReadSpace, WorkflowNumber(1),
                                        InstanceStatus::kWaiting, {}, Direction::kForward, 1));
       }},
      {"next_workflow", Table::kWorkflows,
       [&] { return error_of(next_workflow(view, kReadSpace, "")); }},
      {"next_defined", Table::kDefinitions,
       [&] { return error_of(next_defined(view, WorkflowNumber(1))); }},
      {"namespaces_with_instances", Table::kEnded,
       [&] { return error_of(namespaces_with_instances(view, Table::kEnded)); }},
      {"sign_of_use", Table::kSecrets, [&] { return error_of(sign_of_use(view, kReadSpace)); }},
      {"each_doubtful_head", Table::kLive,
       [&] {
         return error_of(
             each_doubtful_head(view, kReadSpace, std::nullopt,
                                [](const InstanceId&, const Instance&) { return true; }));
       }},
      {"ended_start_rates_of", Table::kMeta,
       [&] { return error_of(ended_start_rates_of(view, kReadSpace, kNow, 10)); }},
      {"purge_pieces", Table::kVariables, [&] { return error_of(purge_of_pieces()); }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    fails_ = nullptr;
    EXPECT_FALSE(row.read());
    fails_ = [&](Table table, std::string_view) { return table == row.table; };
    const std::optional<Error> error = row.read();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, "store.io");
    fails_ = nullptr;
    tx_->drop();
    tx_.emplace(*environment_);
  }
}

TEST_F(ReadErrors, OfAVariableAreNotDamageOfItsPieces) {
  write_value_piece(*tx_, {.value = value(), .piece = 0}, "x", {});
  ASSERT_TRUE(tx_->commit());
  size_t reads = 0;
  fails_ = [&](Table table, std::string_view) {
    return table == Table::kVariables && ++reads == 2;
  };
  const Status purged = purge_of_pieces();
  ASSERT_FALSE(purged);
  EXPECT_EQ(purged.error().code, "store.io");
}

}  // namespace
}  // namespace millrace
