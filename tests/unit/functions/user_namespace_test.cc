// When containers get users of their own.
#include "functions/user_namespace.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(UserNamespace, NeedsIdsOfTheUserContainers) {
  const std::vector<std::pair<const char*, bool>> files = {
      {"", false},
      {"\n", false},
      {"ann:100000:65536\n", false},
      {"containers:2147483647:2147483648\n", true},
      {"ann:100000:65536\ncontainers:1:2", true},
      {"containers:", false},
      {"containers2:1:2\n", false},
      {"#containers:1:2\n", false},
      {" containers:1:2\n", false},
  };
  for (const auto& [lines, has] : files) EXPECT_EQ(has_container_ids(lines), has) << lines;
}

}  // namespace
}  // namespace millrace
