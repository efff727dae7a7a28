#include "orchestrator/store/rows/node_rows.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

NodeRecord some_node() {
  return {.first_seen = from_millis(1'600'000'000'000), .address = "http://db1:8780"};
}

using NodeRowsTest = StoreTest;

TEST_F(NodeRowsTest, KeepEachNode) {
  EXPECT_EQ(*read_node(*tx, {1}), std::nullopt);
  write_node(*tx, {1}, some_node());
  NodeRecord other = some_node();
  other.address = "http://db2:8780";
  write_node(*tx, {2}, other);
  EXPECT_EQ(*read_node(*tx, {1}), some_node());
  std::vector<std::string> addresses;
  ASSERT_TRUE(each_node(*tx, [&](const RandomName&, const NodeRecord& record) {
    addresses.push_back(record.address);
  }));
  EXPECT_THAT(addresses, testing::ElementsAre("http://db1:8780", "http://db2:8780"));
  erase_node(*tx, {1});
  EXPECT_EQ(*read_node(*tx, {1}), std::nullopt);
}

TEST_F(NodeRowsTest, AreNotReadIfTheyAreDamaged) {
  EXPECT_FALSE(decode_node("rubbish"));
  EXPECT_FALSE(
      decode_node(encode(NodeRecord{.address = std::string(kMostNodeAddressBytes + 1, 'a')})));
  EXPECT_FALSE(node_of_key("node/short"));
  EXPECT_FALSE(node_of_key("other/0123456789012345"));
  tx->put(Table::kMeta, "node/short", encode(some_node()));
  EXPECT_FALSE(each_node(*tx, [](const RandomName&, const NodeRecord&) {}));
}

}  // namespace
}  // namespace millrace
