// Each folder of tests/fuzz/corpus/ has the name of a fuzz target, so that no input is left out.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::fuzz {
namespace {

using testing::IsEmpty;

const std::filesystem::path kFuzzFolder = MILLRACE_SOURCES "/tests/fuzz";

TEST(FuzzCorpora, AreInFoldersOfTargets) {
  std::vector<std::string> without_target;
  size_t folders = 0;
  for (const auto& folder : std::filesystem::directory_iterator(kFuzzFolder / "corpus")) {
    ++folders;
    const std::string name = folder.path().filename();
    if (!std::filesystem::exists(kFuzzFolder / (name + "_target.cc"))) {
      without_target.push_back(name);
    }
  }
  EXPECT_GT(folders, 0U);
  EXPECT_THAT(without_target, IsEmpty());
}

}  // namespace
}  // namespace millrace::fuzz
