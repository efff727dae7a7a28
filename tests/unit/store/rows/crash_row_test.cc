#include "orchestrator/store/rows/crash_row.h"

#include <gmock/gmock.h>

#include "orchestrator/store/rows/damage.h"
#include "tests/unit/store/store_fixture.h"

namespace millrace {
namespace {

using CrashRowTest = StoreTest;

constexpr NotedInstance kStepped{.ns = NamespaceNumber(7), .id = {{1, 2, 3}}};

TEST_F(CrashRowTest, IsReadAsItWasWritten) {
  EXPECT_EQ(*read_crash_row(*tx), std::nullopt);
  for (const NotedInput& input :
       {NotedInput{.deaths = 1, .sequence = 5}, NotedInput{.deaths = 3, .instance = kStepped},
        NotedInput{.deaths = UINT32_MAX, .sequence = UINT64_MAX, .instance = kStepped}}) {
    tx->replay(crash_row_writes(input));
    EXPECT_EQ(*read_crash_row(*tx), input);
  }
  erase_crash_row(*tx);
  EXPECT_EQ(*read_crash_row(*tx), std::nullopt);
}

TEST_F(CrashRowTest, IsDamagedIfNoActiveWritesItsRecord) {
  const NotedInput of_no_namespace{.deaths = 1, .instance = NotedInstance{.id = kStepped.id}};
  const std::string whole = encode(NotedInput{.deaths = 1, .sequence = 5});
  const std::pair<const char*, std::string> cases[] = {
      {"rubbish", "rubbish"},
      {"empty", ""},
      {"cut short", whole.substr(0, whole.size() - 1)},
      {"too long", whole + "x"},
      {"without a death", encode(NotedInput{.sequence = 5})},
      {"without an input", encode(NotedInput{.deaths = 1})},
      {"of an instance in no namespace", encode(of_no_namespace)},
  };
  for (const auto& [name, bytes] : cases) {
    tx->put(Table::kMeta, kCrashRowKey, bytes);
    const auto read = read_crash_row(*tx);
    ASSERT_FALSE(read) << name;
    EXPECT_TRUE(is_damaged_row(read.error())) << name;
  }
}

}  // namespace
}  // namespace millrace
