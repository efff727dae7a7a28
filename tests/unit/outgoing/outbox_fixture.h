// OutboxTest: an outbox on a store whose reads can fail, and a publisher that the test completes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orchestrator/outgoing/outbox.h"
#include "orchestrator/store/rows/outbox_rows.h"
#include "tests/unit/support/faulty_store.h"

namespace millrace {

inline const Result<PublishAck> kTaken = PublishAck{.sequence = 1};
inline const Result<PublishAck> kLost = fail("broker.timeout", "no acknowledgement came in time");
inline const Result<PublishAck> kRefused = fail("broker.refused", "the stream is full");

/// Records the published messages; the test completes them.
class OutboxPublisher final : public Publisher {
 public:
  void publish(NatsMessage message, Done done) override {
    sent.push_back(message.subject);
    waiting.emplace(message.subject, std::move(done));
  }
  std::vector<std::string> take() { return std::exchange(sent, {}); }

  std::vector<std::string> sent;
  std::multimap<std::string, Done> waiting;
};

/// The name of a message is its instance and its number: `a1`; without an instance it is `-1`.
class OutboxTest : public FaultyStoreTest {
 protected:
  void write(std::initializer_list<std::string> messages) {
    for (const std::string& name : messages) {
      OutboxRecord record{.message = {.subject = name}};
      if (name[0] != '-') record.instance.emplace().bytes[0] = static_cast<uint8_t>(name[0]);
      add(std::move(record));
    }
    commit_batch();
  }
  void add(OutboxRecord record) {
    write_outbox(*tx, ++last, record);
    batch.push_back({last, std::move(record)});
  }
  void commit_batch() {
    commit();
    for (NumberedMessage& message : std::exchange(batch, {})) {
      outbox->committed(std::move(message), sends);
    }
  }

  /// Sends the messages that are due at that time; returns their names.
  std::vector<std::string> pump(int64_t at = 0) {
    do {
      const Status pumped = outbox->pump(*tx, Duration(at));
      EXPECT_TRUE(pumped) << pumped.error().message;
    } while (outbox->has_due() && !testing::Test::HasFailure());
    return publisher.take();
  }

  /// Settles the answer of the broker in a batch and commits the batch.
  void answer(const std::string& name, const Result<PublishAck>& ack, int64_t at = 0) {
    settle(name, ack, at);
    commit();
  }
  void settle(const std::string& name, const Result<PublishAck>& ack, int64_t at = 0) {
    const auto found = publisher.waiting.find(name);
    ASSERT_NE(found, publisher.waiting.end()) << name;
    found->second(ack);
    publisher.waiting.erase(found);
    take_in(acks.back(), at);
    outbox->end_settling(*tx, kStream, now);
  }
  void settle_all_again() {
    for (const auto& one : acks) take_in(one, 0);
    outbox->end_settling(*tx, kStream, now);
  }
  void take_in(const std::pair<uint64_t, Result<PublishAck>>& one, int64_t at) {
    const Status done = outbox->on_ack(*tx, one.first, one.second, openings, Duration(at), on_ack);
    EXPECT_TRUE(done) << done.error().message;
  }

  /// Opens the stream again; it has lost the messages after the sequence `intact_to`.
  void open(uint64_t intact_to, int64_t stream = kStream) {
    outbox->stream_opened(*tx, stream, intact_to, ++openings);
    commit();
  }
  void restart() {
    outbox = make();
    const Status loaded = outbox->load(*tx);
    EXPECT_TRUE(loaded) << loaded.error().message;
  }
  /// Advances the time and commits a batch.
  void pass(Duration time) {
    now += time;
    outbox->trim_acked(*tx, now);
    commit();
  }

  size_t rows() {
    size_t count = 0;
    EXPECT_TRUE(each_outbox(*tx, 0, [&](uint64_t, std::string_view) -> Result<bool> {
      ++count;
      return true;
    }));
    return count;
  }
  size_t sent_rows() {
    size_t count = 0;
    EXPECT_TRUE(each_sent(*tx, [&](uint64_t, const SentRecord&) { ++count; }));
    return count;
  }

  std::unique_ptr<Outbox> make() {
    return std::make_unique<Outbox>(publisher, limits,
                                    [this](uint64_t number, Result<PublishAck> ack) {
                                      acks.emplace_back(number, std::move(ack));
                                    });
  }

  static constexpr int64_t kStream = 7;

  OutboxPublisher publisher;
  AckedLimits limits;
  Outbox::OnAck on_ack = Outbox::OnAck::kKeep;
  TimePoint now = from_millis(1'700'000'000'000);
  std::vector<std::pair<uint64_t, Result<PublishAck>>> acks;
  uint64_t last = 0;
  std::vector<NumberedMessage> batch;  ///< messages that are written, but not committed
  bool sends = true;                   ///< whether the outbox may send, because the stream is open
  uint64_t openings = 0;               ///< the number of openings so far
  std::unique_ptr<Outbox> outbox = make();
};

}  // namespace millrace
