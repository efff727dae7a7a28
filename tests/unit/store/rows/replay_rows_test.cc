#include "orchestrator/store/rows/replay_rows.h"

#include <gmock/gmock.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

const ReplayPlace kReplay{.ns = NamespaceNumber(7), .id = {1, 2, 3}};

ReplayRecord some_replay() {
  return {.state = ReplayRecord::State::kFailed,
          .created_at = from_millis(1'600'000'000'000),
          .stream_created = 1'600'000'000'000'000'001,
          .first = 3,
          .next = 90,
          .last = 1'000,
          .since = from_millis(1'500'000'000'000),
          .until = std::nullopt,
          .type = "order.*",
          .source = "shop",
          .target = "workflow/4",
          .rate = 50,
          .is_dry = true,
          .matched = 12,
          .sent = 11,
          .refused = 1,
          .lost = 2,
          .error = {"replay.stream", "gone"}};
}

using ReplayRowsTest = StoreTest;

TEST_F(ReplayRowsTest, KeepEachReplay) {
  EXPECT_EQ(*read_replay(*tx, kReplay), std::nullopt);
  write_replay(*tx, kReplay, some_replay());
  EXPECT_EQ(*read_replay(*tx, kReplay), some_replay());
  ReplayPlace other = kReplay;
  other.id[0] = 9;
  ReplayRecord running{.created_at = from_millis(1'600'000'000'000), .rate = 1};
  write_replay(*tx, other, running);
  std::vector<ReplayPlace> seen;
  ASSERT_TRUE(each_replay(*tx, [&](const ReplayPlace& place, const ReplayRecord& record) {
    seen.push_back(place);
    EXPECT_EQ(record, place == kReplay ? some_replay() : running);
  }));
  EXPECT_EQ(seen, (std::vector<ReplayPlace>{kReplay, other}));
  erase_replay(*tx, kReplay);
  EXPECT_EQ(*read_replay(*tx, kReplay), std::nullopt);
}

TEST_F(ReplayRowsTest, NameTheirPlaceByTheKey) {
  const std::string key =
      std::string("replay/\0\0\0\7", 11) + std::string("\1\2\3", 3) + std::string(13, '\0');
  EXPECT_EQ(replay_place(key), kReplay);
  const std::string of_no_namespace = std::string("replay/\0\0\0\0", 11) + std::string(16, 'x');
  for (const std::string& wrong :
       {std::string("replay/"), key + "x", of_no_namespace, std::string("rate/")}) {
    EXPECT_EQ(replay_place(wrong), std::nullopt) << wrong;
  }
}

TEST_F(ReplayRowsTest, GiveAnErrorIfTheyAreDamaged) {
  write_replay(*tx, kReplay, some_replay());
  const std::string good = encode(some_replay());
  EXPECT_TRUE(decode_replay(good));
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_replay(good.substr(0, size))) << size;
  }
  ReplayRecord without_rate = some_replay();
  without_rate.rate = 0;
  EXPECT_FALSE(decode_replay(encode(without_rate)));
  tx->put(Table::kMeta, "replay/x", good);
  std::vector<std::string> damages;
  ASSERT_TRUE(each_replay(
      *tx, [](const ReplayPlace&, const ReplayRecord&) {},
      [&](const Error& error) { damages.push_back(error.code); }));
  EXPECT_EQ(damages.size(), 1U);
}

}  // namespace
}  // namespace millrace
