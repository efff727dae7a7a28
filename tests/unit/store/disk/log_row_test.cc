// The rows of a folder of a cluster: their size, bytes that are no position, and positions of a
// base.
#include "orchestrator/store/disk/log_row.h"

#include <gtest/gtest.h>

#include "orchestrator/store/disk/table.h"
#include "orchestrator/store/disk/write_set.h"

namespace millrace {
namespace {

LogPosition some_position() {
  LogPosition position{.sequence = UINT64_MAX, .name = {.epoch = 7, .commit = 1}};
  position.name.incarnation.fill(0xa1);
  position.node.fill(0xb2);
  position.chain.fill(0xc3);
  return position;
}

TEST(LogRow, HasOneSizeForAllPositions) {
  for (const LogPosition& position : {LogPosition{}, some_position()}) {
    const std::string bytes = encode(position);
    EXPECT_EQ(bytes.size(), kLogRowBytes);
    std::string write;
    append_write(write, AbsoluteKey(Table::kMeta, kLogKey).view(), bytes);
    EXPECT_EQ(write.size(), kLogWriteBytes);
    const auto decoded = decode_log_position(bytes);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, position);
  }
}

TEST(LogRow, IsRefusedWithOtherBytes) {
  const std::string bytes = encode(some_position());
  std::string newer = bytes;
  newer.front() = 2;
  for (const std::string& wrong :
       {std::string(), bytes.substr(0, bytes.size() - 1), bytes + "x", newer}) {
    const auto decoded = decode_log_position(wrong);
    ASSERT_FALSE(decoded) << wrong.size() << " bytes";
    EXPECT_EQ(decoded.error().code, "store.corrupt");
  }
}

TEST(LogRow, BelongsToTheFolderAsTheRowLoadingDoes) {
  for (const char* const key : {"mlog", "mloading"}) EXPECT_TRUE(is_row_of_folder(key)) << key;
  for (const char* const key : {"", "m", "mlo", "mlogs", "llog", "lloading", "mtime"}) {
    EXPECT_FALSE(is_row_of_folder(key)) << key;
  }
}

TEST(LogRow, IsThatOfABaseIfItHasASnapshotAndNoSequence) {
  const LogPosition base = base_position(RandomName{1}, RandomName{2});
  EXPECT_TRUE(is_base(base));
  EXPECT_EQ(decode_log_position(encode(base)).value(), base);
  EXPECT_EQ(base.node, RandomName{1});
  EXPECT_EQ(base.chain, RandomName{2});
  EXPECT_FALSE(is_base({}));
  EXPECT_FALSE(is_base(some_position()));
}

}  // namespace
}  // namespace millrace
