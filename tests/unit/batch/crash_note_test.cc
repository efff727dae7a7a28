#include "orchestrator/batch/crash_note.h"

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "orchestrator/batch/crash_note_file.h"
#include "orchestrator/store/rows/crash_row.h"
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
          CrashNoteFile::note_crashes();
          volatile int depth = 0;
          if (is_main) deepen(&depth);
          std::thread([&] {
            const SignalStack stack;
            deepen(&depth);
          }).join();
        },
        testing::KilledBySignal(SIGSEGV), "");
    const auto left = CrashNoteFile::read(folder.path());
    ASSERT_TRUE(left && *left);
    EXPECT_TRUE((*left)->crashed) << (is_main ? "the main thread" : "another thread");
  }
}

TEST(CrashNoteTest, IsNotReadByTheNextProcessAfterItWasDiscarded) {
  const Folder folder;
  EXPECT_TRUE(CrashNoteFile::discard(folder.path())) << "there is none";
  {
    CrashNote note;
    ASSERT_TRUE(note.open(folder.path()));
    note.begin(3);
  }
  ASSERT_TRUE(CrashNoteFile::read(folder.path()).value());
  ASSERT_TRUE(CrashNoteFile::discard(folder.path()));
  EXPECT_EQ(CrashNoteFile::read(folder.path()).value().has_value(), false);
}

constexpr NotedInstance kNoted{.ns = NamespaceNumber(1), .id = {{1}}};
constexpr NotedInstance kNotedLater{.ns = NamespaceNumber(1), .id = {{2}}};

/// A crash note in a row.
class CrashNoteInARow : public testing::Test {
 protected:
  CrashNoteInARow() { begin_process(); }

  /// The process dies, and the next one reads its note.
  void begin_process() {
    note_.reset();
    tx_.reset();
    environment_.reset();
    environment_ = Environment::open(folder_.path()).value();
    tx_.emplace(*environment_);
    note_.emplace();
    EXPECT_TRUE(note_->open_row(*tx_));
  }
  /// What the next process would read.
  std::optional<NotedInput> row() {
    return read_crash_row(Snapshot::take(*environment_).value()).value();
  }
  bool has_batch() { return Snapshot::take(*environment_)->get(Table::kLive, "batch").has_value(); }
  /// A process leaves that note, and the next one begins.
  void leave(const NotedInput& left) {
    tx_->replay(crash_row_writes(left));
    ASSERT_TRUE(tx_->commit());
    begin_process();
  }
  Status commit() {
    note_->add_removal(*tx_);
    TRY(tx_->commit());
    note_->batch_committed();
    return {};
  }

  Folder folder_;
  std::unique_ptr<Environment> environment_;
  std::optional<Transaction> tx_;
  std::optional<CrashNote> note_;
};

TEST_F(CrashNoteInARow, IsCommittedBeforeItsInputAndRemovedWithIt) {
  note_->begin_careful(1);
  EXPECT_EQ(row(), std::nullopt);
  tx_->put(Table::kLive, "batch", "a");
  note_->take_event(7);
  EXPECT_EQ(row(), (NotedInput{.deaths = 1, .sequence = 7}));
  note_->stepping(kNoted);
  EXPECT_EQ(row(), (NotedInput{.deaths = 1, .sequence = 7, .instance = kNoted}));
  EXPECT_FALSE(has_batch());
  ASSERT_TRUE(commit());
  note_->end();
  EXPECT_EQ(row(), std::nullopt);
  EXPECT_TRUE(has_batch());
  note_->add_removal(*tx_);
  EXPECT_TRUE(tx_->write_set().empty()) << "there is no row to remove any more";
}

TEST_F(CrashNoteInARow, IsNotWrittenForABatchThatIsNotCareful) {
  note_->begin(5);
  note_->take_event(7);
  note_->take_instance(kNoted);
  note_->stepping(kNoted);
  note_->add_removal(*tx_);
  EXPECT_TRUE(tx_->write_set().empty());
  EXPECT_EQ(row(), std::nullopt);
  note_->end();
  EXPECT_EQ(Snapshot::take(*environment_)->commit(), 0U);
}

TEST_F(CrashNoteInARow, StaysWhenItsBatchIsDroppedUntilTheNextCommit) {
  note_->begin_careful(1);
  note_->take_event(7);
  note_->add_removal(*tx_);
  tx_->drop();
  note_->end();
  EXPECT_TRUE(row());
  note_->begin(3);
  ASSERT_TRUE(commit());
  EXPECT_EQ(row(), std::nullopt);
}

TEST_F(CrashNoteInARow, CountsTheDeathsOfOneInput) {
  using Take = std::function<void(CrashNote&)>;
  const Take event = [](CrashNote& note) { note.take_event(7); };
  const Take instance = [](CrashNote& note) { note.take_instance(kNoted); };
  const NotedInput event_of_two{.deaths = 2, .sequence = 7, .instance = kNoted};
  const NotedInput instance_of_two{.deaths = 2, .instance = kNoted};
  const struct {
    const char* name;
    NotedInput left;
    Take take;
    uint32_t deaths;
  } cases[] = {
      {"the same event, whatever was stepped for it", event_of_two, event, 3},
      {"another event", {.deaths = 2, .sequence = 6}, event, 1},
      {"the same instance", instance_of_two, instance, 3},
      {"another instance", {.deaths = 2, .instance = kNotedLater}, instance, 1},
      {"the instance, but for an event before", event_of_two, instance, 1},
      {"an event, but the instance before", instance_of_two, event, 1},
  };
  for (const auto& one : cases) {
    leave(one.left);
    note_->begin_careful(1);
    one.take(*note_);
    ASSERT_TRUE(row()) << one.name;
    EXPECT_EQ(row()->deaths, one.deaths) << one.name;
  }
}

TEST_F(CrashNoteInARow, IsOfPoisonAfterThreeDeaths) {
  EXPECT_FALSE(note_->is_poison());
  for (const uint32_t deaths : {1U, 2U, 3U, 4U}) {
    leave({.deaths = deaths, .sequence = 7});
    EXPECT_EQ(note_->is_poison(), deaths >= 3) << deaths;
  }
}

TEST_F(CrashNoteInARow, IsIgnoredAndRemovedIfItIsDamaged) {
  tx_->put(Table::kMeta, kCrashRowKey, "rubbish");
  ASSERT_TRUE(tx_->commit());
  begin_process();
  EXPECT_FALSE(note_->left());
  EXPECT_FALSE(note_->is_poison());
  note_->begin(1);
  ASSERT_TRUE(commit());
  EXPECT_EQ(row(), std::nullopt);
}

}  // namespace
}  // namespace millrace
