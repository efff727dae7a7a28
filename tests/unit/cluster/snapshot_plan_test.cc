// When a snapshot is taken, by which node, and how far the log may be trimmed.
#include "cluster/snapshot_plan.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr LogSize kTenMessages{.first = 1, .last = 10, .bytes = 1'000};
constexpr LogSize kTrimmed{.first = 6, .last = 10, .bytes = 500};
constexpr LogSize kEmpty{.first = 1, .last = 0, .bytes = 0};
constexpr Duration kRest{240'000};

TEST(SnapshotPlan, KnowsAboutHowManyBytesAreBehindASequence) {
  struct Row {
    LogSize log;
    uint64_t sequence;
    uint64_t expected;
  };
  const std::vector<Row> rows = {
      {kTenMessages, 0, 1'000}, {kTenMessages, 1, 900}, {kTenMessages, 9, 100},
      {kTenMessages, 10, 0},    {kTenMessages, 11, 0},  {kTrimmed, 0, 500},
      {kTrimmed, 5, 500},       {kTrimmed, 8, 200},     {kEmpty, 0, 0},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(bytes_behind(row.log, row.sequence), row.expected)
        << "from " << row.log.first << ", behind " << row.sequence;
  }
}

TEST(SnapshotPlan, TakesASnapshotIfTheLogBehindTheNewestIsLargerThanTheStore) {
  struct Row {
    uint64_t store_bytes;
    uint64_t least;
    std::optional<uint64_t> newest_from;
    bool is_due;
  };
  const std::vector<Row> rows = {
      {1'000, 10, std::nullopt, true},
      {1'001, 10, std::nullopt, false},
      {0, 1'000, std::nullopt, true},
      {0, 1'001, std::nullopt, false},
      {500, 10, 5, true},
      {500, 10, 6, false},
      {0, 0, 10, true},
      {0, 1, 10, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(is_snapshot_due(kTenMessages, row.store_bytes, row.least, row.newest_from),
              row.is_due)
        << row.store_bytes << " " << row.least << " " << row.newest_from.value_or(0);
  }
}

TEST(SnapshotPlan, IsCarriedOutByOneNodeAfterAnother) {
  const std::vector<std::string> standbys = {"c", "a"};
  EXPECT_EQ(snapshot_turn("a", false, standbys), 0U);
  EXPECT_EQ(snapshot_turn("c", false, standbys), 1U);
  EXPECT_EQ(snapshot_turn("b", true, standbys), 2U) << "the active is the last one";
  EXPECT_EQ(snapshot_turn("b", true, {}), 0U) << "there is no standby";
}

TEST(SnapshotPlan, TrimsTheLogBehindTheSnapshotBeforeTheNewest) {
  const KnownSnapshot newest{.from = 8, .age = kRest};
  const KnownSnapshot before{.from = 5, .age = kRest, .is_read_back = true};
  const auto with_age = [](KnownSnapshot snapshot, Duration age) {
    snapshot.age = age;
    return snapshot;
  };
  KnownSnapshot unread = before;
  unread.is_read_back = false;
  struct Row {
    const char* what;
    std::vector<KnownSnapshot> snapshots;
    std::optional<uint64_t> expected;
  };
  const std::vector<Row> rows = {
      {"no snapshot", {}, std::nullopt},
      {"one snapshot", {before}, std::nullopt},
      {"two snapshots", {newest, before}, 6},
      {"the newest is too new", {with_age(newest, kRest - Duration(1)), before}, std::nullopt},
      {"the other is too new", {newest, with_age(before, kRest - Duration(1))}, std::nullopt},
      {"it was not read back", {newest, unread}, std::nullopt},
      {"older snapshots do not count", {newest, before, {.from = 2, .age = kRest}}, 6},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(trim_point(kTenMessages, row.snapshots, kRest), row.expected) << row.what;
  }
  EXPECT_EQ(trim_point(kTrimmed, std::vector{newest, before}, kRest), std::nullopt)
      << "it is trimmed up to there already";
}

TEST(SnapshotPlan, TrimsNothingByASnapshotThatIsBehindTheLog) {
  const KnownSnapshot one{.from = 20, .age = kRest, .is_read_back = true};
  EXPECT_EQ(trim_point(kTenMessages, std::vector{one, one}, kRest), std::nullopt);
}

}  // namespace
}  // namespace millrace
