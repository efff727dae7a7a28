#include "orchestrator/store/disk/store_error.h"

#include <cerrno>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Values of LMDB 0.9; its header is not included.
constexpr int kPageNotFound = -30797;
constexpr int kCorrupted = -30796;
constexpr int kPanic = -30795;
constexpr int kVersionMismatch = -30794;
constexpr int kInvalid = -30793;
constexpr int kMapFull = -30792;
constexpr int kReadersFull = -30790;
constexpr int kCursorFull = -30787;
constexpr int kPageFull = -30786;
constexpr int kBadTransaction = -30782;

TEST(StoreError, TranslatesCodesOfLmdbAndOfTheSystem) {
  const struct {
    int failed;
    std::string_view code;
  } rows[] = {
      {kMapFull, "store.full"},
      {ENOSPC, "store.full"},
      {EDQUOT, "store.full"},
      {EFBIG, "store.full"},
      {kCorrupted, "store.corrupt"},
      {kPageNotFound, "store.corrupt"},
      {kInvalid, "store.corrupt"},
      {kPageFull, "store.corrupt"},
      {kCursorFull, "store.corrupt"},
      {kVersionMismatch, "store.version"},
      {kReadersFull, "store.readers"},
      {kPanic, "store.sync"},
      {EIO, "store.io"},
      {EACCES, "store.io"},
      {ENOENT, "store.io"},
      {kBadTransaction, "store.io"},
      {-1, "store.io"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(store_error(row.failed, "reading live", "/data").code, row.code) << row.failed;
  }
}

TEST(StoreError, NamesTheFolderAndWhatFailedAndTheReason) {
  EXPECT_EQ(store_error(EACCES, "opening data.mdb", "/data/one").message,
            "opening data.mdb in /data/one: Permission denied");
  EXPECT_THAT(store_error(kMapFull, "reading live", "/data").message,
              testing::AllOf(HasSubstr("reading live in /data: MDB_MAP_FULL"),
                             EndsWith("; free space or raise the limit")));
}

TEST(StoreError, HasTheGivenErrorCodeIfOneIsGiven) {
  const Error error = store_error(EIO, "committing", "/data", "store.sync");
  EXPECT_EQ(error.code, "store.sync");
  EXPECT_EQ(
      error.message,
      "committing in /data: Input/output error; the state of the disk is unknown, restart the "
      "server");
}

TEST(StoreError, HasDifferentAdviceForEachCodeExceptStoreIo) {
  std::set<std::string> advice;
  for (const char* const code :
       {"store.full", "store.corrupt", "store.version", "store.readers", "store.sync"}) {
    EXPECT_TRUE(std::string_view(advice_for(code)).starts_with("; ")) << code;
    EXPECT_TRUE(advice.insert(advice_for(code)).second) << code;
  }
  EXPECT_STREQ(advice_for("store.io"), "") << "advice depends on the reason";
  EXPECT_STREQ(advice_for("unknown"), "");
}

}  // namespace
}  // namespace millrace
