#include "orchestrator/store/rows/left_consumer_rows.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;

const SourceConsumer kAtOrders{
    .source = {1, 2}, .stream = "ORDERS", .name = "millrace-default-orders-01020000"};
const SourceConsumer kAtBills{
    .source = {1, 2}, .stream = "BILLS", .name = "millrace-default-orders-01020000"};
const SourceConsumer kOfOther{
    .source = {1, 1}, .stream = "ORDERS", .name = "millrace-shop-a-01010000"};

class LeftConsumerRowsTest : public StoreTest {
 protected:
  std::vector<SourceConsumer> left(const OnDamage& damaged = nullptr) {
    std::vector<SourceConsumer> all;
    EXPECT_TRUE(each_left_consumer(
        *tx, [&](const SourceConsumer& one) { all.push_back(one); }, damaged));
    return all;
  }
};

TEST_F(LeftConsumerRowsTest, KeepEachConsumerUntilItIsErased) {
  for (const SourceConsumer& one : {kAtOrders, kAtBills, kOfOther}) write_left_consumer(*tx, one);
  write_left_consumer(*tx, kAtOrders);
  EXPECT_THAT(left(), ElementsAre(kOfOther, kAtBills, kAtOrders));
  erase_left_consumer(*tx, kAtOrders);
  erase_left_consumer(*tx, kAtOrders);
  EXPECT_THAT(left(), ElementsAre(kOfOther, kAtBills));
}

TEST_F(LeftConsumerRowsTest, NameTheirPlaceByTheKey) {
  const std::string key = "left-consumer/" + std::string(16, 'i');
  const auto place = left_consumer_place(key + "ORDERS");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->stream, "ORDERS");
  EXPECT_EQ(place->source[15], 'i');
  for (const std::string& wrong : {key, key.substr(0, 20), std::string("source/")}) {
    EXPECT_EQ(left_consumer_place(wrong), std::nullopt) << wrong;
  }
}

TEST_F(LeftConsumerRowsTest, GiveAnErrorIfTheyAreDamaged) {
  const std::string bytes = encode_consumer_name(kAtOrders.name);
  EXPECT_EQ(*decode_consumer_name(bytes), kAtOrders.name);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_consumer_name(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_consumer_name(encode_consumer_name("")));
  write_left_consumer(*tx, kAtOrders);
  const std::string key = "left-consumer/" + std::string(16, '\0');
  tx->put(Table::kMeta, key, bytes);
  tx->put(Table::kMeta, key + "S", "rubbish");
  std::vector<Error> damaged;
  EXPECT_THAT(left([&](const Error& one) { damaged.push_back(one); }), ElementsAre(kAtOrders));
  ASSERT_EQ(damaged.size(), 2U);
  EXPECT_TRUE(is_damaged_row(damaged[0]));
  EXPECT_THAT(damaged[0].message,
              testing::HasSubstr("its key is not a source and the name of a stream"));
}

}  // namespace
}  // namespace millrace
