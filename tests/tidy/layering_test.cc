// A room includes only rooms that its CMakeLists.txt lists, and lists only rooms that are defined
// before it.
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/rooms.h"
#include "tests/tidy/tree.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Layering, IsReadFromTheTargetsInCMakeLists) {
  std::vector<std::string> errors;
  const auto rooms =
      rooms_of({{"", "add_subdirectory(base)\nadd_subdirectory(low)  # a comment (of its own)\n"},
                {"base", "millrace_library(millrace_base SOURCES a.cc)"},
                {"low", "add_subdirectory(first)\nadd_subdirectory(second)"},
                {"low/first",
                 "add_library(millrace_first INTERFACE)\n"
                 "target_link_libraries(millrace_first INTERFACE millrace_base)"},
                {"low/second",
                 "millrace_library(millrace_second\n  SOURCES b.cc\n  DEPS millrace_first "
                 "millrace_later fmt::fmt)"}},
               errors);
  EXPECT_THAT(errors,
              ElementsAre("low/second/CMakeLists.txt: millrace_later is not defined above"));
  EXPECT_EQ(room_of(rooms, "low/second/part/b.cc"), "low/second");
  EXPECT_EQ(room_of(rooms, "other/b.cc"), "");
  const std::string text =
      "#include \"low/second/b.h\"\n#include <map>\n#include \"low/first/a.h\"\n"
      "#include \"base/a.h\"\n";
  EXPECT_THAT(wrong_includes(rooms, "low/second/b.cc", text),
              ElementsAre("low/second/b.cc:4: low/second may not include \"base/a.h\": its "
                          "CMakeLists.txt does not list base"));
  for (const char* const one : {"#include \"low/first/a.h\"", "#include <low/first/a.h>",
                                "  #  include \"low/first/a.h\""}) {
    EXPECT_THAT(wrong_includes(rooms, "base/a.cc", one),
                ElementsAre("base/a.cc:1: base may not include \"low/first/a.h\": its "
                            "CMakeLists.txt does not list low/first"))
        << one;
  }
}

TEST(Layering, LimitsBrokerAndFunctionsToThePortsOfTheOrchestrator) {
  const std::map<std::string, Room> rooms = {
      {"broker", {.reaches = {"base", "orchestrator/ports"}}},
      {"functions/containers", {.reaches = {"orchestrator/loop", "orchestrator/ports"}}},
      {"app", {.reaches = {"orchestrator/loop"}}}};
  EXPECT_THAT(wrong_reaches(rooms),
              ElementsAre("functions/containers/CMakeLists.txt: lists orchestrator/loop; of the "
                          "orchestrator it may use orchestrator/ports only"));
}

/// The folders that the table of rooms in a document names.
std::set<std::string> folders_of_table(const std::string& document) {
  std::set<std::string> folders;
  std::istringstream lines(document);
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find("/` |");
    if (line.starts_with("| `") && end != std::string::npos)
      folders.insert(line.substr(3, end - 3));
  }
  return folders;
}

TEST(Layering, HoldsForEveryInclude) {
  const std::filesystem::path root = MILLRACE_SOURCES;
  std::map<std::string, std::string> lists;
  std::map<std::string, std::string> sources;
  for (auto at = std::filesystem::recursive_directory_iterator(root);
       at != std::filesystem::recursive_directory_iterator(); ++at) {
    const std::filesystem::path relative = at->path().lexically_relative(root);
    const std::string first = relative.begin()->string();
    // Tests and benchmarks may reach everything.
    if (first == "build" || first == "tests" || first == "bench" || first.starts_with(".")) {
      if (at->is_directory()) at.disable_recursion_pending();
    } else if (relative.filename() == "CMakeLists.txt") {
      lists[relative.parent_path().string()] = text_of(at->path());
    } else if (relative.extension() == ".h" || relative.extension() == ".cc") {
      sources[relative.string()] = text_of(at->path());
    }
  }
  std::vector<std::string> wrong;
  const auto rooms = rooms_of(lists, wrong);
  EXPECT_GT(rooms.size(), 20U);
  EXPECT_GT(sources.size(), 400U);
  for (const auto& [file, text] : sources) {
    if (room_of(rooms, file).empty()) continue;  // a source of an example
    const auto found = wrong_includes(rooms, file, text);
    wrong.insert(wrong.end(), found.begin(), found.end());
  }
  const auto reaches = wrong_reaches(rooms);
  wrong.insert(wrong.end(), reaches.begin(), reaches.end());
  EXPECT_THAT(wrong, IsEmpty());

  std::set<std::string> folders;
  for (const auto& [folder, room] : rooms) folders.insert(folder);
  EXPECT_EQ(folders_of_table(text_of(root / "docs/ARCHITECTURE.md")), folders);
}

}  // namespace
}  // namespace millrace
