#include "orchestrator/store/rows/doubtful_head.h"

#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/history_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/rows/row_support.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

class DoubtfulHeadTest : public StoreTest {
 protected:
  DoubtfulHeadTest() {
    head_ = {.id = id(1), .ns = NamespaceNumber(1), .revision = {WorkflowNumber(4), 1}};
    head_.last_history = 7;
    head_.idempotency_key = "key";
  }
  void put() {
    tx->put(Table::kLive, part_key(rows::instance_prefix(NamespaceNumber(1), id(1)), Part::kHead),
            encode_head(head_));
  }
  std::optional<Instance> read() {
    return read_doubtful_head(*tx, NamespaceNumber(1), id(1)).value();
  }

  Instance head_;
};

TEST_F(DoubtfulHeadTest, KeepsOnlyReferencesToRowsThatReferBackToTheInstance) {
  put();
  ASSERT_TRUE(read());
  EXPECT_EQ(read()->last_history, 0U);
  EXPECT_TRUE(read()->idempotency_key.empty());
  write_history(*tx, 7, {.ns = NamespaceNumber(1), .instance = id(1)});
  EXPECT_EQ(read()->last_history, 7U);
  write_history(*tx, 7, {.ns = NamespaceNumber(1), .instance = id(2)});
  EXPECT_EQ(read()->last_history, 0U);
}

TEST_F(DoubtfulHeadTest, ReturnsNothingIfTheRowOfTheHeadDoesNotDecode) {
  EXPECT_FALSE(read());
  tx->put(Table::kLive, part_key(rows::instance_prefix(NamespaceNumber(1), id(1)), Part::kHead),
          "rubbish");
  EXPECT_FALSE(read());
}

TEST_F(DoubtfulHeadTest, IsListedOnlyIfItsKeyIsOfAnotherInstance) {
  size_t seen = 0;
  const auto see = [&](const InstanceId& at, const Instance& head) {
    ++seen;
    EXPECT_EQ(at, id(1));
    EXPECT_EQ(head.id, id(2));
    return true;
  };
  put();
  EXPECT_TRUE(each_doubtful_head(*tx, NamespaceNumber(1), std::nullopt, see));
  EXPECT_EQ(seen, 0U) << "the head fits its key";
  head_.id = id(2);
  put();
  EXPECT_TRUE(each_doubtful_head(*tx, NamespaceNumber(1), std::nullopt, see));
  EXPECT_EQ(seen, 1U);
}

TEST_F(DoubtfulHeadTest, IsListedBehindInstancesOfSeveralRows) {
  const auto key = [](uint8_t of, Part part) {
    return part_key(rows::instance_prefix(NamespaceNumber(1), id(of)), part);
  };
  put();
  tx->put(Table::kLive, key(1, Part::kInput), "x");
  tx->put(Table::kLive, key(2, Part::kHead), encode_head(head_));
  size_t seen = 0;
  EXPECT_TRUE(each_doubtful_head(*tx, NamespaceNumber(1), std::nullopt,
                                 [&](const InstanceId& at, const Instance&) {
                                   ++seen;
                                   EXPECT_EQ(at, id(2));
                                   return true;
                                 }));
  EXPECT_EQ(seen, 1U);
}

}  // namespace
}  // namespace millrace
