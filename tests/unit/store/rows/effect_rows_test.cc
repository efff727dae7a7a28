#include "orchestrator/store/rows/effect_rows.h"

#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Kind = EventEffect::Kind;

// The numbers on disk are fixed: an enumerator without a number does not compile (-Wswitch).
int pinned(Kind kind) {
  switch (kind) {
    case Kind::kStarted:
      return 0;
    case Kind::kWoken:
      return 1;
    case Kind::kGrouped:
      return 2;
    case Kind::kDuplicate:
      return 3;
    case Kind::kSkipped:
      return 4;
    case Kind::kUncorrelated:
      return 5;
    case Kind::kKept:
      return 6;
    case Kind::kRefused:
      return 7;
    case Kind::kExpired:
      return 8;
    case Kind::kClosed:
      return 9;
    case Kind::kRateLimited:
      return 10;
    case Kind::kDebounced:
      return 11;
    case Kind::kBatched:
      return 12;
  }
  return -1;
}

class EffectRowsTest : public StoreTest {
 protected:
  /// Writes a row for a batch that ends with `last`, with an effect of each event of `events`.
  void write_batch(uint64_t last, const std::vector<uint64_t>& events, uint32_t stream = 1) {
    EffectRow row{.at = {stream, last}, .number = ++number};
    for (const uint64_t sequence : events) {
      row.effects.push_back({{stream, sequence}, {.kind = Kind::kStarted, .instance = id(1)}});
    }
    write_effects(*tx, row);
  }
  void write_late(uint64_t sequence) {
    write_effects(*tx, {.at = {1, sequence},
                        .number = ++number,
                        .is_late = true,
                        .effects = {{{1, sequence}, {.kind = Kind::kWoken, .instance = id(2)}}}});
  }
  std::vector<Kind> effects_of(uint64_t sequence) {
    std::vector<Kind> kinds;
    const auto effects = read_effects(*tx, {1, sequence}).value();
    for (const EventEffect& one : effects) kinds.push_back(one.kind);
    return kinds;
  }
  std::vector<uint64_t> rows() {
    std::vector<uint64_t> found;
    EXPECT_TRUE(each_effect_row(*tx, {}, [&](const EffectRow& row) {
      found.push_back(row.at.sequence);
      return true;
    }));
    return found;
  }

  uint64_t number = 0;
};

TEST_F(EffectRowsTest, HaveAllKindsOfEffects) {
  EffectRow row{.at = {2, 300}, .number = 5};
  for (int kind = 0; kind <= static_cast<int>(Kind::kBatched); ++kind) {
    EXPECT_EQ(pinned(Kind(kind)), kind);
    PlacedEffect one{.event = {2, 300 - static_cast<uint64_t>(kind)},
                     .effect = {.kind = Kind(kind)}};
    if (kind < 2) one.effect.instance = id(9);
    const bool of_workflow = kind == 2 || kind == 4 || kind == 5 || kind > 7;
    if (of_workflow) one.effect.workflow = WorkflowNumber(4);
    row.effects.push_back(one);
  }
  EffectRow read{.at = row.at};
  ASSERT_TRUE(decode_effects(encode_effects(row), read));
  EXPECT_EQ(read.effects, row.effects);
}

TEST_F(EffectRowsTest, AreFoundForAnEventOfABatchAndForLaterEffects) {
  write_batch(10, {8, 10});
  write_batch(20, {11, 15, 15});
  write_late(8);
  write_late(12);
  write_late(20);
  EXPECT_THAT(effects_of(8), ElementsAre(Kind::kWoken, Kind::kStarted));
  EXPECT_THAT(effects_of(9), IsEmpty());
  EXPECT_THAT(effects_of(10), ElementsAre(Kind::kStarted));
  EXPECT_THAT(effects_of(11), ElementsAre(Kind::kStarted))
      << "the row of another event is between the event and the row of its batch";
  EXPECT_THAT(effects_of(12), ElementsAre(Kind::kWoken));
  EXPECT_THAT(effects_of(15), ElementsAre(Kind::kStarted, Kind::kStarted));
  EXPECT_THAT(effects_of(20), ElementsAre(Kind::kWoken)) << "the last event of a batch";
  EXPECT_THAT(effects_of(21), IsEmpty());
}

TEST_F(EffectRowsTest, AreErasedFarBehindTheNewestEventAFewAtATime) {
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) write_batch(sequence, {sequence});
  const EventPosition newest{1, kEffectsKept + 3};
  EXPECT_EQ(trim_effects(*tx, {}, newest, 2), (EventPosition{1, 3}));
  EXPECT_THAT(rows(), ElementsAre(3, 4, 5));
  EXPECT_EQ(trim_effects(*tx, {1, 3}, newest, 2), (EventPosition{1, 4}));
  EXPECT_THAT(rows(), ElementsAre(4, 5)) << "the newest million sequences stay";
  EXPECT_EQ(trim_effects(*tx, {1, 4}, newest, 2), (EventPosition{1, 4}));
}

TEST_F(EffectRowsTest, OfAnEarlierStreamAreErased) {
  write_batch(900, {900}, 1);
  write_batch(2, {2}, 2);
  EXPECT_EQ(trim_effects(*tx, {}, {2, 2}, 10), (EventPosition{2, 2}));
  EXPECT_THAT(rows(), ElementsAre(2));
  tx->drop();
  EXPECT_EQ(trim_effects(*tx, {}, {2, 2}, 10), (EventPosition{2, 2})) << "no row is left";
}

TEST_F(EffectRowsTest, AreDamagedWithAnEventBeforeTheFirstOrAnUnknownKind) {
  EffectRow row{.at = {1, 3}};
  EXPECT_FALSE(decode_effects(std::string("\x01\x00\x01\x04\x03", 5), row)) << "4 before 3";
  EXPECT_FALSE(decode_effects(std::string("\x01\x00\x01\x00\x0a", 5), row)) << "kind 10";
  EXPECT_FALSE(decode_effects(std::string("\x01\x01\x01\x01\x03", 5), row)) << "late, but earlier";
  EXPECT_TRUE(decode_effects(std::string("\x01\x00\x01\x01\x03", 5), row));
  EXPECT_FALSE(decode_effect_key("short"));
}

}  // namespace
}  // namespace millrace
