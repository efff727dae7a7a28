// LargeInstances: which instances are kept, and that kept instances are not read from their rows.
#include "orchestrator/batch/large_instances.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/head_rows.h"
#include "orchestrator/store/rows/row.h"
#include "tests/unit/batch/batch_part_fixture.h"

namespace millrace {
namespace {

constexpr size_t kFewest = LargeInstances::kFewestCalls;

KeptInstance with_calls(uint8_t number, size_t calls, uint64_t bytes = 0) {
  Instance instance{.id = numbered_id(number), .status = InstanceStatus::kWaiting};
  instance.calls.resize(calls);
  instance.part_bytes[0] = bytes;
  std::vector<Call> stored = instance.calls;
  return {std::move(instance), std::move(stored)};
}

TEST(LargeInstances, AreLiveInstancesWithManyCalls) {
  LargeInstances large;
  large.put(with_calls(1, kFewest - 1));
  KeptInstance ended = with_calls(2, kFewest);
  ended.instance.status = InstanceStatus::kComplete;
  large.put(std::move(ended));
  EXPECT_TRUE(large.empty());
  large.put(with_calls(3, kFewest));
  ASSERT_TRUE(large.take({}, numbered_id(3)));
  EXPECT_FALSE(large.take({}, numbered_id(3))) << "it was taken";
}

TEST(LargeInstances, AreLiveInstancesWithLargeData) {
  LargeInstances large;
  KeptInstance one = with_calls(1, 0);
  one.instance.data = LazyJson::of_text("\"" + std::string(kLargeJson - 2, 'x') + "\"");
  EXPECT_FALSE(LargeInstances::is_large(one.instance));
  large.put(one);
  EXPECT_TRUE(large.empty());
  one.instance.found_data = LazyJson::of_text("1");
  EXPECT_TRUE(LargeInstances::is_large(one.instance)) << "all its texts together count";
  large.put(one);
  EXPECT_TRUE(large.take({}, one.instance.id));
}

TEST(LargeInstances, AreLiveInstancesWhoseCallsHaveLargeResults) {
  KeptInstance one = with_calls(1, 2);
  const auto half = LazyJson::of_text("\"" + std::string(kLargeJson / 2, 'x') + "\"");
  one.instance.calls[0].result = half;
  EXPECT_FALSE(LargeInstances::is_large(one.instance));
  one.instance.calls[1].result = half;
  EXPECT_TRUE(LargeInstances::is_large(one.instance));
}

TEST(LargeInstances, AreKeptOnceWithoutTheirInput) {
  LargeInstances large({.calls = 2 * kFewest});
  KeptInstance one = with_calls(1, kFewest);
  one.instance.input = Json{{"a", 1}};
  for (int i = 0; i < 5; ++i) large.put(one);
  const std::optional<KeptInstance> kept = large.take({}, one.instance.id);
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->instance.input.is_null());
  EXPECT_EQ(kept->calls.size(), kFewest);
  EXPECT_TRUE(large.empty());
}

TEST(LargeInstances, AreForgottenInTheOrderOfTheirUseIfThereAreTooMany) {
  LargeInstances by_calls({.calls = 3 * kFewest});
  LargeInstances by_bytes({.bytes = 3'000});
  for (LargeInstances* const large : {&by_calls, &by_bytes}) {
    for (uint8_t number = 1; number <= 3; ++number) {
      large->put(with_calls(number, kFewest, 1'000));
    }
    large->put(*large->take({}, numbered_id(1)));
    large->put(with_calls(4, kFewest, 1'000));
    EXPECT_FALSE(large->take({}, numbered_id(2))) << "it was not used for the longest time";
    for (const uint8_t number : {1, 3, 4}) EXPECT_TRUE(large->take({}, numbered_id(number)));
    EXPECT_TRUE(large->empty());
    large->put(with_calls(5, 4 * kFewest, 4'000));
    EXPECT_TRUE(large->empty()) << "the instance is larger than all that is kept";
  }
}

class KeptInstanceTest : public BatchPartTest {
 protected:
  /// Starts an instance that waits for many calls, and commits.
  InstanceId start_large() {
    batch.limits.calls_per_step.calls = 2 * kFewest;
    const WorkflowEntry& entry = define(R"(
id: each
functions: [{id: f, type: knative-namespace, service: f}]
states:
- {id: loop, type: foreach, array: jq(.items), action: {function: f}}
)");
    Json items = Json::array();
    for (size_t i = 0; i < kFewest; ++i) items.push_back(i);
    const auto id =
        instances.start(now, entry, *definition(entry), {.data = {{"items", std::move(items)}}});
    EXPECT_TRUE(id) << id.error().message;
    commit_batch();
    return id.value_or(InstanceId());
  }
  /// Damages the row of the first call, and commits.
  void damage_call(const InstanceId& id) {
    const std::string part = part_key(rows::instance_prefix(ns, id), Part::kCall);
    tx->put(Table::kLive, part + std::string(4, '\0'), "rubbish");
    commit();
  }
  /// Starts an instance that waits with large data, and commits.
  InstanceId start_with_large_data() {
    const WorkflowEntry& entry = define(kWaits);
    const auto id =
        instances.start(now, entry, *definition(entry),
                        {.data = LazyJson::of_tree(Json{{"text", std::string(kLargeJson, 'x')}})});
    EXPECT_TRUE(id) << id.error().message;
    commit_batch();
    return id.value_or(InstanceId());
  }
  /// The data of the instance; null: it cannot be loaded.
  std::shared_ptr<const std::string> data_of(const InstanceId& id) {
    const auto loaded = instances.load(now, ns, id);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded && *loaded != nullptr ? (*loaded)->instance.data.shared_text() : nullptr;
  }
  bool loads(const InstanceId& id) {
    const auto loaded = instances.load(now, ns, id);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded && *loaded != nullptr && (*loaded)->instance.calls.size() == kFewest;
  }
};

TEST_F(KeptInstanceTest, IsNotReadFromItsRowsInTheNextBatches) {
  const InstanceId id = start_large();
  damage_call(id);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(loads(id));
    commit_batch();
  }
}

TEST_F(KeptInstanceTest, HasTheSameBytesOfItsLargeDataInTheNextBatches) {
  const InstanceId id = start_with_large_data();
  const auto data = data_of(id);
  ASSERT_NE(data, nullptr);
  for (int i = 0; i < 3; ++i) {
    commit_batch();
    EXPECT_EQ(data_of(id), data) << "the data was neither read nor copied";
  }
  lose_batch();
  const auto read = data_of(id);
  ASSERT_NE(read, nullptr);
  EXPECT_NE(read, data);
  EXPECT_EQ(*read, *data);
}

TEST_F(KeptInstanceTest, IsNotFoundInAnotherNamespace) {
  const NamespaceNumber other = create_namespace("other");
  const InstanceId id = start_with_large_data();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(instances.load_undamaged(now, other, id).value(), nullptr);
    EXPECT_NE(instances.load_undamaged(now, ns, id).value(), nullptr);
    EXPECT_EQ(instances.load_undamaged(now, other, id).value(), nullptr) << "it is loaded now";
    commit_batch();
  }
}

TEST_F(KeptInstanceTest, IsReadFromItsRowsAfterALostBatch) {
  const InstanceId id = start_large();
  damage_call(id);
  EXPECT_TRUE(loads(id));
  lose_batch();
  EXPECT_FALSE(loads(id));
  EXPECT_EQ(damages.count(), 1U);
}

TEST_F(KeptInstanceTest, HasTheRowsOfItsLastStep) {
  const InstanceId id = start_large();
  const auto loaded = instances.load(now, ns, id).value();
  ASSERT_NE(loaded, nullptr);
  const Caller call{.instance = id, .entered = loaded->instance.entered, .index = 0, .attempt = 1};
  ASSERT_TRUE(instances.step(now, *loaded, Returned{.call = call, .result = LazyJson(Json(7))}));
  commit_batch();
  const auto stored = read_live(*tx, ns, id).value();
  ASSERT_TRUE(loads(id));
  const Instance& kept = instances.load(now, ns, id).value()->instance;
  EXPECT_EQ(encode_head(kept), encode_head(*stored));
  ASSERT_EQ(kept.calls.size(), stored->calls.size());
  for (size_t i = 0; i < kFewest; ++i) {
    EXPECT_EQ(kept.calls[i].status, stored->calls[i].status) << i;
    EXPECT_EQ(kept.calls[i].result.text(), stored->calls[i].result.text()) << i;
  }
}

TEST_F(KeptInstanceTest, WritesOnlyTheRowsOfCallsThatHaveChanged) {
  const InstanceId id = start_large();
  for (uint32_t index = 0; index < 3; ++index) {
    const auto loaded = instances.load(now, ns, id).value();
    ASSERT_NE(loaded, nullptr);
    const Caller call{
        .instance = id, .entered = loaded->instance.entered, .index = index, .attempt = 1};
    ASSERT_TRUE(instances.step(now, *loaded, Returned{.call = call, .result = LazyJson(Json(7))}));
    ASSERT_TRUE(instances.write());
    const std::string part = part_key(rows::instance_prefix(ns, id), Part::kCall);
    size_t written = 0;
    for (const auto& [key, value] : tx->write_set()) {
      if (table_of(key) == Table::kLive && key_of(key).starts_with(part)) ++written;
    }
    EXPECT_EQ(written, 2U) << "the call that has ended, and the one that was started for it";
    commit_batch();
  }
}

}  // namespace
}  // namespace millrace
