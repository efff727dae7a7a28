// Each C++ source file belongs to a target, and the tree has no files that editors or tools leave
// behind.
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/tree.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;

/// The words of a text that may be paths.
std::set<std::string> paths_of(const std::string& text) {
  std::set<std::string> paths;
  std::string word;
  for (const char c : text + " ") {
    if (std::string_view(" \t\n()\"<>;").find(c) == std::string_view::npos) {
      word.push_back(c);
    } else if (!word.empty()) {
      paths.insert(word);
      word.clear();
    }
  }
  return paths;
}

bool is_left_behind(const std::string& file) {
  for (const char* const ending : {"~", ".orig", ".rej", ".swp", ".bak", ".tmp", ".log", ".o"}) {
    if (file.ends_with(ending)) return true;
  }
  return file.find("callgrind") != std::string::npos || file.find("perf.data") != std::string::npos;
}

struct SourceFile {
  std::string path;  ///< from the root
  std::string text;
};

/// Sources that no CMakeLists.txt names, headers that no file includes, and files that editors and
/// tools leave behind.
std::vector<std::string> stray_files(const std::vector<SourceFile>& files) {
  std::set<std::string> listed;    // paths from the root that a CMakeLists.txt names
  std::set<std::string> included;  // headers that a source includes
  for (const SourceFile& file : files) {
    if (file.path.ends_with("CMakeLists.txt")) {
      const std::filesystem::path folder = std::filesystem::path(file.path).parent_path();
      for (std::string word : paths_of(file.text)) {
        constexpr std::string_view kTop = "${PROJECT_SOURCE_DIR}/";
        if (word.starts_with(kTop)) {
          listed.insert(word.substr(kTop.size()));
        } else {
          listed.insert((folder / word).lexically_normal().string());
        }
      }
    } else if (file.path.ends_with(".h") || file.path.ends_with(".cc")) {
      for (std::string& header : includes_of(file.text)) included.insert(std::move(header));
    }
  }
  std::vector<std::string> stray;
  for (const SourceFile& file : files) {
    const bool is_known = listed.contains(file.path) || included.contains(file.path);
    const bool is_source = file.path.ends_with(".cc") || file.path.ends_with(".h");
    if (is_left_behind(file.path) || (is_source && !is_known)) stray.push_back(file.path);
  }
  return stray;
}

TEST(StrayFiles, AreSourcesOfNoTargetAndFilesThatToolsLeaveBehind) {
  EXPECT_THAT(stray_files({{"base/CMakeLists.txt", "millrace_library(b SOURCES a.cc part/b.cc)"},
                           {"base/a.cc", "#include \"base/a.h\"\n"},
                           {"base/a.h", ""},
                           {"base/part/b.cc", ""},
                           {"base/forgotten.cc", ""},
                           {"base/lonely.h", ""},
                           {"base/a.cc.orig", ""}}),
              ElementsAre("base/forgotten.cc", "base/lonely.h", "base/a.cc.orig"));
}

TEST(StrayFiles, AreNotInTheTree) {
  std::vector<SourceFile> files;
  for (const auto& path : all_files()) {
    files.push_back({path.lexically_relative(root()).string(), text_of(path)});
  }
  EXPECT_THAT(files, SizeIs(Gt(500U)));
  EXPECT_THAT(stray_files(files), IsEmpty());
}

}  // namespace
}  // namespace millrace
