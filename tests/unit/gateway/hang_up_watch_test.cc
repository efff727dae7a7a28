#include "gateway/hang_up_watch.h"

#include <vector>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/descriptor.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HangUpWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(watch_.open());
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    here_ = Descriptor(ends[0]);
    peer_ = Descriptor(ends[1]);
  }

  void run_until_reported(size_t count) {
    while (reported_.size() < count) io_.run_one();
  }

  boost::asio::io_context io_;
  std::vector<uint64_t> reported_;
  HangUpWatch watch_{io_, [this](uint64_t id) { reported_.push_back(id); }};
  Descriptor here_;
  Descriptor peer_;
};

TEST_F(HangUpWatchTest, ReportsThatThePeerHasClosedWhileAByteWaits) {
  watch_.add(here_.fd(), 7);
  ASSERT_EQ(::send(peer_.fd(), "x", 1, 0), 1);
  io_.poll();
  EXPECT_THAT(reported_, IsEmpty()) << "a byte is no hang-up";
  peer_.reset();
  run_until_reported(1);
  EXPECT_THAT(reported_, ElementsAre(7));
}

TEST_F(HangUpWatchTest, ReportsAHangUpOnceForEachTimeThatTheSocketIsAdded) {
  watch_.add(here_.fd(), 7);
  ::shutdown(peer_.fd(), SHUT_WR);
  run_until_reported(1);
  io_.poll();
  EXPECT_THAT(reported_, ElementsAre(7));
  watch_.add(here_.fd(), 8);
  run_until_reported(2);
  EXPECT_THAT(reported_, ElementsAre(7, 8)) << "the peer had closed before";
}

TEST_F(HangUpWatchTest, ReportsNothingOfASocketThatIsClosed) {
  watch_.add(here_.fd(), 7);
  here_.reset();
  peer_.reset();
  io_.poll();
  EXPECT_THAT(reported_, IsEmpty());
}

TEST_F(HangUpWatchTest, LetsItsContextEndWhenItIsClosed) {
  watch_.add(here_.fd(), 7);
  watch_.close();
  io_.run();
  peer_.reset();
  watch_.add(here_.fd(), 7);
  EXPECT_THAT(reported_, IsEmpty());
}

}  // namespace
}  // namespace millrace
