#include "functions/container_inbox.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/support/few_descriptors.h"

namespace millrace {
namespace {

bool is_readable(int fd) {
  pollfd state{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&state, 1, 0) > 0;
}

TEST(ContainerInboxTest, WakesWhoWaitsUntilAllIsTaken) {
  ContainerInbox inbox;
  EXPECT_FALSE(is_readable(inbox.fd()));
  inbox.put(StopContainerTask{});
  inbox.put(StopContainerTask{});
  EXPECT_TRUE(is_readable(inbox.fd()));
  EXPECT_EQ(inbox.take()->size(), 2u);
  EXPECT_FALSE(is_readable(inbox.fd()));
  inbox.close();
  EXPECT_TRUE(is_readable(inbox.fd()));
  EXPECT_FALSE(inbox.take());
}

TEST(ContainerInboxTest, LosesNothingWhileNoDescriptorIsLeft) {
  ContainerInbox inbox;
  {
    const FewDescriptors none(0);
    EXPECT_EQ(inbox.fd(), -1);
    inbox.put(StopContainerTask{});
    EXPECT_EQ(inbox.take()->size(), 1u);
    inbox.put(StopContainerTask{});
  }
  EXPECT_TRUE(is_readable(inbox.fd())) << "what came before there was a descriptor counts";
  EXPECT_EQ(inbox.take()->size(), 1u);
}

}  // namespace
}  // namespace millrace
