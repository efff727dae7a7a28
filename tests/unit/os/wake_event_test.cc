#include "os/wake_event.h"

#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "tests/support/few_descriptors.h"

namespace millrace {
namespace {

/// Whether poll() finds the descriptor readable.
bool is_set(int fd) {
  pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
}

TEST(WakeEvent, IsReadableFromTheFirstCallOfSetUntilItIsCleared) {
  WakeEvent event;
  const int fd = event.fd();
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(is_set(fd));
  event.set();
  EXPECT_TRUE(is_set(fd));
  EXPECT_TRUE(is_set(fd)) << "poll() does not clear the event";
  event.clear();
  EXPECT_FALSE(is_set(fd));
  event.set();
  EXPECT_TRUE(is_set(fd));
}

TEST(WakeEvent, IsClearedByOneCallOfClearAfterSeveralCallsOfSet) {
  WakeEvent event;
  const int fd = event.fd();
  for (int i = 0; i < 3; ++i) event.set();
  event.clear();
  EXPECT_FALSE(is_set(fd));
}

TEST(WakeEvent, MayBeClearedWithoutBeingSet) {
  WakeEvent event;
  event.clear();
  EXPECT_FALSE(is_set(event.fd()));
  event.clear();  // does not block on an empty descriptor
  EXPECT_FALSE(is_set(event.fd()));
}

TEST(WakeEvent, IsReadableIfItWasSetBeforeItHadADescriptor) {
  WakeEvent event;
  event.set();
  EXPECT_TRUE(is_set(event.fd()));
  WakeEvent cleared;
  cleared.set();
  cleared.clear();
  EXPECT_FALSE(is_set(cleared.fd()));
}

TEST(WakeEvent, HasOneDescriptorThatProgramsDoNotInherit) {
  WakeEvent event;
  const int fd = event.fd();
  EXPECT_EQ(event.fd(), fd);
  EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
}

TEST(WakeEvent, GetsItsDescriptorLaterIfNoDescriptorIsFreeAtFirst) {
  WakeEvent event;
  {
    const FewDescriptors none(0);
    EXPECT_EQ(event.fd(), -1);
    event.set();
    event.clear();
    event.set();
    EXPECT_EQ(event.fd(), -1);
  }
  ASSERT_GE(event.fd(), 0);
  EXPECT_TRUE(is_set(event.fd()));
}

TEST(WakeEvent, WakesAThreadThatSleepsInPoll) {
  WakeEvent event;
  const int fd = event.fd();
  std::thread other([&] { event.set(); });
  pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&one, 1, -1), 1);
  other.join();
}

TEST(WakeEvent, ClosesItsDescriptorWhenItIsDestroyed) {
  int fd = -1;
  {
    WakeEvent event;
    fd = event.fd();
    ASSERT_GE(::fcntl(fd, F_GETFD), 0);
  }
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

}  // namespace
}  // namespace millrace
