// Time is moved by hand: a connection has to stay open for a tenth of a second.
#include "functions/ready_probe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/few_descriptors.h"
#include "tests/support/process.h"
#include "tests/unit/functions/port_listener.h"

namespace millrace {
namespace {

constexpr Duration kMoment{100};

TEST(ReadyProbeTest, NobodyListens) {
  ReadyProbe probe;
  EXPECT_NE(probe.port(), 0);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(probe.look(i * kMoment));
}

TEST(ReadyProbeTest, WithoutADescriptorThereIsNoPortAndNobodyListens) {
  const FewDescriptors none(0);
  ReadyProbe probe;
  EXPECT_EQ(probe.port(), 0);
  EXPECT_FALSE(probe.look(kMoment));
}

TEST(ReadyProbeTest, WhoeverKeepsAConnectionListens) {
  ReadyProbe probe;
  EXPECT_FALSE(probe.look(Duration(0)));
  PortListener listener(probe.port());
  Duration now = kMoment;
  EXPECT_TRUE(eventually([&] { return probe.look(now += kMoment); }));
  // It is hung up then: one that serves one connection after the other waits for its end.
  const Descriptor peer = listener.take();
  char byte = 0;
  EXPECT_EQ(::read(peer.fd(), &byte, 1), 0);
}

TEST(ReadyProbeTest, WhoeverClosesItAtOnceDoesNotYet) {
  ReadyProbe probe;
  PortListener listener(probe.port());
  Duration now{0};
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(probe.look(now));
    listener.take();
    now += kMoment;
    EXPECT_FALSE(probe.look(now));  // sees that it is closed
    now += kMoment;
  }
  EXPECT_TRUE(eventually([&] { return probe.look(now += kMoment); }));
}

TEST(ReadyProbeTest, TwoHoldTwoPorts) {
  const ReadyProbe first;
  const ReadyProbe second;
  EXPECT_NE(first.port(), second.port());
}

}  // namespace
}  // namespace millrace
