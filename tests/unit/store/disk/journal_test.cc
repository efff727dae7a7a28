// Journal: what it returns after each kind of end of the process and each kind of damage. It
// returns all commits as they were written, or only the commits before a certain one, or an error.
#include "orchestrator/store/disk/journal.h"

#include <fstream>
#include <functional>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

using Commits = std::map<uint64_t, WriteSet>;

constexpr uint64_t kReserve = 0;

void write_content(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// A set, an empty and an erased row, different for each commit. The last byte is not zero.
WriteSet writes_of(uint64_t commit) {
  const std::string name = std::to_string(commit);
  return {{"a" + name, std::nullopt},
          {"lempty", ""},
          {"m" + name, std::string(commit % 40, 'v') + name}};
}

/// Appends one commit.
Status append_one(Journal& journal, const WriteSet& writes, std::string_view further = {}) {
  journal.encode(writes);
  TRY(journal.reserve(further.size(), Limit::kKept));
  return journal.append(further);
}

/// The offset of the next record.
uint64_t tail_of(std::string_view bytes) { return (bytes.find_last_not_of('\0') + 1 + 7) / 8 * 8; }

class JournalTest : public testing::Test {
 protected:
  /// Opens the folder. found_ gets the commits, files_ their files.
  Status open(std::optional<uint64_t> checkpointed = std::nullopt) {
    journal_.reset();
    found_.clear();
    files_.clear();
    auto opened = Journal::open(folder_.path(), checkpointed, kReserve,
                                [&](uint64_t first, uint64_t commit, std::string_view bytes) {
                                  WriteSet& writes = found_[commit];
                                  CHECK(each_write(bytes, [&](std::string_view key, auto value) {
                                    writes.emplace(key, value);
                                  }));
                                  files_[first] = commit;
                                  return Status();
                                });
    if (!opened) return tl::unexpected(opened.error());
    journal_ = std::move(*opened);
    return {};
  }

  std::string code_of_opening(std::optional<uint64_t> checkpointed = std::nullopt) {
    const Status opened = open(checkpointed);
    return opened ? "ok" : opened.error().code;
  }

  void append(int commits) {
    for (int i = 0; i < commits; ++i) {
      const uint64_t next = journal_->last() + 1;
      ASSERT_TRUE(append_one(*journal_, writes_of(next)));
    }
  }

  void expect_found(uint64_t first, uint64_t last) {
    Commits expected;
    for (uint64_t commit = first; commit <= last; ++commit) expected[commit] = writes_of(commit);
    EXPECT_TRUE(found_ == expected) << found_.size() << " commits, not " << expected.size();
  }

  std::filesystem::path path(int file) const {
    return folder_.path() / ("journal-" + std::to_string(file));
  }

  Folder folder_{fast_folder()};
  std::unique_ptr<Journal> journal_;
  Commits found_;
  std::map<uint64_t, uint64_t>
      files_;  ///< for each file, the numbers of its first and its last commit
};

TEST_F(JournalTest, ReturnsAllAppendedCommitsWhenItIsOpenedAgain) {
  ASSERT_TRUE(open());
  EXPECT_EQ(journal_->last(), 0U);
  for (int i = 0; i < 3; ++i) {
    append(20);
    ASSERT_TRUE(open());
    expect_found(1, journal_->last());
  }
  EXPECT_EQ(journal_->last(), 60U);
}

TEST_F(JournalTest, IsSmallWhenLittleIsWritten) {
  ASSERT_TRUE(open());
  append(10);
  EXPECT_LE(std::filesystem::file_size(path(0)), 128U << 10);
  EXPECT_LE(std::filesystem::file_size(path(1)), 128U << 10);
}

TEST_F(JournalTest, AcceptsACommitLargerThanItsAllocationStep) {
  ASSERT_TRUE(open());
  append(1);
  const WriteSet large{{"l", std::string(5'000'001, 'x')}};
  ASSERT_TRUE(append_one(*journal_, large));
  ASSERT_TRUE(open());
  EXPECT_THAT(found_, ElementsAre(Pair(1, writes_of(1)), Pair(2, large)));
}

TEST_F(JournalTest, AddsFurtherWritesBehindThoseOfACommit) {
  ASSERT_TRUE(open());
  const WriteSet writes{{"lkey", "value"}};
  const WriteSet position{{"mlog", "where"}};
  std::string further;
  append_encoded(further, position);
  std::string alone;
  append_encoded(alone, writes);
  EXPECT_EQ(journal_->encode(writes), alone) << "the encoded write-set has no head";
  ASSERT_TRUE(append_one(*journal_, writes, further));
  ASSERT_TRUE(append_one(*journal_, {}, further));
  append(1);
  ASSERT_TRUE(open());
  EXPECT_THAT(found_, ElementsAre(Pair(1, WriteSet{{"lkey", "value"}, {"mlog", "where"}}),
                                  Pair(2, position), Pair(3, writes_of(3))));
}

TEST_F(JournalTest, ReservesTheSpaceOfARecordBeforeItIsWritten) {
  ASSERT_TRUE(open());
  append(1);
  const std::string further(100'000, 'f');
  journal_->encode({{"l", std::string(200'000, 'x')}});
  ASSERT_TRUE(journal_->reserve(further.size(), Limit::kKept));
  EXPECT_GE(std::filesystem::file_size(path(0)), 300'000U);
  ASSERT_TRUE(open());
  expect_found(1, 1);
  EXPECT_EQ(journal_->last(), 1U) << "a reserved commit is none";
}

TEST_F(JournalTest, ContinuesInAFileOfTheSizeOfTheOneThatEnds) {
  const auto size = [this](int file) { return std::filesystem::file_size(path(file)); };
  ASSERT_TRUE(open());
  ASSERT_TRUE(append_one(*journal_, {{"l", std::string(3'000'000, 'x')}}));
  const uint64_t ended = size(0);
  EXPECT_LT(size(1), ended);
  for (int file = 1; file <= 4; ++file) {
    ASSERT_TRUE(journal_->switch_file());
    EXPECT_EQ(size(file % 2), ended);
    ASSERT_TRUE(append_one(*journal_, {{"l", std::string(2'000'000, 'x')}}));
    EXPECT_EQ(size(file % 2), ended) << "the commit did not extend the file";
  }
}

TEST_F(JournalTest, ReturnsNoCheckpointedCommit) {
  ASSERT_TRUE(open());
  append(5);
  ASSERT_TRUE(journal_->switch_file());
  append(3);
  ASSERT_TRUE(open(5));
  expect_found(6, 8);
  EXPECT_THAT(files_, ElementsAre(Pair(6, 8)));
  append(2);
  ASSERT_TRUE(journal_->switch_file());
  EXPECT_EQ(code_of_opening(10), "ok");
  EXPECT_THAT(found_, IsEmpty());
  EXPECT_EQ(journal_->last(), 10U);
}

TEST_F(JournalTest, ReturnsTheCommitsOfTwoFilesInOrder) {
  ASSERT_TRUE(open());
  append(5);
  ASSERT_TRUE(journal_->switch_file());
  append(3);
  ASSERT_TRUE(journal_->switch_file());
  append(4);
  ASSERT_TRUE(open(5));
  expect_found(6, 12);
  EXPECT_THAT(files_, ElementsAre(Pair(6, 8), Pair(9, 12)));
  append(1);
  ASSERT_TRUE(open(5));
  expect_found(6, 13);
  ASSERT_TRUE(open(8));
  expect_found(9, 13);
}

TEST_F(JournalTest, IgnoresTheOldCommitsOfAReusedFile) {
  ASSERT_TRUE(open());
  append(50);
  ASSERT_TRUE(journal_->switch_file());
  append(3);
  ASSERT_TRUE(journal_->switch_file());  // to the first file; its new head hides 50 commits
  append(2);
  EXPECT_THAT(file_bytes(path(0)), HasSubstr("v30")) << "the old bytes are still in the file";
  ASSERT_TRUE(open(50));
  expect_found(51, 55);
}

/// A journal of five commits. The tests damage the bytes of the last two.
class DamagedJournal : public JournalTest {
 protected:
  DamagedJournal() {
    EXPECT_TRUE(open());
    append(3);
    before_ = tail_of(file_bytes(path(0)));
    append(1);
    between_ = tail_of(file_bytes(path(0)));
    append(1);
    after_ = file_bytes(path(0)).find_last_not_of('\0') + 1;
    whole_ = file_bytes(path(0));
  }

  /// Opens a journal with these bytes, expects all its commits without a gap, and appends another
  /// one. Returns the number of the last commit in the bytes.
  uint64_t last_in(const std::string& bytes) {
    write_content(path(0), bytes);
    const Status opened = open();
    EXPECT_TRUE(opened) << opened.error().message;
    if (!opened) return 0;
    const uint64_t last = journal_->last();
    expect_found(1, last);
    append(1);
    EXPECT_TRUE(open());
    expect_found(1, last + 1);
    return last;
  }

  uint64_t before_ = 0;   ///< offset of the last record but one
  uint64_t between_ = 0;  ///< offset of the last record
  uint64_t after_ = 0;    ///< end of the last record
  std::string whole_;
};

TEST_F(DamagedJournal, ReturnsTheWholeCommitsThatATruncatedFileStillHas) {
  for (uint64_t at = before_; at <= after_; ++at) {
    SCOPED_TRACE(at);
    const uint64_t last = last_in(whole_.substr(0, at));
    if (at <= between_ - 8) {
      EXPECT_EQ(last, 3U);
    } else if (at < between_) {
      EXPECT_THAT(last, testing::AnyOf(3U, 4U)) << "the padding of a record may be missing";
    } else {
      EXPECT_EQ(last, at < after_ ? 4U : 5U);
    }
  }
}

TEST_F(DamagedJournal, ReturnsTheCommitsInFrontOfAnOverwrittenTail) {
  for (const char filling : {'\0', '\xff', 'v'}) {
    for (uint64_t at = before_; at < after_; ++at) {
      SCOPED_TRACE(at);
      std::string bytes = whole_;
      std::fill(bytes.begin() + static_cast<ptrdiff_t>(at),
                bytes.begin() + static_cast<ptrdiff_t>(after_), filling);
      const uint64_t last = last_in(bytes);
      EXPECT_GE(last, 3U);
      EXPECT_LE(last, at < between_ - 8 ? 3U : 4U);
    }
  }
}

TEST_F(DamagedJournal, ReturnsTheCommitsBeforeTheLastRecordIfThatHasAWrongBit) {
  for (uint64_t at = between_; at < after_; ++at) {
    SCOPED_TRACE(at);
    std::string bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << at % 8);
    EXPECT_EQ(last_in(bytes), 4U);
  }
}

TEST_F(DamagedJournal, RefusesAWrongBitOutsideThePaddingBeforeAnIntactRecord) {
  int refused = 0;
  for (uint64_t at = 0; at < between_; ++at) {
    if (at == 100) at = 4096;  // the bytes between head and records are unused
    SCOPED_TRACE(at);
    std::string bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << at % 8);
    write_content(path(0), bytes);
    const Status opened = open(at < 100 ? std::optional<uint64_t>(0) : std::nullopt);
    if (opened) {
      expect_found(1, 5);  // the wrong bit is in the padding of a record
    } else {
      EXPECT_EQ(opened.error().code, "store.corrupt");
      EXPECT_THAT(opened.error().message, HasSubstr(folder_.path().string()));
      EXPECT_THAT(opened.error().message, HasSubstr("restore the folder from a backup"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 200);
}

TEST_F(DamagedJournal, ReportsTheOffsetOfTheDamage) {
  std::string bytes = whole_;
  bytes[before_ + 50] ^= 1;
  write_content(path(0), bytes);
  const Status opened = open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("journal-0 is damaged at byte "));
  EXPECT_THAT(opened.error().message, HasSubstr("commit 4 cannot be read"));
}

TEST_F(DamagedJournal, RefusesAnyDamageOfTheOlderFile) {
  ASSERT_TRUE(journal_->switch_file());
  append(2);
  whole_ = file_bytes(path(0));
  for (uint64_t at = before_; at < after_; ++at) {
    SCOPED_TRACE(at);
    write_content(path(0), whole_.substr(0, at));
    EXPECT_EQ(code_of_opening(), "store.corrupt");
    std::string bytes = whole_;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    write_content(path(0), bytes);
    if (code_of_opening() == "ok")
      expect_found(1, 7);  // the wrong bit is in the padding of a record
  }
  write_content(path(0), whole_);
  EXPECT_EQ(code_of_opening(), "ok");
}

TEST_F(DamagedJournal, RefusesTheStartIfAFileOfTheJournalIsMissing) {
  std::filesystem::remove(path(0));
  EXPECT_EQ(code_of_opening(0), "store.corrupt");
}

TEST_F(JournalTest, RefusesTheStartIfAFileThatIsStillNeededIsEmpty) {
  ASSERT_TRUE(open());
  append(5);
  ASSERT_TRUE(journal_->switch_file());
  append(3);
  const std::string older = file_bytes(path(0));
  const std::string newer = file_bytes(path(1));
  const auto code_with = [&](const std::string& first, const std::string& second,
                             std::optional<uint64_t> checkpointed) {
    write_content(path(0), first);
    write_content(path(1), second);
    return code_of_opening(checkpointed);
  };
  EXPECT_EQ(code_with(older, "", 0), "store.corrupt")
      << "the head of the older file refers to the newer one";
  EXPECT_EQ(code_with("", newer, 0), "store.corrupt");
  EXPECT_EQ(code_with("", "", 0), "store.corrupt");
  EXPECT_EQ(code_with(older, "", 5), "store.corrupt");
  EXPECT_EQ(code_with("", newer, 5), "ok") << "the older file is not needed after the checkpoint";
  expect_found(6, 8);
  EXPECT_EQ(code_with(older, newer, 3), "store.corrupt")
      << "the journal and the file of LMDB are of different times";
  EXPECT_EQ(code_with(older, newer, 8), "store.corrupt");
  EXPECT_EQ(code_with(older, newer, std::nullopt), "ok");
  expect_found(1, 8);
}

TEST_F(JournalTest, LosesNoCommitWhenASwitchOfFilesIsInterrupted) {
  ASSERT_TRUE(open());
  append(5);
  const std::string not_ended = file_bytes(path(0));
  const std::string not_started = file_bytes(path(1));
  ASSERT_TRUE(journal_->switch_file());
  const std::string started = file_bytes(path(1));
  for (uint64_t at = 0; at <= 48; ++at) {
    SCOPED_TRACE(at);
    write_content(path(0), not_ended);
    write_content(path(1), started.substr(0, at) + not_started.substr(at));
    ASSERT_TRUE(open());
    expect_found(1, 5);
    append(2);
    ASSERT_TRUE(open());
    expect_found(1, 7);
    // If the new file was started, LMDB has the commits of the old one by then.
    const bool has_started = files_.size() == 2;
    ASSERT_TRUE(journal_->switch_file());
    append(1);
    ASSERT_TRUE(open(has_started ? std::optional<uint64_t>(5) : std::nullopt));
    expect_found(has_started ? 6 : 1, 8);
  }
}

TEST_F(JournalTest, KeepsTheCommitsThatLmdbLacksWhenItIsShrunk) {
  constexpr uint64_t kHeader = 4096;
  ASSERT_TRUE(open());
  append(20);
  ASSERT_TRUE(journal_->switch_file());
  append(5);
  const std::string old[] = {file_bytes(path(0)), file_bytes(path(1))};
  ASSERT_TRUE(journal_->shrink());
  EXPECT_EQ(std::filesystem::file_size(path(0)), kHeader) << "LMDB has its commits";
  EXPECT_EQ(std::filesystem::file_size(path(1)), tail_of(old[1]));
  append(2);
  ASSERT_TRUE(open(20));
  expect_found(21, 27);
  // The process may end after it has shrunk one of the files.
  const std::string shrunk[] = {file_bytes(path(0)).substr(0, kHeader),
                                old[1].substr(0, tail_of(old[1]))};
  for (const size_t file : {0, 1}) {
    SCOPED_TRACE(file);
    write_content(path(0), file == 0 ? shrunk[0] : old[0]);
    write_content(path(1), file == 1 ? shrunk[1] : old[1]);
    ASSERT_TRUE(open(20));
    expect_found(21, 25);
    append(1);
    ASSERT_TRUE(journal_->switch_file());
    append(1);
    ASSERT_TRUE(open(20));
    expect_found(21, 27);
  }
}

TEST_F(JournalTest, IgnoresAValueThatLooksLikeARecord) {
  // The value has bytes that the journal wrote, or would write next.
  ASSERT_TRUE(open());
  append(3);
  const uint64_t tail = tail_of(file_bytes(path(0)));
  const std::string own = file_bytes(path(0)).substr(4096, tail);
  Folder other_folder(fast_folder());
  auto other =
      *Journal::open(other_folder.path(), std::nullopt, kReserve, [](auto...) { return Status(); });
  for (uint64_t commit = 1; commit < 9; ++commit) {
    ASSERT_TRUE(append_one(*other, writes_of(commit)));
  }
  const std::string foreign = file_bytes(other_folder.path() / "journal-0").substr(4096, 1000);
  for (const std::string& value : {own, foreign}) {
    for (int shift = 0; shift < 8; ++shift) {
      ASSERT_TRUE(open());
      const std::string padded = std::string(static_cast<size_t>(shift), ' ') + value;
      ASSERT_TRUE(append_one(*journal_, {{"l", padded}}));
      // The cut removes the head of the record, and leaves its value.
      std::string bytes = file_bytes(path(0));
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(tail), 16, '\0');
      write_content(path(0), bytes);
      ASSERT_TRUE(open());
      expect_found(1, 3);
    }
  }
}

}  // namespace
}  // namespace millrace
