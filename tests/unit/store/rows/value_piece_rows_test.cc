// The pieces of large values, and the variables that have them.
#include "orchestrator/store/rows/value_piece_rows.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/row.h"
#include "orchestrator/store/rows/variable_rows.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ValuePieceRows : public StoreTest {
 protected:
  static constexpr uint64_t kGroup = 40;

  static VariableName name(std::string key, VariableScope scope = VariableScope::kInstance) {
    return {owner_of(NamespaceNumber(1), WorkflowNumber(4), id(1), scope), std::move(key)};
  }
  static PieceValue value(const VariableName& of, uint64_t group = kGroup) {
    return {.name = of, .number = group};
  }
  void write_pieces(const VariableName& of, const std::vector<std::string>& pieces,
                    uint64_t group = kGroup, Sealing sealed = {}) {
    for (uint32_t i = 0; i < pieces.size(); ++i) {
      write_value_piece(*tx, {.value = value(of, group), .piece = i}, pieces[i], sealed);
    }
  }
  void write_head(const VariableName& of, uint64_t size, uint64_t group = kGroup,
                  Sealing sealed = {}) {
    write_variable_head(
        *tx, of, {.content_type = "text/plain", .size = size, .pieces = group, .sealed = sealed});
  }
  size_t rows_of_pieces() {
    size_t count = 0;
    tx->scan(Table::kVariables, {}, [&](std::string_view key, std::string_view) {
      count += is_value_piece(key) ? 1 : 0;
      return true;
    });
    return count;
  }
  std::vector<std::string> listed(std::string_view after = {}) {
    std::vector<std::string> keys;
    const auto see = [&](std::string_view key, const VariableHead& head) {
      keys.push_back(std::string(key) + " " + std::to_string(head.size));
      return true;
    };
    EXPECT_TRUE(each_variable(*tx, name("").owner, after, see));
    return keys;
  }
};

TEST_F(ValuePieceRows, AreTheValueOfTheirVariable) {
  write_pieces(name("a"), {"one ", "two ", "three"});
  write_pieces(name("ab"), {"other"});
  EXPECT_FALSE(*read_variable(*tx, name("a"))) << "it is not written yet";
  write_head(name("a"), 13);
  const Variable found = **read_variable(*tx, name("a"));
  EXPECT_EQ(found.bytes, "one two three");
  EXPECT_EQ(found.content_type, "text/plain");
  EXPECT_FALSE(found.sealed);
  EXPECT_EQ((*read_variable_head(*tx, name("a")))->size, 13U);
  write_variable(*tx, name("b"), {.content_type = "", .bytes = "small"});
  EXPECT_THAT(listed(), ElementsAre("a 13", "b 5"));
  EXPECT_THAT(listed("a"), ElementsAre("b 5"));
}

TEST_F(ValuePieceRows, AreSealedAsTheVariableIs) {
  write_pieces(name("a"), {"secret ", "bytes"}, kGroup, Sealing::kMasked);
  write_head(name("a"), 12, kGroup, Sealing::kMasked);
  EXPECT_EQ((**read_variable(*tx, name("a"))),
            (Variable{"text/plain", "secret bytes", Sealing::kMasked}));
  tx->scan(Table::kVariables, {}, [&](std::string_view, std::string_view bytes) {
    EXPECT_TRUE(Seal::is_sealed(bytes));
    return true;
  });
}

TEST_F(ValuePieceRows, AreErasedWithTheValue) {
  const auto set = [&](uint64_t group) {
    write_pieces(name("a"), {"one ", "two"}, group);
    write_head(name("a"), 7, group);
  };
  set(1);
  set(2);
  EXPECT_EQ(rows_of_pieces(), 2U) << "those of the former value are erased";
  EXPECT_EQ((*read_variable(*tx, name("a")))->bytes, "one two");
  write_variable(*tx, name("a"), {.bytes = "small"});
  EXPECT_EQ(rows_of_pieces(), 0U);
  set(3);
  erase_variable(*tx, name("a"));
  EXPECT_EQ(rows_of_pieces(), 0U);
  EXPECT_FALSE(*read_variable(*tx, name("a")));
  set(4);
  EXPECT_EQ(erase_variables(*tx, name("").owner, 9).value(), 3U) << "two pieces and the variable";
  EXPECT_EQ(rows_of_pieces(), 0U);
}

