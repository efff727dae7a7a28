// The row "log": its size, and bytes that are no position.
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

}  // namespace
}  // namespace millrace
