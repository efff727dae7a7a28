#include "broker/listening.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/nats_fixture.h"
#include "tests/unit/broker/failing_library.h"

#if defined(__SANITIZE_ADDRESS__)
/// If nats.c does not report the last call of a subscription, Listening leaks the objects that a
/// later call might use.
extern "C" const char* __lsan_default_suppressions() { return "leak:millrace::Listening::"; }
#endif

namespace millrace {
namespace {

using ListeningTest = NatsFixture;

/// nats.c 3.4.1 reads freed memory and aborts if a subscription is freed at the wrong moment
/// (Connection::retire). Without protection this happens once in some hundred rounds.
TEST_F(ListeningTest, EndsSafelyWhileMessagesArrive) {
  constexpr int kRounds = 2'000;
  std::atomic<bool> enough = false;
  std::thread flood([&, client = server_.client()] {
    while (!enough) {
      for (int i = 0; i < 50; ++i) client->publish("flood", "x");
      client->flush();
    }
  });
  const std::unique_ptr<Connection> connection = server_.connect();
  std::atomic<int> rounds_with_messages = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> received = 0;
    const Listening listening(*connection, "flood", [&](NatsMsgHandle&) {
      if (received++ == 0) ++rounds_with_messages;
      received.notify_all();
    });
    ASSERT_EQ(listening.status(), NATS_OK);
    received.wait(0);
  }
  enough = true;
  flood.join();
  EXPECT_EQ(rounds_with_messages, kRounds);
}

TEST_F(ListeningTest, RunsNoCallbackAfterItsEndIfNatsCDoesNotReportTheEnd) {
  const std::unique_ptr<Connection> connection = server_.connect();
  std::atomic<bool> enough = false;
  std::thread flood([&, client = server_.client()] {
    while (!enough) {
      for (int i = 0; i < 50; ++i) client->publish("flood", "x");
      client->flush();
    }
  });
  for (int round = 0; round < 50; ++round) {
    auto alive = std::make_unique<std::atomic<bool>>(true);
    FailingLibrary::natsSubscription_SetOnCompleteCB = 1;
    auto listening = std::make_unique<Listening>(
        *connection, "flood", [&alive](NatsMsgHandle&) { ASSERT_TRUE(alive && *alive); });
    EXPECT_NE(listening->status(), NATS_OK);
    listening.reset();
    alive.reset();
  }
  enough = true;
  flood.join();
}

TEST_F(ListeningTest, EndsWhileTheBrokerDoesNotRun) {
  const std::unique_ptr<Connection> connection = server_.connect();
  auto listening = std::make_unique<Listening>(
      *connection, "x", [](NatsMsgHandle&) { ADD_FAILURE() << "no message is published yet"; });
  server_.process().kill();
  listening.reset();                 // returns without a round trip
  while (connection->connected()) {  // until nats.c notices the end of the broker
  }
  ASSERT_TRUE(server_.process().start_again());
  ASSERT_TRUE(connection->wait_until_connected(kPatience));
  const std::unique_ptr<RawNatsClient> client = server_.client();
  client->publish("x", "");
  client->flush();
  EXPECT_TRUE(connection->api("INFO", Json::object()));
}

}  // namespace
}  // namespace millrace
