#include "orchestrator/store/rows/pending_input_rows.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "orchestrator/store/rows/counted_rows.h"
#include "orchestrator/store/rows/pending_start_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr NamespaceNumber kOfInputs{3};

class PendingInputRowsTest : public StoreTest {
 protected:
  static InstanceId instance_of(uint8_t last) {
    InstanceId id;
    id.bytes.back() = last;
    return id;
  }
  static PendingInput numbered(int n) {
    PendingInput input{.input = Json{{"n", n}}};
    input.consumed.add({.stream = 1, .sequence = 4}, fingerprint({"e"}));
    return input;
  }
  void write(uint8_t instance, uint32_t number, int n) {
    write_pending_input(*tx, {kOfInputs, instance_of(instance), number}, numbered(n));
  }
  /// The numbers in the inputs of the instance.
  std::vector<int> read(uint8_t instance) {
    std::vector<int> all;
    EXPECT_TRUE(each_pending_input(
        *tx, kOfInputs, instance_of(instance),
        [&](const PendingInput& one) { all.push_back(one.input.value()["n"].get<int>()); },
        [&](const Error& error) { damaged.push_back(error.code); }));
    return all;
  }
  std::string key_of_input(uint8_t instance, uint32_t number) {
    Writer key;
    key.raw(kPendingInputKey);
    key.u32(static_cast<uint32_t>(kOfInputs));
    key.id(instance_of(instance).bytes);
    key.u32(number);
    return key.take();
  }

  std::vector<std::string> damaged;
};

TEST_F(PendingInputRowsTest, AreReadAlone) {
  write(1, 0, 10);
  write(1, 1, 11);
  const auto second = read_pending_input(*tx, {kOfInputs, instance_of(1), 1});
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->input, LazyJson(Json{{"n", 11}}));
  const auto none = read_pending_input(*tx, {kOfInputs, instance_of(1), 2});
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  tx->put(Table::kMeta, key_of_input(1, 1), "damaged");
  const auto damage = read_pending_input(*tx, {kOfInputs, instance_of(1), 1});
  ASSERT_FALSE(damage);
  EXPECT_EQ(damage.error().code, kDamagedRow);
}

TEST_F(PendingInputRowsTest, AreReadInTheOrderOfTheirNumbers) {
  EXPECT_THAT(read(1), IsEmpty());
  write(1, 256, 3);
  write(1, 0, 1);
  write(2, 0, 9);
  write(1, 1, 2);
  EXPECT_THAT(read(1), ElementsAre(1, 2, 3));
  EXPECT_THAT(read(2), ElementsAre(9));
  EXPECT_THAT(read(3), IsEmpty());
  EXPECT_THAT(damaged, IsEmpty());
}

TEST_F(PendingInputRowsTest, KeepTheEventsThatTheRequestHasTaken) {
  const PendingInput read = decode_pending_input(encode(numbered(5))).value();
  EXPECT_EQ(read.input.text(), R"({"n":5})");
  EXPECT_EQ(read.consumed, numbered(5).consumed);
  const PendingInput plain{.input = Json::object()};
  EXPECT_TRUE(decode_pending_input(encode(plain)).value().consumed.empty());
}

TEST_F(PendingInputRowsTest, AreErasedInPortions) {
  for (uint32_t i = 0; i < 5; ++i) write(1, i, static_cast<int>(i));
  write(2, 0, 9);
  EXPECT_EQ(erase_pending_inputs(*tx, kOfInputs, instance_of(1), 3), false);
  EXPECT_THAT(read(1), ElementsAre(3, 4)) << "the oldest ones first";
  EXPECT_EQ(erase_pending_inputs(*tx, kOfInputs, instance_of(1), 2), true);
  EXPECT_THAT(read(1), IsEmpty());
  EXPECT_EQ(erase_pending_inputs(*tx, kOfInputs, instance_of(1), 2), true);
  EXPECT_THAT(read(2), ElementsAre(9));
}

TEST_F(PendingInputRowsTest, ArePassedOverIfTheyAreDamaged) {
  write(1, 0, 1);
  write(1, 1, 2);
  tx->put(Table::kMeta, key_of_input(1, 0), "rubbish");
  EXPECT_THAT(read(1), ElementsAre(2));
  EXPECT_THAT(damaged, SizeIs(1));
  PendingInput wrong = numbered(1);
  wrong.input = LazyJson::of_text("{");
  EXPECT_FALSE(decode_pending_input(encode(wrong)));
}

TEST_F(PendingInputRowsTest, AreNamedByTheirKeys) {
  const auto place = pending_input_place(key_of_input(7, 12));
  ASSERT_TRUE(place);
  EXPECT_EQ(*place, (PendingInputPlace{kOfInputs, instance_of(7), 12}));
  EXPECT_EQ(namespace_of_pending_input(key_of_input(7, 12)), kOfInputs);
  EXPECT_FALSE(pending_input_place("pending-input/x"));
  EXPECT_FALSE(pending_input_place("pending-input/" + std::string(24, '\0')));
  EXPECT_FALSE(pending_input_place(key_of_input(7, 12) + "x"));
  EXPECT_FALSE(namespace_of_pending_input("pending-start/x"));
}

TEST_F(PendingInputRowsTest, CountForTheirNamespace) {
  const RowOwners owners{.exists = [](NamespaceNumber ns) { return ns == kOfInputs; },
                         .home = [](WorkflowNumber) { return std::nullopt; }};
  const std::string value = encode(numbered(1));
  EXPECT_EQ(counted_for(*tx, owners, Table::kMeta, key_of_input(1, 0), value), kOfInputs);
  EXPECT_EQ(counted_for(*tx, owners, Table::kMeta, "pending-input/x", value), std::nullopt);
  EXPECT_EQ(counted_for(*tx, owners, Table::kMeta, "minor", value), std::nullopt);
}

TEST_F(PendingInputRowsTest, AreCountedByTheirPendingStart) {
  PendingStart batch{.input = LazyJson(), .how = Json{{"by", "call"}, {"revision", 1}}};
  const std::string plain = encode(batch);
  EXPECT_EQ(plain.front(), 1) << "a start without a batch has the first version";
  EXPECT_FALSE(decode_pending_start(plain).value().batch);
  batch.batch = PendingBatch{.inputs = 1'000, .bytes = 1 << 20, .is_over = true};
  EXPECT_EQ(encode(batch).front(), 2);
  EXPECT_EQ(decode_pending_start(encode(batch)).value().batch, batch.batch);
  batch.batch->inputs = 0;
  EXPECT_FALSE(decode_pending_start(encode(batch))) << "a batch begins with an input";
}

}  // namespace
}  // namespace millrace
