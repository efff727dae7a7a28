// The class Process of the tests, whose standard input is kept open.
#include <csignal>

#include <gtest/gtest.h>

#include "tests/support/process.h"

namespace millrace {
namespace {

TEST(WrittenProcess, ReadsWhatIsWrittenWhileItRunsAndRefusesItAfterItsEnd) {
  Process process({.command = {"/bin/sh", "-c", "while read word; do echo got $word; done"},
                   .environment = {},
                   .input = "first\n",
                   .keeps_input_open = true});
  EXPECT_TRUE(eventually([&] { return process.output() == "got first\n"; }));
  EXPECT_TRUE(process.write("second\nthird\n"));
  EXPECT_TRUE(eventually([&] { return process.output() == "got first\ngot second\ngot third\n"; }));
  process.signal(SIGKILL);
  EXPECT_EQ(process.wait(), 128 + SIGKILL);
  EXPECT_FALSE(process.write("fourth\n"));
}

}  // namespace
}  // namespace millrace
