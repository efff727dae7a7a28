#include "orchestrator/batch/crash_note.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/folder.h"

namespace millrace {
namespace {

// Uses up any stack; what it returns depends on each call, so that none is left out.
[[gnu::noinline]] int deepen(volatile int* depth) {
  volatile char frame[4096] = {};
  *depth = *depth + 1;
  frame[0] = static_cast<char>(*depth);
  return *depth > 0 ? deepen(depth) + frame[0] : 0;
}

TEST(InHandTest, NotesThatTheProcessDiedOfAStackThatWasUsedUp) {
  for (const bool is_main : {true, false}) {
    const Folder folder;
    EXPECT_EXIT(
        {
          InHand note;
          if (!note.open(folder.path())) std::abort();
          note.begin(1);
          InHand::note_crashes();
          volatile int depth = 0;
          if (is_main) deepen(&depth);
          std::thread([&] {
            const SignalStack stack;
            deepen(&depth);
          }).join();
        },
        testing::KilledBySignal(SIGSEGV), "");
    const auto left = InHand::read(folder.path());
    ASSERT_TRUE(left && *left);
    EXPECT_TRUE((*left)->crashed) << (is_main ? "the main thread" : "another thread");
  }
}

}  // namespace
}  // namespace millrace
