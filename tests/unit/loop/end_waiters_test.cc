// EndWaiters: each waiter for the end of an instance is answered once.
#include "orchestrator/loop/end_waiters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/store/rows/instance_rows.h"
#include "tests/unit/support/catalog_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class EndWaitersTest : public CatalogStoreTest {
 protected:
  EndWaitersTest() {
    for (const uint8_t number : {1, 2}) {
      Instance instance{.id = numbered_id(number),
                        .ns = ns,
                        .revision = {WorkflowNumber(1), 1},
                        .status = InstanceStatus::kWaiting,
                        .phase = Phase::kWaiting,
                        .input = Json::object(),
                        .data = Json::object()};
      write_instance(*tx, instance, {.input = true, .data = true});
    }
    commit();
  }
  /// A waiter that adds `name: ok` or `name: code` to `answered`.
  EndWaiter waiter(const std::string& name, uint8_t instance, Duration at_most,
                   const std::string& in = "default") {
    return {.ns = in,
            .id = numbered_id(instance),
            .at_most = at_most,
            .done = [this, name](const Status& done) {
              answered.push_back(name + ": " + (done ? "ok" : done.error().code));
            }};
  }
  std::vector<std::string> take_answered() { return std::exchange(answered, {}); }

  std::vector<std::string> answered;
  EndWaiters waiters{*environment, catalog};
};

TEST_F(EndWaitersTest, AreAnsweredWhenTheirInstanceEnds) {
  waiters.add(
      {waiter("a", 1, Duration(10)), waiter("b", 2, Duration(10)), waiter("c", 1, Duration(20))},
      Duration(0));
  EXPECT_THAT(take_answered(), IsEmpty());
  waiters.on_end(numbered_id(1));
  EXPECT_THAT(take_answered(), testing::UnorderedElementsAre("a: ok", "c: ok"));
  waiters.on_end(numbered_id(1));
  waiters.on_end(numbered_id(9));
  EXPECT_THAT(take_answered(), IsEmpty());
  EXPECT_EQ(waiters.next_deadline(), Duration(10)) << "one waiter is left";
}

TEST_F(EndWaitersTest, AreAnsweredAtOnceIfTheInstanceIsNotLive) {
  waiters.add({waiter("a", 9, Duration(10)), waiter("b", 1, Duration(10), "nowhere")}, Duration(0));
  EXPECT_THAT(take_answered(), ElementsAre("a: ok", "b: ok"));
  EXPECT_EQ(waiters.next_deadline(), std::nullopt);
}

TEST_F(EndWaitersTest, AreAnsweredAtTheirTimeout) {
  waiters.add(
      {waiter("a", 1, Duration(10)), waiter("b", 1, Duration(20)), waiter("c", 2, Duration(20))},
      Duration(0));
  waiters.expire(Duration(9));
  EXPECT_THAT(take_answered(), IsEmpty());
  waiters.expire(Duration(10));
  EXPECT_THAT(take_answered(), ElementsAre("a: wait.timeout"));
  EXPECT_EQ(waiters.next_deadline(), Duration(20));
  waiters.on_end(numbered_id(1));
  EXPECT_THAT(take_answered(), ElementsAre("b: ok"));
  waiters.expire(Duration(100));
  EXPECT_THAT(take_answered(), ElementsAre("c: wait.timeout"));
  EXPECT_EQ(waiters.next_deadline(), std::nullopt);
}

TEST_F(EndWaitersTest, AreForgottenIfTheirCallersHaveLeftAndThereAreMany) {
  auto leaves = std::make_shared<int>();
  const auto stays = std::make_shared<int>();
  const auto of = [](EndWaiter one, const std::shared_ptr<int>& caller) {
    one.caller = caller;
    return one;
  };
  std::vector<EndWaiter> first = {of(waiter("stays", 1, Duration(20)), stays),
                                  waiter("unmarked", 1, Duration(30))};
  while (first.size() < EndWaiters::kFew) {
    first.push_back(of(waiter("leaves", 1, Duration(10)), leaves));
  }
  waiters.add(std::move(first), Duration(0));
  waiters.add({waiter("next", 2, Duration(50))}, Duration(0));
  EXPECT_EQ(waiters.next_deadline(), Duration(10)) << "no caller has left";
  leaves.reset();
  EXPECT_EQ(waiters.next_deadline(), Duration(10)) << "nothing was added";
  // Since the last look the waiters may double.
  for (size_t i = 0; i + 1 < EndWaiters::kFew; ++i) {
    waiters.add({of(waiter("more", 2, Duration(60)), stays)}, Duration(0));
  }
  EXPECT_EQ(waiters.next_deadline(), Duration(10));
  waiters.add({waiter("last", 2, Duration(70))}, Duration(0));
  EXPECT_EQ(waiters.next_deadline(), Duration(20));
  EXPECT_THAT(take_answered(), IsEmpty());
  waiters.on_end(numbered_id(1));
  EXPECT_THAT(take_answered(), testing::UnorderedElementsAre("stays: ok", "unmarked: ok"));
}

TEST_F(EndWaitersTest, AreRefusedWhenMillraceStops) {
  waiters.add({waiter("a", 1, Duration(10)), waiter("b", 2, Duration(10))}, Duration(0));
  for (const Refuse& refuse : waiters.abandoned()) refuse({"stopping", ""});
  EXPECT_THAT(take_answered(), ElementsAre("a: stopping", "b: stopping"));
  waiters.on_end(numbered_id(1));
  waiters.expire(Duration(100));
  EXPECT_THAT(take_answered(), IsEmpty());
}

TEST_F(EndWaitersTest, AreAnsweredWithTheErrorOfAFailedRead) {
  fail_read(1);
  waiters.add({waiter("a", 1, Duration(10))}, Duration(0));
  EXPECT_THAT(take_answered(), ElementsAre("a: store.io"));
  EXPECT_EQ(waiters.next_deadline(), std::nullopt);
  heal();
  waiters.add({waiter("a", 1, Duration(10))}, Duration(0));
  EXPECT_THAT(take_answered(), IsEmpty());
  EXPECT_EQ(waiters.next_deadline(), Duration(10));
}

}  // namespace
}  // namespace millrace
