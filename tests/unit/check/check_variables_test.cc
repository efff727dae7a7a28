// The store check compares the pieces of values with the variables that have them.
#include <string>

#include "orchestrator/store/rows/purge.h"
#include "orchestrator/store/rows/value_piece_rows.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/check/check_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;

class CheckVariablesTest : public CheckTest {
 protected:
  static constexpr uint64_t kGroup = 9;

  VariableName name() const { return {{.scope = VariableScope::kNamespace, .ns = ns}, "v"}; }
  /// Writes pieces of three bytes.
  Change pieces(std::vector<uint32_t> numbers) const {
    return [=, this](Transaction& in) {
      write_counter(in, Counter::kHistory, kGroup);
      for (const uint32_t number : numbers) {
        write_value_piece(in, {.value = {.name = name(), .number = kGroup}, .piece = number}, "abc",
                          false);
      }
    };
  }
  Change head(uint64_t size, uint64_t group = kGroup) const {
    return [=, this](Transaction& in) {
      write_variable_head(in, name(),
                          {.content_type = "", .size = size, .pieces = group, .sealed = false});
    };
  }
  Change purge(StagedPieces staged, uint64_t number = kGroup) const {
    return [=](Transaction& in) {
      write_counter(in, Counter::kHistory, kGroup);
      write_purge(in,
                  {.kind = Purge::Kind::kPieces, .number = number, .record = {.staged = staged}});
    };
  }
  static Change all(std::vector<Change> changes) {
    return [=](Transaction& in) {
      for (const Change& one : changes) one(in);
    };
  }
};

TEST_F(CheckVariablesTest, FindsNothingIfAVariableHasItsPieces) {
  EXPECT_THAT(found_after(all({pieces({0, 1}), head(6)})), IsEmpty());
}

TEST_F(CheckVariablesTest, FindsPiecesThatAreMissing) {
  expect_among("variable.pieces variables/default/v: the value has 9 bytes, but its pieces have 8",
               all({pieces({0, 1}), head(9)}));
  expect_among(
      "variable.pieces variables/default/v piece 2 of group 9: it is piece 2 of the "
      "value, but piece 1 is missing",
      all({pieces({0, 2}), head(6)}));
  expect_among(
      "variable.pieces variables/default/v piece 1 of group 9: it is piece 1 of the "
      "value, but piece 0 is missing",
      all({pieces({1}), head(3)}));
}

TEST_F(CheckVariablesTest, FindsPiecesThatNoVariableHas) {
  const std::string line =
      "variable.pieces variables/default/v piece 0 of group 9: no variable has the piece, and no "
      "purge erases it";
  expect_only(line, pieces({0}));
  expect_among(line, all({pieces({0}), head(3, 8)}));
  const StagedPieces staged{.ns = ns, .workflow = WorkflowNumber(0), .instance = numbered_id(1)};
  EXPECT_THAT(found_after(all({pieces({0, 1}), purge(staged)})), IsEmpty());
  EXPECT_THAT(found_after(all({pieces({1}), purge(staged)})), IsEmpty())
      << "the purge has erased the first one";
}

TEST_F(CheckVariablesTest, ChecksTheKeyAndTheRecordOfAPiece) {
  expect_only("the key is not an owner and the key of a variable", [this](Transaction& in) {
    Writer key(variable_owner_prefix(name().owner));
    key.u8(0);
    key.u64(kGroup);
    in.put(Table::kVariables, key.view(), "\1x");
  });
  expect_among("row.record variables/default/v piece 0 of group 9", [this](Transaction& in) {
    pieces({0})(in);
    std::string piece;
    in.scan(Table::kVariables, {}, [&](std::string_view key, std::string_view) {
      piece = key;
      return false;
    });
    in.put(Table::kVariables, piece, "\7x");
  });
}

TEST_F(CheckVariablesTest, ChecksThePurgeOfPieces) {
  const StagedPieces staged{.ns = ns, .workflow = WorkflowNumber(0), .instance = numbered_id(1)};
  EXPECT_THAT(found_after(purge(staged)), IsEmpty());
  expect_only("counter.behind meta/purge/", purge(staged, kGroup + 1));
  StagedPieces nowhere = staged;
  nowhere.ns = NamespaceNumber(0);
  expect_only("the row names no namespace", purge(nowhere));
  expect_only(fmt::format("the minor number is {}, but the store has purges of pieces of values",
                          kMinorOfValuePieces - 1),
              all({purge(staged), [](Transaction& in) {
                     in.put(Table::kMeta, "minor", rows::key_of(kMinorOfValuePieces - 1));
                   }}));
}

}  // namespace
}  // namespace millrace
