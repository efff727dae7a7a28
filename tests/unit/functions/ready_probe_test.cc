// ReadyProbe: a container is ready once a connection to its port stays open for a tenth of a
// second. The test sets the time itself.
#include "functions/ready_probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/few_descriptors.h"
#include "tests/support/process.h"
#include "tests/unit/functions/port_listener.h"

namespace millrace {
namespace {

constexpr Duration kMoment{100};

TEST(ReadyProbe, IsNotReadyWhileNoProcessListens) {
  ReadyProbe probe;
  EXPECT_NE(probe.port(), 0);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(probe.poll(i * kMoment));
}

TEST(ReadyProbe, HasNoPortIfNoFileDescriptorIsFree) {
  const FewDescriptors none(0);
  ReadyProbe probe;
  EXPECT_EQ(probe.port(), 0);
  EXPECT_FALSE(probe.poll(kMoment));
}

TEST(ReadyProbe, IsReadyWhenAConnectionStaysOpen) {
  ReadyProbe probe;
  EXPECT_FALSE(probe.poll(Duration(0)));
  PortListener listener(probe.port());
  Duration now = kMoment;
  EXPECT_TRUE(eventually([&] { return probe.poll(now += kMoment); }));
  // The probe closes its connection, because a program that serves one connection at a time would
  // otherwise serve no call.
  const Descriptor peer = listener.take();
  char byte = 0;
  EXPECT_EQ(::read(peer.fd(), &byte, 1), 0);
}

TEST(ReadyProbe, IsNotReadyWhileConnectionsAreClosedAtOnce) {
  ReadyProbe probe;
  PortListener listener(probe.port());
  Duration now{0};
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(probe.poll(now));
    listener.take();
    now += kMoment;
    EXPECT_FALSE(probe.poll(now));  // notices that the connection is closed
    now += kMoment;
  }
  EXPECT_TRUE(eventually([&] { return probe.poll(now += kMoment); }));
}

TEST(ReadyProbe, TakesAnotherPortThanEarlierProbes) {
  const ReadyProbe first;
  const ReadyProbe second;
  EXPECT_NE(first.port(), second.port());
}

}  // namespace
}  // namespace millrace
