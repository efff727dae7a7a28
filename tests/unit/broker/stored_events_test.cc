// JetStreamStoredEvents: messages of a real event stream, one at a time and in ranges.
#include "broker/stored_events.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "broker/stream_headers.h"
#include "broker/streams.h"
#include "tests/support/nats_fixture.h"
#include "tests/support/tcp_proxy.h"

namespace millrace {
namespace {

using Sequences = std::vector<uint64_t>;

class StoredEventsTest : public NatsFixture {
 protected:
  void SetUp() override { ASSERT_TRUE(ensure_stream(*connection_, events_stream())); }

  StoredEvents::Page read(const StoredEvents::Range& range) {
    Result<StoredEvents::Page> page = events_.read(range);
    CHECK(page.has_value(), "{}", page.error().message);
    return *std::move(page);
  }
  static Sequences sequences(const StoredEvents::Page& page) {
    Sequences found;
    for (const StoredEvent& event : page.events) found.push_back(event.sequence);
    return found;
  }

  std::unique_ptr<Connection> connection_ = server_.connect();
  std::unique_ptr<RawNatsClient> client_ = server_.client();
  JetStreamStoredEvents events_{*connection_, StreamOptions()};
};

TEST_F(StoredEventsTest, ReadOneMessageAsItIsStored) {
  client_->publish_acked("millrace.events.shop%2Ea.paid", "b: 2\r\na: \r\n", "no event");
  const Result<StoredEvent> event = events_.get(1);
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->ns, "shop.a");
  EXPECT_EQ(event->sequence, 1U);
  EXPECT_EQ(event->message.subject, "millrace.events.shop%2Ea.paid");
  EXPECT_EQ(event->message.headers, (Headers{{"b", "2"}, {"a", ""}}));
  EXPECT_EQ(event->message.data, "no event");
  EXPECT_GT(event->stamped, TimePoint());
  for (const uint64_t missing : {0U, 2U}) {
    EXPECT_EQ(events_.get(missing).error().code, "event.not_found") << missing;
  }
}

TEST_F(StoredEventsTest, SpanTheStream) {
  const Result<StreamSpan> empty = events_.span();
  ASSERT_TRUE(empty);
  EXPECT_GT(empty->created, 0);
  EXPECT_EQ(empty->first, empty->last + 1);
  for (int i = 0; i < 3; ++i) client_->publish_acked("millrace.events.a.t", "", "x");
  const Result<StreamSpan> filled = events_.span();
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->created, empty->created);
  EXPECT_EQ(filled->first, 1U);
  EXPECT_EQ(filled->last, 3U);
}

TEST_F(StoredEventsTest, ReadTheRangeOfOneNamespaceInPages) {
  EXPECT_TRUE(read({.ns = "a"}).events.empty());
  for (int i = 0; i < 4; ++i) {  // a: 1, 3, 5, 7
    client_->publish_acked("millrace.events.a.t", "", "a");
    client_->publish_acked("millrace.events.ab.t", "", "b");
  }
  EXPECT_EQ(sequences(read({.ns = "a"})), (Sequences{1, 3, 5, 7}));
  EXPECT_EQ(read({.ns = "a"}).next, 0U);
  EXPECT_EQ(sequences(read({.ns = "a", .first = 2, .last = 5})), (Sequences{3, 5}));
  EXPECT_EQ(sequences(read({.ns = "a", .first = 8})), Sequences());
  EXPECT_EQ(sequences(read({.ns = "a", .first = 9})), Sequences());
  EXPECT_EQ(sequences(read({.ns = "none"})), Sequences());

  const StoredEvents::Page first = read({.ns = "a", .limit = 2});
  EXPECT_EQ(sequences(first), (Sequences{1, 3}));
  EXPECT_EQ(first.next, 4U);
  const StoredEvents::Page second = read({.ns = "a", .first = first.next, .limit = 2});
  EXPECT_EQ(sequences(second), (Sequences{5, 7}));
  for (const StoredEvent& event : second.events) {
    EXPECT_EQ(event.ns, "a");
    EXPECT_EQ(event.message.data, "a");
  }
}

