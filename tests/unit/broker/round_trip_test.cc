#include "broker/round_trip.h"

#include <csignal>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "broker/connection.h"
#include "tests/support/nats_fixture.h"

namespace millrace {
namespace {

using RoundTripTest = NatsFixture;

/// Closes the sending side of each socket of this process that is connected to `port`. Returns the
/// number of such sockets.
int stop_sending_to(uint16_t port) {
  constexpr int kMostSockets = 1'024;
  int closed = 0;
  for (int fd = 0; fd < kMostSockets; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (peer.sin_family != AF_INET || ntohs(peer.sin_port) != port) continue;
    if (::shutdown(fd, SHUT_WR) == 0) ++closed;
  }
  return closed;
}

/// Stops a child process until SIGCONT, and waits until it has stopped.
bool suspend(int pid) {
  siginfo_t info{};
  return ::kill(pid, SIGSTOP) == 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT) == 0;
}

TEST_F(RoundTripTest, SucceedsIfTheServerAnswers) {
  const std::unique_ptr<Connection> connection = server_.connect();
  EXPECT_EQ(round_trip(connection->handle().get(), kPatience), NATS_OK);
}

TEST_F(RoundTripTest, FailsIfThePingCannotBeWritten) {
  const std::unique_ptr<Connection> connection = server_.connect();
  // A server that is stopped does not close its side, so nats.c does not notice the loss.
  ASSERT_TRUE(suspend(server_.process().pid()));
  ASSERT_EQ(stop_sending_to(server_.port()), 1);
  EXPECT_EQ(round_trip(connection->handle().get(), kPatience), NATS_IO_ERROR);
  ASSERT_EQ(::kill(server_.process().pid(), SIGCONT), 0);
}

TEST_F(RoundTripTest, FailsIfTheServerDoesNotAnswerInTime) {
  const std::unique_ptr<Connection> connection = server_.connect();
  ASSERT_TRUE(suspend(server_.process().pid()));
  EXPECT_EQ(round_trip(connection->handle().get(), Duration(50)), NATS_TIMEOUT);
  ASSERT_EQ(::kill(server_.process().pid(), SIGCONT), 0);
}

}  // namespace
}  // namespace millrace
