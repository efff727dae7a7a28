// LiveReader, and what it reads of the broker.
#include "orchestrator/service/live_reader.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "broker/memory_stored_events.h"
#include "scenarios/virtual_clock.h"
#include "tests/support/patience.h"
#include "tests/unit/service/fake_stored_letters.h"

namespace millrace {
namespace {

class LiveReaderTest : public testing::Test {
 protected:
  void publish(const std::string& id) {
    NatsMessage message = encode_nats(Event{.id = id, .source = "/s", .type = "paid"});
    message.subject = "millrace.events.default.paid";
    broker.inject(message);
  }
  LiveEventsQuestion events_from(uint64_t first) const {
    return {.ns = "default",
            .identity = {.number = NamespaceNumber(1), .created_at = created_at},
            .first = first,
            .last = {.stream_created = broker.created(), .sequence = broker.last_sequence()}};
  }

  VirtualClock clock;
  MemoryBroker broker{clock};
  MemoryStoredEvents events{broker};
  FakeStoredLetters letters;
  TimePoint created_at = clock.now();
};

TEST_F(LiveReaderTest, ReadsTheEventsOfTheRangeThatAreNotOlderThanTheNamespace) {
  publish("1");
  clock.advance(Duration(1));
  created_at = clock.now();
  publish("2");
  publish("3");
  const auto read = read_live_events(events, events_from(1));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->events.size(), 2U);
  EXPECT_EQ(read->events[0].sequence, 2U);
  EXPECT_EQ(read->events[0].type, "paid");
  EXPECT_EQ(read->events[0].item["id"], "2");
  EXPECT_EQ(read->unread, 0U);
  EXPECT_EQ(read_live_events(events, events_from(3))->events.size(), 1U);
}

TEST_F(LiveReaderTest, RefusesToReadAnotherStreamThanTheOneThatWasApplied) {
  publish("1");
  const LiveEventsQuestion asked = events_from(1);
  broker.recreate_stream();
  broker.reconnect();
  publish("2");
  EXPECT_EQ(read_live_events(events, asked).error().code, "broker.protocol");
}

TEST_F(LiveReaderTest, ReadsAllDeadLettersOfAQueueThatWasCreatedAgain) {
  letters.add("default", "{");
  letters.add("default", "{");
  const LettersState before{.created = 3, .last = 90, .count = 40, .newest = 89};
  const auto read =
      read_live_letters(letters, clock,
                        {.ns = "default",
                         .identity = {.number = NamespaceNumber(1), .created_at = created_at},
                         .before = before});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->letters.size(), 2U);
  EXPECT_EQ(read->now, (LettersState{.created = 7, .last = 2, .count = 2, .newest = 2}));
}

TEST_F(LiveReaderTest, AnswersQuestionsOnItsThread) {
  publish("1");
  LiveReader reader(events, letters, clock);
  reader.ask(events_from(1));
  reader.ask(
      LiveLettersQuestion{.ns = "default",
                          .identity = {.number = NamespaceNumber(1), .created_at = created_at},
                          .before = std::nullopt});
  std::vector<LiveAnswer> answers;
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (answers.size() < 2 && std::chrono::steady_clock::now() < give_up) {
    for (LiveAnswer& answer : reader.take()) answers.push_back(std::move(answer));
    std::this_thread::yield();
  }
  ASSERT_EQ(answers.size(), 2U);
  const auto& read = std::get<LiveEventsAnswer>(answers[0]).read;
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->events.size(), 1U);
  EXPECT_TRUE(std::get<LiveLettersAnswer>(answers[1]).read);
  reader.stop();
  reader.ask(events_from(1));
  EXPECT_TRUE(reader.take().empty()) << "a question after the stop has no answer";
}

}  // namespace
}  // namespace millrace
