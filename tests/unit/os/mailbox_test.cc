#include "os/mailbox.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "tests/support/few_descriptors.h"
#include "tests/support/patience.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool is_readable(int fd) {
  pollfd state{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&state, 1, 0) > 0;
}

TEST(Mailbox, WakesItsThreadOnceForAllWaitingMessages) {
  int wakes = 0;
  Mailbox<std::string> mailbox([&] { ++wakes; });
  mailbox.put("a");
  mailbox.put("b");
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(mailbox.size(), 2u);
  EXPECT_THAT(*mailbox.take(), ElementsAre("a", "b"));
  EXPECT_THAT(*mailbox.take(), IsEmpty());
  mailbox.put("c");
  EXPECT_EQ(wakes, 2);
}

TEST(Mailbox, DropsWaitingAndLaterMessagesWhenItIsClosed) {
  int wakes = 0;
  Mailbox<std::string> mailbox([&] { ++wakes; });
  mailbox.put("a");
  mailbox.close();
  EXPECT_EQ(wakes, 2);
  mailbox.put("b");
  EXPECT_EQ(mailbox.take(), std::nullopt);
}

TEST(PolledMailbox, LosesNoMessageWhenManyThreadsPutMessages) {
  constexpr int kThreads = 4;
  constexpr int kEach = 1'000;
  PolledMailbox<int> mailbox;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int message = 0; message < kEach; ++message) mailbox.put(message);
    });
  }
  size_t taken = 0;
  while (taken < size_t{kThreads} * kEach) {
    pollfd state{.fd = mailbox.fd(), .events = POLLIN, .revents = 0};
    ASSERT_GT(::poll(&state, 1, static_cast<int>(kPatience.count())), 0) << taken;
    taken += mailbox.take()->size();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(*mailbox.take(), IsEmpty());
}

TEST(PolledMailbox, HasAReadableDescriptorWhileItHasMessagesAndAfterItIsClosed) {
  PolledMailbox<int> mailbox;
  EXPECT_FALSE(is_readable(mailbox.fd()));
  mailbox.put(1);
  mailbox.put(2);
  EXPECT_TRUE(is_readable(mailbox.fd()));
  EXPECT_THAT(*mailbox.take(), ElementsAre(1, 2));
  EXPECT_FALSE(is_readable(mailbox.fd()));
  mailbox.close();
  EXPECT_TRUE(is_readable(mailbox.fd()));
  EXPECT_EQ(mailbox.take(), std::nullopt);
}

TEST(PolledMailbox, LosesNoMessageWithoutAFreeDescriptor) {
  PolledMailbox<int> mailbox;
  {
    const FewDescriptors none(0);
    EXPECT_EQ(mailbox.fd(), -1);
    mailbox.put(1);
    EXPECT_THAT(*mailbox.take(), ElementsAre(1));
    mailbox.put(2);
  }
  EXPECT_TRUE(is_readable(mailbox.fd()))
      << "a message that was put before the descriptor existed makes it readable";
  EXPECT_THAT(*mailbox.take(), ElementsAre(2));
}

}  // namespace
}  // namespace millrace
