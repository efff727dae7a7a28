// Sources that own something at the broker: a consumer of a work queue or of a stream that drops
// what no consumer wants, and streams that millrace makes.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/service/source_consumers.h"
#include "tests/simulation/sources_fixture.h"

namespace millrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class WorkQueueSimulation : public SourcesSimulation {
 protected:
  WorkQueueSimulation() {
    origins.streams["ORDERS"].keeps_messages = false;
    origins.streams["ORDERS"].is_work_queue = true;
  }
  static constexpr const char* kConsumes = R"({"begin":"all","stream":"ORDERS","consume":true})";
  size_t waiting() { return origins.streams["ORDERS"].messages.size(); }
};

TEST_F(WorkQueueSimulation, AcknowledgeAMessageBehindTheCommitOfItsEvent) {
  add_orders(3);
  apply(kConsumes);
  run->turn();
  run->turn();
  EXPECT_EQ(world.broker.events().size(), 3U);
  EXPECT_EQ(waiting(), 3U) << "published, and not applied";
  world.run_until_idle();
  run->turn();
  EXPECT_EQ(waiting(), 0U);
  EXPECT_THAT(world.instances(), SizeIs(3));
}

TEST_F(WorkQueueSimulation, AcknowledgeAMessageBehindTheCommitOfItsDeadLetter) {
  add_plain("no event");
  apply(kConsumes);
  run->turn();
  EXPECT_EQ(origin().refused, 1U);
  EXPECT_EQ(waiting(), 1U);
  run->turn();
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(WorkQueueSimulation, DropMessagesWhoseAcknowledgementsWereLost) {
  add_orders(3);
  apply(kConsumes);
  origins.loses_acknowledgements = true;
  settle();
  run->turn();
  EXPECT_EQ(waiting(), 3U);
  const size_t published = world.broker.events().size();
  begin();  // another process
  origins.loses_acknowledgements = false;
  add_orders(1);
  settle();
  run->turn();
  EXPECT_EQ(waiting(), 0U);
  EXPECT_THAT(world.instances(), SizeIs(4));
  EXPECT_EQ(world.broker.events().size(), published + 1);
  EXPECT_EQ(origin().repeated, 0U);
}

TEST_F(WorkQueueSimulation, ComeBackWithoutALossWhenTheirConsumerWasDeleted) {
  add_orders(300);
  apply(kConsumes);
  run->turn();  // reads and publishes some
  origins.delete_consumers();
  add_orders(2);
  run->turn();
  settle();
  run->turn();
  EXPECT_THAT(world.instances(), SizeIs(302));
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(run->figures().gone, 0U);
}

TEST_F(WorkQueueSimulation, ReadAllThatAQueueHasWhichWasRolledBack) {
  add_orders(5);
  apply(kConsumes);
  settle();
  run->turn();
  origins.roll_back("ORDERS", 2);
  origins.delete_consumers();
  add_orders(1);  // gets the sequence 3 again
  turn_later();
  settle();
  EXPECT_THAT(world.instances(), SizeIs(6));
  EXPECT_EQ(run->figures().rolled_back, 1U);
}

TEST_F(WorkQueueSimulation, SeeARollBackAlsoIfTheQueueHasGrownSince) {
  add_orders(5);
  apply(kConsumes);
  settle();
  run->turn();
  origins.roll_back("ORDERS", 2);
  origins.delete_consumers();
  add_orders(4);  // the queue ends with 6
  run->turn();
  settle();
  run->turn();
  EXPECT_THAT(world.instances(), SizeIs(9));
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(run->figures().rolled_back, 1U);
}

class InterestSimulation : public SourcesSimulation {
 protected:
  InterestSimulation() {
    stream().keeps_messages = false;
    apply(R"({"begin":"all","stream":"ORDERS","consume":true})");
    run->turn();  // from now on the stream holds the messages
  }
  FakeOrigins::Stream& stream() { return origins.streams["ORDERS"]; }
  /// Deletes left consumers, as the thread `sources` does; `forgets`: and their rows. Returns how
  /// many there were.
  size_t release(bool forgets = true) {
    const auto looked = look_at_sources(Snapshot::take(world.environment()).value());
    for (const SourceConsumer& one : SourceConsumers().release(looked->left, origins)) {
      if (forgets) world.must(ForgetConsumer{one});
    }
    return looked->left.size();
  }
};

TEST_F(InterestSimulation, AcknowledgeAMessageBehindTheCommitOfItsEvent) {
  add_orders(3);
  turn_later();
  run->turn();
  EXPECT_EQ(world.broker.events().size(), 3U);
  EXPECT_EQ(stream().messages.size(), 3U) << "published, and not applied";
  world.run_until_idle();
  run->turn();
  EXPECT_EQ(stream().messages.size(), 0U);
  EXPECT_THAT(world.instances(), SizeIs(3));
}

TEST_F(InterestSimulation, LoseNoMessageWhileTheyArePausedOrMillraceDoesNotRun) {
  add_orders(2);
  settle();
  world.must(PauseSource{.ns = "default", .name = "orders"});
  run->turn();
  add_orders(3);
  begin();  // another process
  run->turn();
  add_orders(4);
  world.must(PauseSource{.ns = "default", .name = "orders", .paused = false});
  settle();
  run->turn();
  EXPECT_THAT(world.instances(), SizeIs(9));
  EXPECT_EQ(stream().messages.size(), 0U);
  EXPECT_EQ(run->figures().gone, 0U);
}

TEST_F(InterestSimulation, BeginBehindTheFloorWhenTheirConsumerIsCreatedAgain) {
  add_orders(2);
  origins.loses_acknowledgements = true;
  settle();
  origins.delete_consumers();
  turn_later();
  origins.loses_acknowledgements = false;
  add_orders(1);
  settle();
  EXPECT_EQ(origins.opened.back().after, 2U);
  EXPECT_TRUE(origins.opened.back().stays);
  EXPECT_EQ(origins.opened.back().consumer, origins.opened.front().consumer);
  EXPECT_THAT(world.instances(), SizeIs(3));
}

TEST_F(InterestSimulation, CountTheMessagesThatWereLostWhileTheirConsumerWasDeleted) {
  add_orders(3);
  settle();
  run->turn();
  stream().kept.clear();
  origins.delete_consumers();
  add_orders(2);
  turn_later();
  EXPECT_EQ(run->figures().waits.value_or(Error()).code, "source.interrupted");
  turn_later();
  add_orders(1);
  settle();
  EXPECT_THAT(world.instances(), SizeIs(4));
  EXPECT_EQ(run->figures().gone, 2U);
  EXPECT_EQ(run->figures().notice.value_or(Error()).code, "source.gone");
}

TEST_F(InterestSimulation, LeaveNoConsumerIfMillraceIsKilledWhenTheyAreDeleted) {
  add_orders(2);
  settle();
  run->turn();
  ASSERT_THAT(stream().kept, SizeIs(1));
  world.command(DeleteSource{.ns = "default", .name = "orders"});
  world.crash_after_commit();
  world.recover();
  EXPECT_EQ(source(), SourceRecord());
  ASSERT_THAT(stream().kept, SizeIs(1)) << "nothing behind the commit was done";
  EXPECT_EQ(release(false), 1U);
  EXPECT_THAT(stream().kept, IsEmpty());
  world.restart();
  EXPECT_EQ(release(), 1U) << "killed before the row was erased";
  EXPECT_EQ(release(), 0U);
  add_orders(1);
  EXPECT_THAT(stream().messages, IsEmpty()) << "the stream holds nothing for the source";
}

TEST_F(InterestSimulation, MakeNoConsumerAnewThatIsToBeDeleted) {
  add_orders(2);
  settle();
  ApplySource moved{.ns = "default", .name = "orders"};
  moved.record.origin.created = 9;
  moved.record.stream = "BILLS";
  moved.record.begin = R"("all")";
  moved.record.settings = R"({"begin":"all","stream":"BILLS","consume":true})";
  world.must(moved);
  const size_t opened = origins.opened.size();
  for (int i = 0; i < 3; ++i) turn_later();
  EXPECT_THAT(origins.opened, SizeIs(opened)) << "another reader reads the other stream";
  EXPECT_FALSE(run->figures().is_read);
  EXPECT_EQ(release(), 1U);
  EXPECT_THAT(stream().kept, IsEmpty());
  begin();
  origins.streams["BILLS"].created = 9;
  origins.streams["BILLS"].keeps_messages = false;
  run->turn();
  EXPECT_EQ(origins.opened.back().stream, "BILLS");
  EXPECT_TRUE(run->figures().is_read);
}

TEST_F(InterestSimulation, HoldTheMessagesFromTheirFirstReadingOn) {
  FakeOrigins::Stream& notes = origins.streams["ORDERS"];
  notes = {.created = 2'000, .keeps_messages = false, .messages = {}};
  world.must(DeleteSource{.ns = "default", .name = "orders"});
  apply(R"({"begin":"all","stream":"ORDERS","consume":true})");
  add_orders(2);
  EXPECT_THAT(notes.messages, IsEmpty()) << "no consumer wants them yet";
  run->turn();
  EXPECT_TRUE(run->figures().is_read);
  add_orders(3);
  settle();
  EXPECT_THAT(world.instances(), SizeIs(3));
  EXPECT_EQ(run->figures().gone, 0U);
}

/// The command that applies the source `orders` without a stream.
ApplySource own_stream_source() {
  ApplySource command{.ns = "default", .name = "orders"};
  command.record.origin = {.source = {7}, .created = 5'001};
  command.record.begin = R"("new")";
  command.record.settings = R"({"subjects":["shop.>"]})";
  return command;
}

TEST_F(SourcesSimulation, MakeTheirStreamAgainIfMillraceMadeItAndItIsMissing) {
  const std::string stream = origins.source_stream_name("default", "orders");
  world.must(own_stream_source());
  begin();
  run->turn();
  ASSERT_TRUE(origins.streams.contains(stream));
  EXPECT_TRUE(origins.opened.at(0).subjects.empty()) << "the stream has no other subjects";
  origins.add_event(stream, "shop.a", "order", "1");
  world.run_for(Duration(20));
  run->turn();
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(1));

  origins.streams.erase(stream);
  origins.delete_consumers();
  run->turn();
  run->turn();
  ASSERT_TRUE(origins.streams.contains(stream));
  EXPECT_EQ(run->figures().notice.value_or(Error()).code, "source.recreated");
  origins.add_event(stream, "shop.a", "order", "2");
  world.run_for(Duration(20));
  for (int i = 0; i < 3; ++i) run->turn();
  world.run_until_idle();
  EXPECT_THAT(world.instances(), SizeIs(2));
}

TEST_F(SourcesSimulation, LeaveNoStreamIfTheyAreDeletedWhileItIsMade) {
  world.must(own_stream_source());
  begin();
  origins.on_ensure = [this] { world.must(DeleteSource{.ns = "default", .name = "orders"}); };
  run->turn();
  EXPECT_TRUE(origins.streams.empty());
  EXPECT_TRUE(origins.opened.empty());
}

}  // namespace
}  // namespace millrace
