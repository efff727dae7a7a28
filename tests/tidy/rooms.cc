#include "tests/tidy/rooms.h"

#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "tests/tidy/cmake_calls.h"

namespace millrace {
namespace {

constexpr std::string_view kPrefix = "millrace_";

/// Adds the calls of the CMakeLists.txt files in the order in which CMake reads them.
void read(const std::map<std::string, std::string>& lists, const std::string& folder,
          std::vector<std::pair<std::string, CMakeCall>>& calls) {
  const auto list = lists.find(folder);
  if (list == lists.end()) return;
  for (CMakeCall& call : cmake_calls(list->second)) {
    if (call.name == "add_subdirectory") {
      read(lists, (folder.empty() ? "" : folder + "/") + call.arguments[0], calls);
    } else {
      calls.emplace_back(folder, std::move(call));
    }
  }
}

}  // namespace

std::map<std::string, Room> rooms_of(const std::map<std::string, std::string>& cmake_lists,
                                     std::vector<std::string>& errors) {
  std::vector<std::pair<std::string, CMakeCall>> calls;
  read(cmake_lists, "", calls);
  std::map<std::string, Room> rooms;
  std::map<std::string, std::string> folders;  // folders of the targets that are defined so far
  for (const auto& [folder, call] : calls) {
    const bool defines = call.name == "millrace_library" || call.name == "add_library" ||
                         call.name == "add_executable";
    if (defines) {
      rooms[folder].targets.insert(call.arguments[0]);
      folders.emplace(call.arguments[0], folder);
    }
    if (!defines && call.name != "target_link_libraries") continue;
    for (const std::string& word : call.arguments) {
      if (!word.starts_with(kPrefix) || word == "millrace_flags") continue;
      const auto known = folders.find(word);
      if (known == folders.end()) {
        errors.push_back(fmt::format("{}/CMakeLists.txt: {} is not defined above", folder, word));
      } else {
        rooms[folder].reaches.insert(known->second);
      }
    }
  }
  return rooms;
}

std::vector<std::string> wrong_reaches(const std::map<std::string, Room>& rooms) {
  std::vector<std::string> wrong;
  for (const auto& [folder, room] : rooms) {
    if (!folder.starts_with("broker") && !folder.starts_with("functions") &&
        !folder.starts_with("http"))
      continue;
    for (const std::string& other : room.reaches) {
      if (!other.starts_with("orchestrator/") || other == "orchestrator/ports") continue;
      wrong.push_back(fmt::format(
          "{}/CMakeLists.txt: lists {}; of the orchestrator it may use orchestrator/ports only",
          folder, other));
    }
  }
  return wrong;
}

std::string room_of(const std::map<std::string, Room>& rooms, std::string_view file) {
  for (size_t slash = file.rfind('/'); slash != std::string_view::npos && slash > 0;
       slash = file.rfind('/', slash - 1)) {
    const std::string folder(file.substr(0, slash));
    if (rooms.contains(folder)) return folder;
  }
  return "";
}

std::vector<std::string> wrong_includes(const std::map<std::string, Room>& rooms,
                                        std::string_view file, std::string_view text) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  const std::string own = room_of(rooms, file);
  std::vector<std::string> wrong;
  std::istringstream lines{std::string(text)};
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch include;
    if (!std::regex_search(line, include, kInclude)) continue;
    const std::string other = room_of(rooms, include[1].str());
    if (other.empty() && include[0].str().ends_with('>')) continue;  // a header of a library
    const auto room = rooms.find(own);
    if (other == own || (room != rooms.end() && room->second.reaches.contains(other))) continue;
    wrong.push_back(
        fmt::format("{}:{}: {} may not include \"{}\": its CMakeLists.txt does not list {}", file,
                    number, own, include[1].str(), other));
  }
  return wrong;
}

}  // namespace millrace
