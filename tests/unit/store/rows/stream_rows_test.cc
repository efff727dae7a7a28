#include "orchestrator/store/rows/stream_rows.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::Pair;

class StreamRowsTest : public StoreTest {
 protected:
  std::vector<std::pair<uint32_t, int64_t>> streams() {
    std::vector<std::pair<uint32_t, int64_t>> found;
    EXPECT_TRUE(each_stream(
        *tx, [&](uint32_t number, int64_t created) { found.emplace_back(number, created); },
        [&](const Error& error) { damage.push_back(error.message); }));
    return found;
  }

  std::vector<std::string> damage;
};

TEST_F(StreamRowsTest, GiveEachStreamANumberOnce) {
  EXPECT_EQ(find_stream(*tx, 500), 0U);
  EXPECT_EQ(number_stream(*tx, 500), 1U);
  EXPECT_EQ(number_stream(*tx, 900), 2U);
  EXPECT_EQ(number_stream(*tx, 500), 1U) << "the broker has an earlier stream again";
  EXPECT_EQ(find_stream(*tx, 900), 2U);
  EXPECT_THAT(streams(), ElementsAre(Pair(1, 500), Pair(2, 900)));
}

TEST_F(StreamRowsTest, GiveAnotherNumberToAStreamWhoseRowIsDamaged) {
  ASSERT_TRUE(number_stream(*tx, 500));
  tx->put(Table::kMeta, std::string("stream/\0\0\0\1", 11), "rubbish");
  EXPECT_EQ(number_stream(*tx, 500), 2U);
  EXPECT_THAT(streams(), ElementsAre(Pair(2, 500)));
  EXPECT_THAT(damage, ElementsAre(testing::HasSubstr("of table meta is damaged")));
}

TEST_F(StreamRowsTest, AreReportedAsDamagedIfTheirKeyIsNotANumber) {
  ASSERT_TRUE(number_stream(*tx, 500));
  const std::string row(*tx->get(Table::kMeta, std::string("stream/\0\0\0\1", 11)));
  for (const std::string& number :
       {std::string(4, '\0'), std::string("\0\0\1", 3), std::string("\0\0\0\1\0", 5)}) {
    const std::string key = "stream/" + number;
    tx->put(Table::kMeta, key, row);
    damage.clear();
    EXPECT_THAT(streams(), ElementsAre(Pair(1, 500)));
    EXPECT_THAT(damage, ElementsAre(testing::HasSubstr("is not the number of a stream")));
    tx->erase(Table::kMeta, key);
  }
}

TEST_F(StreamRowsTest, GiveNoStreamTheNumberOfAnotherOneBesideADamagedKey) {
  const struct {
    std::string damaged;
    uint32_t next;
  } cases[] = {{"\xff", 3}, {std::string("\0\0\1", 3), 3}, {std::string("\0\0\0\7\0", 5), 8}};
  for (const auto& [damaged, next] : cases) {
    ASSERT_EQ(number_stream(*tx, 500), 1U);
    ASSERT_EQ(number_stream(*tx, 900), 2U);
    tx->put(Table::kMeta, "stream/" + damaged, "rubbish");
    EXPECT_EQ(number_stream(*tx, 1'300), next);
    EXPECT_THAT(streams(), ElementsAre(Pair(1, 500), Pair(2, 900), Pair(next, 1'300)));
    tx->drop();
  }
}

}  // namespace
}  // namespace millrace
