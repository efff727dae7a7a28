// RestoredPublisher on a real nats-server: a message that a stream has is not sent again after the
// duplicate window of the stream has passed. The window is the shortest that nats-server permits.
#include "broker/restored_publisher.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "broker/publisher.h"
#include "tests/unit/broker/collecting_sink.h"

namespace millrace {
namespace {

/// A clock that a test sets.
class SetClock final : public Clock {
 public:
  TimePoint now() const override { return now_.load(); }
  void set(TimePoint now) { now_ = now; }

 private:
  std::atomic<TimePoint> now_ = TimePoint(std::chrono::days(20'000));
};

constexpr const char* kRestoredEvent = "millrace.events.default.t";

/// A Nats-Msg-Id of the form that millrace gives events.
std::string event_id(size_t number) { return fmt::format("{:032x}", number); }

class RestoredPublisherTest : public NatsFixture {
 protected:
  void SetUp() override {
    for (StreamSettings stream : {events_stream(), dead_letters_stream(), lifecycle_stream()}) {
      stream.duplicate_window = Duration(100);
      const Result<StreamInfo> made = ensure_stream(*connection_, stream);
      ASSERT_TRUE(made) << made.error().message;
    }
  }

  /// Stores a message of another process; returns its sequence.
  uint64_t store(const std::string& subject, const std::string& id) {
    const Json ack =
        client_->publish_acked(subject, fmt::format("Nats-Msg-Id: {}\r\n", id), event_json(id));
    EXPECT_TRUE(ack.contains("seq")) << ack;
    return ack.value("seq", uint64_t{0});
  }

  /// Returns when the broker does not recognize the ids of the messages so far any more: it stores
  /// a message a second time under the same id.
  void pass_window(const std::string& subject = "millrace.events.default.probe") {
    const std::string headers = fmt::format("Nats-Msg-Id: probe-{}\r\n", ++probes_);
    client_->publish_acked(subject, headers, event_json("probe"));
    while (
        client_->publish_acked(subject, headers, event_json("probe")).value("duplicate", false)) {
    }
  }

  TimePoint stamp_of(uint64_t sequence) {
    const Json stored = client_->api("STREAM.MSG.GET.MILLRACE_EVENTS", {{"seq", sequence}});
    return parse_rfc3339(stored["message"]["time"].get<std::string>()).value();
  }

  /// Makes the publisher of a restored store that has this record.
  void restore(RestoredStreams restored = {}, size_t most = 1'000'000) {
    events_.reset();
    publisher_ = std::make_unique<RestoredPublisher>(
        *connection_, sender_, clock_,
        RestoredPublisherSettings{.restored = std::move(restored),
                                  .keep = [this](const RestoredStreams& record) -> Status {
                                    ++kept_;
                                    if (cannot_keep_) return fail("store.io", "no space");
                                    record_ = record;
                                    return {};
                                  },
                                  .most = most});
    events_ = std::make_unique<JetStreamEvents>(
        *connection_, EventStreamSettings{.pull = kPatientPull,
                                          .on_opening = [this](const StreamOpening& opening) {
                                            return publisher_->note(opening);
                                          }});
    sink_ = std::make_unique<CollectingSink>();
    events_->start({}, *sink_);
  }
  /// As restore(); returns when the event stream is opened.
  void restore_and_open(RestoredStreams restored = {}, size_t most = 1'000'000) {
    restore(std::move(restored), most);
    ASSERT_TRUE(sink_->wait_for<StreamOpened>(1));
  }

  /// Publishes a message that the restored store has made. "acked 3", "duplicate 3", or the code of
  /// the error.
  std::string publish(const std::string& subject, const std::string& id) {
    std::promise<Result<PublishAck>> promise;
    std::future<Result<PublishAck>> future = promise.get_future();
    publisher_->publish({subject, {{"Nats-Msg-Id", id}}, event_json(id)},
                        [&](Result<PublishAck> ack) { promise.set_value(std::move(ack)); });
    CHECK(future.wait_for(kPatience) == std::future_status::ready, "no outcome");
    const Result<PublishAck> ack = future.get();
    if (!ack) return ack.error().code;
    return fmt::format("{} {}", ack->duplicate ? "duplicate" : "acked", ack->sequence);
  }

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  SetClock clock_;
  JetStreamPublisher sender_{*connection_, kPatience};
  std::atomic<int> kept_ = 0;
  std::atomic<bool> cannot_keep_ = false;
  RestoredStreams record_;  ///< what was kept last
  std::unique_ptr<RestoredPublisher> publisher_;
  std::unique_ptr<CollectingSink> sink_;
  std::unique_ptr<JetStreamEvents> events_;
  int probes_ = 0;
};

TEST_F(RestoredPublisherTest, DoesNotSendAMessageThatTheStreamHas) {
  store(kRestoredEvent, event_id(1));
  const uint64_t second = store(kRestoredEvent, event_id(2));
  pass_window();
  restore_and_open();
  EXPECT_EQ(publish(kRestoredEvent, event_id(2)), fmt::format("duplicate {}", second));
  EXPECT_EQ(publish(kRestoredEvent, event_id(2)), fmt::format("duplicate {}", second));
  EXPECT_TRUE(publish(kRestoredEvent, event_id(3)).starts_with("acked"));
  EXPECT_EQ(publisher_->counts().noted, 2U);
  EXPECT_EQ(publisher_->counts().recognized, 2U);
  EXPECT_EQ(publisher_->counts().unread, 0U);
}

TEST_F(RestoredPublisherTest, SendsWithoutAnAcknowledgementOnlyWhatTheStreamDoesNotHave) {
  store(kRestoredEvent, event_id(1));
  pass_window();
  restore_and_open();
  const auto acked = [&](int number) {
    return std::stoi(publish(kRestoredEvent, event_id(number)).substr(std::strlen("acked ")));
  };
  const int before = acked(2);
  const auto message = [](int number) {
    return NatsMessage{kRestoredEvent, {{"Nats-Msg-Id", event_id(number)}}, "x"};
  };
  for (const Status& sent : publisher_->publish_unacknowledged({message(1), message(3)})) {
    EXPECT_TRUE(sent);
  }
  EXPECT_EQ(acked(4), before + 2) << "one of both was sent";
  EXPECT_EQ(publisher_->counts().recognized, 1U);
}

TEST_F(RestoredPublisherTest, SendsAMessageUnderAnotherSubjectOrWithoutAnId) {
  store(kRestoredEvent, event_id(1));
  store(kRestoredEvent, "an-id-of-another-client");
  pass_window();
  restore_and_open();
  EXPECT_TRUE(publish("millrace.events.default.u", event_id(1)).starts_with("acked"));
  EXPECT_TRUE(publish(kRestoredEvent, "an-id-of-another-client").starts_with("acked"));
  std::promise<Result<PublishAck>> sent;
  publisher_->publish({kRestoredEvent, {}, event_json("x")},
                      [&](Result<PublishAck> ack) { sent.set_value(std::move(ack)); });
  EXPECT_TRUE(sent.get_future().get());
  EXPECT_EQ(publisher_->counts().recognized, 0U);
}

TEST_F(RestoredPublisherTest, RecognizesDeadLettersAndLifecycleEvents) {
  const std::string letter = "millrace.dlq.default.event%2Emalformed";
  const std::string lifecycle = "millrace.lifecycle.default.order.completed";
  store(letter, "dlq-1-2-ab");
  store(lifecycle, "some-instance-h3");
  pass_window(letter);
  pass_window(lifecycle);
  restore_and_open();
  EXPECT_EQ(publish(letter, "dlq-1-2-ab"), "duplicate 1");
  EXPECT_EQ(publish(lifecycle, "some-instance-h3"), "duplicate 1");
  EXPECT_TRUE(publish(letter, "dlq-1-3-ab").starts_with("acked"));
  EXPECT_TRUE(publish(lifecycle, "some-instance-h4").starts_with("acked"));
}

TEST_F(RestoredPublisherTest, ReadsManyMessagesAndMessagesThatLookLikeAStatusOfTheBroker) {
  constexpr size_t kMany = 3'000;
  for (size_t i = 1; i < kMany; ++i) {
    client_->publish(kRestoredEvent, fmt::format("Nats-Msg-Id: {}\r\n", event_id(i)),
                     event_json("x"), "");
    if (i % 1'000 == 0) client_->publish_with_status(kRestoredEvent, "503", "", "");
  }
  store(kRestoredEvent, event_id(kMany));
  pass_window();
  restore_and_open();
  EXPECT_EQ(publisher_->counts().noted, kMany);
  for (const size_t i : {size_t{1}, size_t{1'000}, size_t{1'001}, size_t{2'500}, kMany}) {
    EXPECT_TRUE(publish(kRestoredEvent, event_id(i)).starts_with("duplicate")) << i;
  }
}

TEST_F(RestoredPublisherTest, ReadsOnlyMessagesThatMayBeNewerThanTheBackup) {
  store(kRestoredEvent, event_id(1));
  pass_window();
  const uint64_t second = store(kRestoredEvent, event_id(2));
  pass_window();
  restore_and_open({.since = stamp_of(second)});
  EXPECT_TRUE(publish(kRestoredEvent, event_id(1)).starts_with("acked"));
  EXPECT_EQ(publish(kRestoredEvent, event_id(2)), fmt::format("duplicate {}", second));
}

TEST_F(RestoredPublisherTest, ReadsOnlyMessagesOfBeforeTheFirstOpeningAtALaterStart) {
  const uint64_t first = store(kRestoredEvent, event_id(1));
  pass_window();
  restore_and_open();
  EXPECT_EQ(record_.opened, clock_.now());
  EXPECT_EQ(record_.ends.size(), 3U);
  const RestoredStreams after_first = record_;
  store(kRestoredEvent, event_id(2));
  pass_window();

  restore_and_open(after_first);
  EXPECT_EQ(kept_, 1) << "the record has not changed";
  EXPECT_EQ(publish(kRestoredEvent, event_id(1)), fmt::format("duplicate {}", first));
  EXPECT_TRUE(publish(kRestoredEvent, event_id(2)).starts_with("acked"));
}

TEST_F(RestoredPublisherTest, SendsAgainWhatItCannotNoteBecauseOfTheLimit) {
  for (size_t i = 1; i <= 3; ++i) store(kRestoredEvent, event_id(i));
  store("millrace.lifecycle.default.order.completed", "some-instance-h1");
  pass_window();
  restore_and_open({}, 2);
  EXPECT_EQ(publish(kRestoredEvent, event_id(2)), "duplicate 2");
  EXPECT_TRUE(publish(kRestoredEvent, event_id(3)).starts_with("acked"));
  EXPECT_EQ(publisher_->counts().noted, 2U);
  EXPECT_EQ(publisher_->counts().unread, 4U) << "an event, two probes and a lifecycle event";
}

TEST_F(RestoredPublisherTest, SendsAgainWhatWasNotedTooLongAgo) {
  store(kRestoredEvent, event_id(1));
  pass_window();
  restore_and_open();
  clock_.set(clock_.now() + kRecognizedFor - Duration(1));
  EXPECT_EQ(publish(kRestoredEvent, event_id(1)), "duplicate 1");
  clock_.set(clock_.now() + Duration(1));
  EXPECT_TRUE(publish(kRestoredEvent, event_id(1)).starts_with("acked"));
  EXPECT_EQ(publisher_->counts().noted, 0U);
}

TEST_F(RestoredPublisherTest, OpensTheEventStreamOnlyWhenTheRecordIsOnDisk) {
  store(kRestoredEvent, event_id(1));
  cannot_keep_ = true;
  restore();
  while (kept_ < 3) std::this_thread::yield();
  EXPECT_EQ(sink_->words(), std::vector<std::string>());
  const Status health = events_->health();
  ASSERT_FALSE(health);
  EXPECT_EQ(health.error().code, "store.io") << "also while the next attempt runs";
  cannot_keep_ = false;
  ASSERT_TRUE(sink_->wait_for<CaughtUp>(1));
  EXPECT_TRUE(events_->health());
  EXPECT_EQ(publisher_->counts().noted, 1U);
}

TEST_F(RestoredPublisherTest, ReadsAgainAfterTheBrokerHasLostTheStream) {
  store(kRestoredEvent, event_id(1));
  restore_and_open();
  EXPECT_EQ(publish(kRestoredEvent, event_id(1)), "duplicate 1");
  client_->api("STREAM.DELETE.MILLRACE_EVENTS");
  ASSERT_TRUE(sink_->wait_for<StreamOpened>(2));
  EXPECT_EQ(publisher_->counts().noted, 0U);
  EXPECT_EQ(publish(kRestoredEvent, event_id(1)), "acked 1") << "the new stream does not have it";
}

TEST_F(RestoredPublisherTest, ReadsAgainAfterTheBrokerHasLostItsNewestMessages) {
  namespace fs = std::filesystem;
  const Folder folder;
  store(kRestoredEvent, event_id(1));
  client_.reset();
  server_.process().stop();
  fs::copy(server_.store(), folder.path() / "store", fs::copy_options::recursive);
  ASSERT_TRUE(server_.process().start_again());
  client_ = server_.client();
  store(kRestoredEvent, event_id(2));
  restore_and_open();
  ASSERT_TRUE(sink_->wait_for<EventInput>(2));
  EXPECT_EQ(publish(kRestoredEvent, event_id(2)), "duplicate 2");

  client_.reset();
  server_.process().stop();
  fs::remove_all(server_.store());
  fs::copy(folder.path() / "store", server_.store(), fs::copy_options::recursive);
  ASSERT_TRUE(server_.process().start_again());
  // The stream may be opened once more before the broker has ended.
  while (publisher_->counts().noted != 1) std::this_thread::yield();
  EXPECT_EQ(publish(kRestoredEvent, event_id(1)), "duplicate 1");
  EXPECT_EQ(publish(kRestoredEvent, event_id(2)), "acked 2") << "the stream does not have it";
}

TEST_F(RestoredPublisherTest, ReadsWhenTheBrokerIsBack) {
  store(kRestoredEvent, event_id(1));
  pass_window();
  client_.reset();
  server_.process().stop();
  restore();
  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(sink_->wait_for<StreamOpened>(1));
  EXPECT_EQ(publish(kRestoredEvent, event_id(1)), "duplicate 1");
}

TEST_F(RestoredPublisherTest, NotesNothingIfTheStreamsAreEmpty) {
  restore_and_open({.since = clock_.now()});
  EXPECT_EQ(publisher_->counts().noted, 0U);
  EXPECT_EQ(record_.ends.size(), 3U);
  EXPECT_EQ(publish(kRestoredEvent, event_id(1)), "acked 1");
}

}  // namespace
}  // namespace millrace