TEST_F(ValuePieceRows, MakeAVariableDamagedIfOneIsMissing) {
  write_pieces(name("a"), {"one ", "two ", "three"});
  write_head(name("a"), 13);
  commit();
  std::vector<std::string> keys;
  tx->scan(Table::kVariables, {}, [&](std::string_view key, std::string_view) {
    if (is_value_piece(key)) keys.emplace_back(key);
    return true;
  });
  ASSERT_EQ(keys.size(), 3U);
  for (const std::string& key : keys) {
    tx->erase(Table::kVariables, key);
    EXPECT_EQ(read_variable(*tx, name("a")).error().code, kDamagedRow);
    tx->drop();
    tx->put(Table::kVariables, key, "rubbish");
    EXPECT_EQ(read_variable(*tx, name("a")).error().code, kDamagedRow);
    tx->drop();
  }
  EXPECT_TRUE(read_variable(*tx, name("a")));
}

TEST_F(ValuePieceRows, AreErasedByAPurgeIfNoVariableHasThem) {
  const StagedPieces staged{
      .ns = NamespaceNumber(1), .workflow = WorkflowNumber(4), .instance = id(1)};
  write_pieces(name("a"), {"1", "2", "3"});
  write_pieces(name("a", VariableScope::kWorkflow), {"1"});
  write_pieces(name("a", VariableScope::kNamespace), {"1"});
  write_pieces(name("a"), {"1", "2"}, kGroup + 1);
  std::vector<Error> kept;
  const OnDamage note = [&](const Error& error) { kept.push_back(error); };
  PurgeBudget budget{.rows = 2};
  EXPECT_FALSE(purge_pieces(*tx, staged, kGroup, budget, note).value());
  EXPECT_EQ(rows_of_pieces(), 5U);
  budget = {};
  EXPECT_TRUE(purge_pieces(*tx, staged, kGroup, budget, note).value());
  EXPECT_EQ(rows_of_pieces(), 2U) << "those of another group stay";
  EXPECT_THAT(kept, IsEmpty());
  write_head(name("a"), 2, kGroup + 1);
  EXPECT_TRUE(purge_pieces(*tx, staged, kGroup + 1, budget, note).value());
  EXPECT_EQ((*read_variable(*tx, name("a")))->bytes, "12") << "its variable has them";
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].code, kDamagedRow);
}

TEST_F(ValuePieceRows, HaveKeysFromWhichTheirPlaceIsRead) {
  for (const VariableScope scope :
       {VariableScope::kInstance, VariableScope::kWorkflow, VariableScope::kNamespace}) {
    write_value_piece(*tx, {.value = value(name("a.b", scope)), .piece = 7}, "x", false);
    size_t seen = 0;
    tx->scan(Table::kVariables, {}, [&](std::string_view key, std::string_view) {
      ++seen;
      const auto place = value_piece_place(key);
      EXPECT_TRUE(place);
      if (!place) return true;
      EXPECT_EQ(place->value.name, name("a.b", scope));
      EXPECT_EQ(place->value.number, kGroup);
      EXPECT_EQ(place->piece, 7U);
      EXPECT_FALSE(value_piece_place(std::string(key) + "x"));
      EXPECT_FALSE(value_piece_place(key.substr(0, key.size() - 1)));
      return true;
    });
    EXPECT_EQ(seen, 1U);
    tx->drop();
  }
  write_variable(*tx, name("a"), {});
  tx->scan(Table::kVariables, {}, [&](std::string_view key, std::string_view) {
    EXPECT_FALSE(is_value_piece(key));
    EXPECT_FALSE(value_piece_place(key));
    return true;
  });
}

}  // namespace
}  // namespace millrace
