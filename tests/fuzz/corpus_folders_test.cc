// The folders of tests/fuzz/corpus/ and the lists of covered sources: each folder has the name of a
// fuzz target, so that no input is left out, and each target says which sources it runs.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::fuzz {
namespace {

using testing::IsEmpty;

const std::filesystem::path kSources = MILLRACE_SOURCES;
const std::filesystem::path kFuzzFolder = kSources / "tests/fuzz";

/// The sources that the lines `// Covers:` of a file name.
std::set<std::string> covered_by(const std::filesystem::path& target) {
  constexpr std::string_view kCovers = "// Covers: ";
  std::set<std::string> sources;
  std::ifstream file(target);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kCovers)) continue;
    std::istringstream names(line.substr(kCovers.size()));
    for (std::string name; names >> name;) sources.insert(name);
  }
  return sources;
}

/// The sources that all targets cover together.
std::set<std::string> covered_by_all() {
  std::set<std::string> all;
  for (const auto& file : std::filesystem::directory_iterator(kFuzzFolder)) {
    if (file.path().filename().string().ends_with("_target.cc")) all.merge(covered_by(file.path()));
  }
  return all;
}

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

/// git and editors treat these files in another way than bytes.
TEST(FuzzCorpora, HaveNoEmptyInputsAndNoneWithTheNameOfASource) {
  for (const auto& file : std::filesystem::recursive_directory_iterator(kFuzzFolder / "corpus")) {
    if (!file.is_regular_file()) continue;
    EXPECT_GT(file.file_size(), 0U) << file.path();
    const std::string ending = file.path().extension();
    EXPECT_TRUE(ending != ".cc" && ending != ".h" && ending != ".md") << file.path();
  }
}

TEST(FuzzTargets, NameTheSourcesThatTheyCover) {
  size_t targets = 0;
  for (const auto& file : std::filesystem::directory_iterator(kFuzzFolder)) {
    if (!file.path().filename().string().ends_with("_target.cc")) continue;
    ++targets;
    const std::set<std::string> covered = covered_by(file.path());
    EXPECT_FALSE(covered.empty()) << file.path();
    for (const std::string& source : covered) {
      EXPECT_TRUE(std::filesystem::exists(kSources / source)) << file.path() << ": " << source;
    }
  }
  EXPECT_GT(targets, 40U);
}

/// In these folders each source reads bytes from outside, or rows.
TEST(FuzzTargets, CoverAllSourcesOfTheirRooms) {
  const std::set<std::string> covered = covered_by_all();
  const std::set<std::string> explained = {
      "orchestrator/check/check_folder.cc",  // the folder of a store, which no stranger writes
      "orchestrator/definition/removed_settings.cc",  // compares settings that were read
  };
  for (const char* const room : {"cloudevents", "orchestrator/check", "orchestrator/definition",
                                 "orchestrator/mapping", "orchestrator/signatures"}) {
    for (const auto& file : std::filesystem::directory_iterator(kSources / room)) {
      const std::string name = room + ("/" + file.path().filename().string());
      if (!name.ends_with(".cc") || explained.contains(name)) continue;
      EXPECT_TRUE(covered.contains(name)) << "no target covers " << name;
    }
  }
}

}  // namespace
}  // namespace millrace::fuzz
