// ArchiveThread: writes pages on its thread, in order.
#include "orchestrator/archive/archive_thread.h"

#include <future>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

ArchivePage one_line(uint64_t number, ArchivePosition at) {
  return {.number = number,
          .ns = NamespaceNumber(1),
          .name = "default",
          .at = at,
          .entries = {{InstanceId(), number}}};
}

TEST(ArchiveThread, WritesPagesInTheOrderInWhichTheyCome) {
  const Folder folder;
  std::promise<uint64_t> first;
  std::promise<uint64_t> second;
  {
    ArchiveThread writer(folder.path() / "archive", [](auto, const ArchivePageEntry& entry) {
      return std::optional(std::to_string(entry.last_history));
    });
    writer.write(one_line(4, {}), [&](const ArchivedPage& page) { first.set_value(page.number); });
    writer.write(one_line(5, {.length = 2}),
                 [&](const ArchivedPage& page) { second.set_value(page.number); });
    EXPECT_EQ(first.get_future().get(), 4U);
    EXPECT_EQ(second.get_future().get(), 5U);
  }
  EXPECT_EQ(file_bytes(archive_file(folder.path() / "archive", NamespaceNumber(1), "default", 1)),
            "4\n5\n");
}

TEST(ArchiveThread, EndsWithoutPages) {
  const Folder folder;
  const ArchiveThread writer(folder.path() / "archive",
                             [](auto, auto&) { return std::optional<std::string>(); });
}

}  // namespace
}  // namespace millrace
