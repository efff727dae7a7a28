#include "orchestrator/batch/crash_note.h"

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/folder.h"

namespace millrace {
namespace {

// Recurses until the stack overflows. The result depends on each call, so the compiler cannot
// remove a call.
[[gnu::noinline]] int deepen(volatile int* depth) {
  volatile char frame[4096] = {};
  *depth = *depth + 1;
  frame[0] = static_cast<char>(*depth);
  return *depth > 0 ? deepen(depth) + frame[0] : 0;
}

TEST(CrashNoteTest, RecordsACrashByStackOverflow) {
  for (const bool is_main : {true, false}) {
    const Folder folder;
    EXPECT_EXIT(
        {
          CrashNote note;
          if (!note.open(folder.path())) std::abort();
          note.begin(1);
          CrashNote::note_crashes();
          volatile int depth = 0;
          if (is_main) deepen(&depth);
          std::thread([&] {
            const SignalStack stack;
            deepen(&depth);
          }).join();
        },
        testing::KilledBySignal(SIGSEGV), "");
    const auto left = CrashNote::read(folder.path());
    ASSERT_TRUE(left && *left);
    EXPECT_TRUE((*left)->crashed) << (is_main ? "the main thread" : "another thread");
  }
}

}  // namespace
}  // namespace millrace
