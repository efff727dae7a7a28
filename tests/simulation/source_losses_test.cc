// Sources of origin streams that were created again, were rolled back, or have removed messages
// before they were read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/service/source_run.h"
#include "tests/simulation/sources_fixture.h"
#include "tests/simulation/world.h"
#include "tests/support/fake_origins.h"

namespace millrace {
namespace {

using testing::SizeIs;

TEST_F(SourcesSimulation, ReadAnOriginStreamThatWasCreatedAgainFromItsBegin) {
  add_orders(3);
  apply();
  settle();
  origins.recreate("ORDERS");
  origins.delete_consumers();
  add_orders(2);
  turn_later();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(5));
  EXPECT_EQ(run->figures().recreated, 1U);
  EXPECT_EQ(run->figures().notice.value_or(Error()).code, "source.recreated");
  EXPECT_EQ(source().origin.created, origins.streams["ORDERS"].created);
}

TEST_F(SourcesSimulation, ReadTheNewMessagesOfAnOriginStreamThatWasRolledBack) {
  add_orders(5);
  apply();
  settle();
  origins.roll_back("ORDERS", 3);
  origins.delete_consumers();
  add_orders(1);  // gets the sequence 4 again
  turn_later();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(6));
  EXPECT_EQ(run->figures().rolled_back, 1U);
  EXPECT_EQ(run->figures().notice.value_or(Error()).code, "source.rolled_back");
  EXPECT_EQ(source().origin.round, 1U);
}

TEST_F(SourcesSimulation, SeeARollBackAlsoIfTheOriginStreamHasGrownSince) {
  add_orders(5);
  apply();
  settle();
  origins.roll_back("ORDERS", 3);
  origins.delete_consumers();
  add_orders(4);  // the stream ends with 7
  run->turn();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(9));
  EXPECT_EQ(run->figures().rolled_back, 1U);
}

TEST_F(SourcesSimulation, SeeARollBackAlsoIfTheNewestAppliedMessageIsMissing) {
  add_orders(5);
  apply();
  settle();
  origins.roll_back("ORDERS", 3);
  origins.delete_consumers();
  add_orders(4);  // the stream ends with 7
  origins.streams["ORDERS"].messages.erase(5);
  run->turn();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(8)) << "5, and 4, 6 and 7 once more";
  EXPECT_EQ(run->figures().rolled_back, 1U);
}

TEST_F(SourcesSimulation, TakeTheRemovalOfTheNewestAppliedMessageForNoRollBack) {
  add_orders(5);
  apply();
  settle();
  origins.streams["ORDERS"].messages.erase(5);
  origins.delete_consumers();
  add_orders(2);
  turn_later();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(7));
  EXPECT_EQ(run->figures().rolled_back, 0U);
}

TEST_F(SourcesSimulation, CountTheMessagesThatAreGoneBeforeTheyAreReadOnce) {
  add_orders(2);
  apply();
  settle();
  add_orders(5);
  auto& messages = origins.streams["ORDERS"].messages;
  messages.erase(messages.begin(), messages.find(6));
  origins.delete_consumers();
  run->turn();  // the reader ends
  run->turn();
  origins.delete_consumers();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(4));
  EXPECT_EQ(run->figures().gone, 3U);
  EXPECT_EQ(run->figures().notice.value_or(Error()).code, "source.gone");
}

TEST_F(SourcesSimulation, CountTheMessagesThatAreGoneWhileTheyRead) {
  add_orders(10);
  apply(R"({"begin":"all","rate":10,"stream":"ORDERS"})");
  run->turn();  // reads one message
  auto& messages = origins.streams["ORDERS"].messages;
  messages.erase(messages.begin(), messages.find(6));
  settle();
  EXPECT_THAT(world.instances(), SizeIs(6));
  EXPECT_EQ(run->figures().gone, 4U) << "the sequences 2 to 5";
  EXPECT_EQ(run->figures().notice.value_or(Error()).code, "source.gone");
  EXPECT_EQ(run->figures().consumers, 1U);

  add_orders(3);
  messages.erase(messages.begin(), messages.find(13));
  settle();
  world.run_for(kBetweenGapChecks);
  run->turn();
  EXPECT_THAT(world.instances(), SizeIs(7));
  EXPECT_EQ(run->figures().gone, 6U) << "also 11 and 12";
  origins.delete_consumers();
  turn_later();
  turn_later();
  EXPECT_EQ(run->figures().consumers, 2U);
  EXPECT_EQ(run->figures().gone, 6U);
  begin();  // another object, as after a pause
  turn_later();
  EXPECT_EQ(run->figures().gone, 0U);
  EXPECT_EQ(totals.gone.load(), 6U);
  EXPECT_EQ(totals.consumers.load(), 3U);
}

TEST_F(SourcesSimulation, CountTheMessagesThatAreGoneBeforeTheirFirstReading) {
  origins.streams["ORDERS"];
  apply();
  add_orders(4);
  auto& messages = origins.streams["ORDERS"].messages;
  messages.erase(messages.begin(), messages.find(3));
  settle();
  EXPECT_THAT(world.instances(), SizeIs(2));
  EXPECT_EQ(run->figures().gone, 2U);
}

TEST_F(SourcesSimulation, CountNoMessageThatWasRemovedAmongOthers) {
  add_orders(5);
  auto& messages = origins.streams["ORDERS"].messages;
  messages.erase(2);
  messages.erase(4);
  apply();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(3));
  EXPECT_EQ(run->figures().gone, 0U) << "as a stream with one message for each subject";
}

TEST_F(SourcesSimulation, CountNothingOfAStreamThatWasCreatedAgainBeforeItsFirstMessage) {
  add_orders(3);
  apply();
  settle();
  origins.recreate("ORDERS");
  add_orders(3);
  origins.streams["ORDERS"].messages.erase(1);
  origins.delete_consumers();
  turn_later();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(5));
  EXPECT_EQ(run->figures().recreated, 1U);
  EXPECT_EQ(run->figures().gone, 0U);
}

}  // namespace
}  // namespace millrace
