// Events of sources in a batch: each message of an origin stream takes effect once, in the commit
// of its event, and no other event can pass for it.
#include "orchestrator/batch/origins.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/unit/batch/batch_events_fixture.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kStartsOnOrders = R"(
id: orders
start: {type: event, event: {type: order}}
states:
- {id: wait, type: consumeEvent, event: {type: paid}}
)";

const OriginStream kOrdersOrigin{.source = {1, 2, 3}, .created = 1'700'000'000'000'000'000};

class OriginsTest : public BatchEventsTest {
 protected:
  OriginsTest() {
    define(kStartsOnOrders);
    write_origin(*tx, kOrdersOrigin, {.ns = ns});
    commit();
    batches.begin();
  }

  OriginMark mark_of(uint64_t previous, uint64_t sequence) {
    OriginMark mark{.origin = kOrdersOrigin,
                    .previous = previous,
                    .sequence = sequence,
                    .stamped = stored + Duration(sequence)};
    mark.proof = proof_of(tx->seal().message_key(), "default", mark);
    return mark;
  }
  EventInput order(const OriginMark& mark) {
    ++sequence_;
    return {.ns = "default",
            .sequence = sequence_,
            .stamped = stored + Duration(sequence_),
            // The mark counts, and not the id: a mapping may give each event another id.
            .event = EncodedEvent(
                {.id = std::to_string(sequence_), .source = "ORDERS", .type = "order"}),
            .origin = std::make_shared<const OriginMark>(mark)};
  }
  void apply(const OriginMark& mark) { ASSERT_TRUE(batch->apply(now, order(mark))); }
  BatchOutcome finish() {
    auto outcome = batch->finish(now);
    EXPECT_TRUE(outcome);
    commit();
    batches.begin();
    return *std::move(outcome);
  }
  void lose() {
    tx->drop();
    tasks.undo();
    ASSERT_TRUE(read_caches());
    ASSERT_TRUE(batch->undo());
    batches.begin();
  }
  OriginRecord stored_origin() {
    return read_origin(*tx, kOrdersOrigin).value().value_or(OriginRecord());
  }

  uint64_t sequence_ = 0;
};

TEST_F(OriginsTest, ApplyAMessageOnce) {
  apply(mark_of(0, 1));
  apply(mark_of(0, 1));
  const BatchOutcome outcome = finish();
  EXPECT_EQ(outcome.counts.source_events, 1U);
  EXPECT_EQ(outcome.counts.source_repeated, 1U);
  apply(mark_of(0, 1));
  EXPECT_EQ(finish().counts.source_repeated, 1U);
  EXPECT_EQ(stored_live().size(), 1U);
  EXPECT_EQ(stored_origin().applied.floor(), 1U);
  EXPECT_EQ(stored_origin().events, 1U);
  EXPECT_EQ(stored_origin().repeated, 2U);
  EXPECT_EQ(stored_origin().stamped, stored + Duration(1));
}

TEST_F(OriginsTest, AreKeptAfterARestart) {
  apply(mark_of(0, 1));
  apply(mark_of(4, 5));
  finish();
  restart();
  apply(mark_of(0, 1));
  apply(mark_of(1, 4));
  apply(mark_of(4, 5));
  EXPECT_EQ(finish().counts.source_repeated, 2U);
  EXPECT_EQ(stored_live().size(), 3U);
  EXPECT_EQ(stored_origin().applied, AppliedSequences(5));
}

TEST_F(OriginsTest, ApplyTheMessageOfALostBatchAgain) {
  apply(mark_of(0, 1));
  lose();
  apply(mark_of(0, 1));
  const BatchOutcome outcome = finish();
  EXPECT_EQ(outcome.counts.source_events, 1U);
  EXPECT_EQ(outcome.counts.source_repeated, 0U);
  EXPECT_EQ(stored_live().size(), 1U);
}

TEST_F(OriginsTest, AreWrittenAlsoIfNothingWaitsForTheEvent) {
  EventInput other = order(mark_of(0, 1));
  other.event = EncodedEvent({.id = "x", .source = "s", .type = "other"});
  ASSERT_TRUE(batch->apply(now, other));
  finish();
  EXPECT_EQ(stored_origin().applied.floor(), 1U);
}

TEST_F(OriginsTest, MakeADeadLetterOfAForgedMark) {
  OriginMark forged = mark_of(0, 1);
  forged.sequence = 2;
  apply(forged);
  EventInput other_content = order(mark_of(0, 1));
  OriginMark changed = *other_content.origin;
  changed.content[0] = 7;
  apply(changed);
  finish();
  EXPECT_THAT(stored_live(), IsEmpty());
  EXPECT_EQ(stored_origin().applied, AppliedSequences());
  EXPECT_THAT(outbox_subjects(), ElementsAre("millrace.dlq.default.event%2Eorigin",
                                             "millrace.dlq.default.event%2Eorigin"));
}

TEST_F(OriginsTest, MakeADeadLetterOfAnEventWhoseSourceWasDeleted) {
  erase_origin(*tx, kOrdersOrigin);
  commit();
  batches.begin();
  apply(mark_of(0, 1));
  finish();
  EXPECT_THAT(stored_live(), IsEmpty());
  EXPECT_THAT(outbox_subjects(), ElementsAre(HasSubstr("origin")));
}

TEST_F(OriginsTest, NoteTheMessageOfAnUnreadableEvent) {
  const UnreadableInput poison{.sequence = 1,
                               .stamped = stored,
                               .reason = {std::string(kPoison), "died"},
                               .message = {.subject = "millrace.events.default.order"},
                               .origin = std::make_shared<const OriginMark>(mark_of(0, 1))};
  ASSERT_TRUE(batch->apply(now, poison));
  finish();
  EXPECT_EQ(stored_origin().applied.floor(), 1U);
}

/// A source that is killed at random reads its stream again from the stored floor and publishes the
/// messages once more, in its order; batches are lost at random. Each message starts one instance.
TEST_F(OriginsTest, StartOneInstanceForEachMessageWhateverIsRepeatedOrLost) {
  constexpr uint64_t kMessages = 40;
  uint64_t events = 0;
  for (const uint64_t seed : seeds(8)) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    write_origin(*tx, kOrdersOrigin, {.ns = ns});
    commit();
    batches.begin();
    restart();
    std::vector<OriginMark> stream;  // the event stream
    size_t applied = 0;              // of the stream, as of the last commit
    while (stored_origin().applied.floor() < kMessages) {
      uint64_t previous = stored_origin().applied.floor();
      for (uint64_t next = previous + 1; next <= kMessages && random() % 8 != 0; ++next) {
        if (random() % 5 == 0) continue;  // not wanted by the filter in this run
        if (next == kMessages || random() % 6 != 0) stream.push_back(mark_of(previous, next));
        previous = next;
      }
      size_t reached = applied;
      while (reached < stream.size() && random() % 10 != 0) apply(stream[reached++]);
      if (random() % 4 == 0) {
        lose();
      } else {
        finish();
        applied = reached;
      }
    }
    events += stored_origin().events;
    EXPECT_THAT(stored_origin().applied.above(), IsEmpty());
    EXPECT_EQ(stored_live().size(), events);
  }
}

}  // namespace
}  // namespace millrace