TEST_F(StoredEventsTest, ReadFromATimeOn) {
  client_->publish_acked("millrace.events.a.t", "", "old");
  const TimePoint old = events_.get(1).value().stamped;
  TimePoint young = old;
  uint64_t last = 1;
  while (young == old) {  // until the broker's clock has moved by a millisecond
    client_->publish_acked("millrace.events.a.t", "", "young");
    young = events_.get(++last).value().stamped;
  }
  const Sequences newest = {last};
  EXPECT_EQ(sequences(read({.ns = "a", .since = young})), newest);
  EXPECT_EQ(sequences(read({.ns = "a", .first = 1, .since = young})), newest);
  EXPECT_EQ(sequences(read({.ns = "a", .first = last, .since = old})), newest);
  EXPECT_EQ(sequences(read({.ns = "a", .since = young + std::chrono::hours(1)})), Sequences());
  EXPECT_EQ(read({.ns = "a", .since = old}).events.size(), last);
}

// nats-server 2.9 sometimes says that messages follow which are not there, and then sends nothing
// but heartbeats. Here the first one would come after the time limit of the test.
TEST_F(StoredEventsTest, WaitForNoHeartbeatIfTheBrokerCountsMessagesThatAreNotThere) {
  for (int i = 0; i < 2; ++i) client_->publish_acked("millrace.events.a.t", "", "x");
  client_->publish_acked("millrace.events.a.t", "", "last");
  client_->publish_acked("millrace.events.b.t", "", "x");
  TcpProxy proxy(server_.port());
  const auto connection = connect_to(proxy.nats_url());
  HeaderRange range{.stream = events_stream(),
                    .info = *find_stream(*connection, events_stream()),
                    .since = {},
                    .last = 4,
                    .whole = true,
                    .pull = {.heartbeat = std::chrono::hours(1), .expires = std::chrono::hours(3)}};
  range.stream.subjects = "millrace.events.a.>";
  proxy.spoil("last", ".0 4\r\nlast", ".7 4\r\nlast");
  Sequences seen;
  uint64_t following = 0;
  const Status done = each_header(
      *connection, range, [] { return false; },
      [&](const StoredHeaders& message) {
        seen.push_back(message.sequence);
        following = message.following;
        return true;
      });
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(seen, (Sequences{1, 2, 3}));
  EXPECT_EQ(following, 7U) << "the broker counted wrongly";
}

TEST_F(StoredEventsTest, ReadMoreMessagesThanOneRequestAsksFor) {
  constexpr uint64_t kCount = 600;
  for (uint64_t i = 0; i < kCount; ++i) client_->publish_acked("millrace.events.a.t", "", "x");
  const StoredEvents::Page page = read({.ns = "a"});
  ASSERT_EQ(page.events.size(), kCount);
  EXPECT_EQ(page.next, 0U);
  for (uint64_t i = 0; i < kCount; ++i) EXPECT_EQ(page.events[i].sequence, i + 1);
}

TEST_F(StoredEventsTest, EndAPageAfterItsBytes) {
  const std::string half(size_t{600} * 1024, 'x');
  for (int i = 0; i < 3; ++i) client_->publish_acked("millrace.events.a.t", "", half);
  const StoredEvents::Page page = read({.ns = "a"});
  EXPECT_EQ(sequences(page), (Sequences{1, 2}));
  EXPECT_EQ(page.next, 3U);
}

TEST_F(StoredEventsTest, KeepHeadersThatTheClientLibraryMisreads) {
  client_->publish_acked("millrace.events.a.t", "ce-a: \r\nce-b: 1\r\n", "x");
  const StoredEvents::Page page = read({.ns = "a"});
  ASSERT_EQ(page.events.size(), 1U);
  EXPECT_EQ(page.events[0].message.headers, (Headers{{"ce-a", ""}, {"ce-b", "1"}}));
}

}  // namespace
}  // namespace millrace
