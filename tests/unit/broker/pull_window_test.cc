#include "broker/pull_window.h"

#include <deque>
#include <numeric>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(PullWindow, ReadsAckSubjectsWithAndWithoutAJetStreamDomain) {
  const DeliveryNumbers numbers{22, 21, 1700000000123456789, 5};
  EXPECT_EQ(parse_ack_subject("$JS.ACK.MILLRACE_EVENTS.uoC1.1.22.21.1700000000123456789.5"),
            numbers);
  EXPECT_EQ(parse_ack_subject("$JS.ACK.hub.Ac3.MILLRACE_EVENTS.uoC1.1.22.21.1700000000123456789.5"),
            numbers);
  EXPECT_EQ(
      parse_ack_subject("$JS.ACK._.Ac3.MILLRACE_EVENTS.uoC1.1.22.21.1700000000123456789.5.rnd"),
      numbers);
}

TEST(PullWindow, ReadsTheConsumerFromAnAckSubject) {
  EXPECT_EQ(consumer_of_ack("$JS.ACK.MILLRACE_TASKS.shop+charge.1.22.21.17.5"), "shop+charge");
  EXPECT_EQ(consumer_of_ack("$JS.ACK.hub.Ac3.MILLRACE_TASKS.shop+charge.1.22.21.17.5"),
            "shop+charge");
  EXPECT_EQ(consumer_of_ack("$JS.ACK.MILLRACE_TASKS.shop+charge"), "");
}

TEST(PullWindow, RefusesMalformedAckSubjects) {
  for (const char* subject :
       {"", "_INBOX.x", "$JS.ACK.", "$JS.ACK.E.c.1.22.21.17", "$JS.ACK.E.c.1.22.21.17.5.6",
        "$JS.ACK.E.c.1.x.21.17.5", "$JS.ACK.E.c.1.22..17.5", "$JS.ACK.E.c.1.22.21.17.-5",
        "$JS.ACK.a.b.c.d.e.f.g.h.i.j.k", "$JS.ACK.E.c.1.18446744073709551616.21.17.5"}) {
    EXPECT_EQ(parse_ack_subject(subject), std::nullopt) << subject;
  }
}

TEST(PullWindow, KeepsAFixedNumberOfPullRequestsOpen) {
  PullWindow window(2, 3);
  EXPECT_TRUE(window.take_request());
  EXPECT_TRUE(window.take_request());
  EXPECT_FALSE(window.take_request());
  window.count();
  window.count();
  EXPECT_FALSE(window.take_request());
  window.count();
  EXPECT_TRUE(window.take_request()) << "one request is filled";
  window.count();
  window.ended(2);
  EXPECT_TRUE(window.take_request()) << "the messages that an ended request had left will not come";
  EXPECT_FALSE(window.take_request());
  window.ended(77);
  EXPECT_EQ(window.open(), 0u) << "the number of open requests never falls below 0";
  window.count();
  EXPECT_EQ(window.open(), 0u);
}

/// The broker distributes messages over the open requests. The broker ends a request that is filled
/// or has expired, and reports how many messages the request had left.
TEST(PullWindow, CountsOpenRequestsLikeABrokerThatDistributesMessagesOverThem) {
  constexpr size_t kBatch = 8;
  PullWindow window(3, kBatch);
  std::deque<size_t> at_server;
  for (size_t step = 0; step < 10'000; ++step) {
    while (window.take_request()) at_server.push_back(kBatch);
    ASSERT_LE(at_server.size(), 8u);
    if (step % 7 == 3) {  // the oldest request expires
      window.ended(at_server.front());
      at_server.pop_front();
      continue;
    }
    window.count();
    const size_t left = at_server.front() - 1;
    at_server.pop_front();
    if (left > 0) {
      at_server.push_back(left);
    } else {
      window.ended(0);
    }
    ASSERT_EQ(window.open(), std::accumulate(at_server.begin(), at_server.end(), size_t{0}));
  }
}

}  // namespace
}  // namespace millrace
