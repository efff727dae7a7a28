// The id of a node of a cluster, in its data folder.
#include "orchestrator/store/disk/node_id.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/file_bytes.h"
#include "tests/support/folder.h"

namespace millrace {
namespace {

using testing::HasSubstr;

RandomName id_of_ones() { return {1, 1, 1}; }
RandomName id_of_twos() { return {2, 2, 2}; }

TEST(NodeId, StaysTheSameInOneFolder) {
  const Folder folder;
  EXPECT_EQ(node_id(folder.path(), id_of_ones), id_of_ones());
  EXPECT_EQ(node_id(folder.path(), id_of_twos), id_of_ones());
  EXPECT_EQ(file_bytes(folder.path() / "node"), "01010100000000000000000000000000\n");
}

TEST(NodeId, IsThatOfTheFolderInACopy) {
  const Folder folder;
  const Folder copy;
  EXPECT_TRUE(node_id(folder.path(), id_of_ones));
  std::filesystem::copy_file(folder.path() / "node", copy.path() / "node");
  EXPECT_EQ(node_id(copy.path(), id_of_twos), id_of_ones());
}

TEST(NodeId, IsReplaced) {
  const Folder folder;
  EXPECT_TRUE(node_id(folder.path(), id_of_ones));
  EXPECT_TRUE(replace_node_id(folder.path(), id_of_twos()));
  EXPECT_EQ(node_id(folder.path(), id_of_ones), id_of_twos());
}

TEST(NodeId, IsNotMadeAgainIfTheFileHasSomethingElse) {
  for (const char* const text :
       {"", "0101", "0101010000000000000000000000000x\n", "010101000000000000000000000000000"}) {
    const Folder folder;
    std::ofstream(folder.path() / "node") << text;
    const auto id = node_id(folder.path(), id_of_ones);
    ASSERT_FALSE(id) << text;
    EXPECT_EQ(id.error().code, "store.corrupt");
    EXPECT_THAT(id.error().message, HasSubstr("is not the id of a node"));
    EXPECT_EQ(file_bytes(folder.path() / "node"), text);
  }
}

}  // namespace
}  // namespace millrace
