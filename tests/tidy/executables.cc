#include "tests/tidy/executables.h"

#include <filesystem>
#include <string_view>

#include "tests/tidy/cmake_calls.h"
#include "tests/tidy/tree.h"

namespace millrace {
namespace {

using Texts = std::map<std::string, std::string>;

struct Target {
  bool is_executable = false;
  std::set<std::string> files;  ///< sources and precompiled headers, by their paths from the root
  std::set<std::string> links;  ///< arguments of link commands: names of targets, and other words
};
using Targets = std::map<std::string, Target>;

std::string path_from_root(const std::filesystem::path& folder, std::string_view word) {
  constexpr std::string_view kRoot = "${PROJECT_SOURCE_DIR}/";
  if (word.starts_with(kRoot)) return std::string(word.substr(kRoot.size()));
  return (folder / word).lexically_normal().string();
}

void add_target(const CMakeCall& call, const std::filesystem::path& folder, Targets& targets) {
  const bool is_test = call.name == "millrace_test";
  const bool is_executable = is_test || call.name == "add_executable";
  const bool is_library = call.name == "millrace_library" || call.name == "add_library";
  const bool adds_to_one =
      call.name == "target_link_libraries" || call.name == "target_precompile_headers";
  if (call.arguments.empty() || !(is_executable || is_library || adds_to_one)) return;
  Target& target = targets[call.arguments.front()];
  target.is_executable = target.is_executable || is_executable;
  for (const std::string& word : call.arguments) {
    if (word.ends_with(".cc") || word.ends_with(".h")) {
      target.files.insert(path_from_root(folder, word));
    } else {
      target.links.insert(word);
    }
  }
  if (!is_test) return;
  // cmake/Millrace.cmake gives each test a precompiled header.
  target.links.insert("millrace_test_header");
  if (target.links.contains("ENGINE")) target.links.insert("millrace_engine_test_header");
}

Targets targets_of(const Texts& texts) {
  Targets targets;
  for (const auto& [path, text] : texts) {
    if (!path.ends_with("CMakeLists.txt")) continue;
    for (const CMakeCall& call : cmake_calls(text)) {
      add_target(call, std::filesystem::path(path).parent_path(), targets);
    }
  }
  return targets;
}

/// Collects the files of one executable.
class FileCollector {
 public:
  FileCollector(const Texts& texts, const Targets& targets) : texts_(texts), targets_(targets) {}

  void link(const std::string& name) {
    const auto target = targets_.find(name);
    if (target == targets_.end() || !linked_.insert(name).second) return;
    for (const std::string& file : target->second.files) add(file);
    for (const std::string& other : target->second.links) link(other);
  }

  std::set<std::string> take() && { return std::move(files_); }

 private:
  void add(const std::string& path) {
    const auto text = texts_.find(path);
    if (text == texts_.end() || !files_.insert(path).second) return;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    for (const std::string& include : includes_of(text->second)) {
      const std::string beside = path_from_root(folder, include);
      add(texts_.contains(beside) ? beside : include);
    }
  }

  const Texts& texts_;
  const Targets& targets_;
  std::set<std::string> linked_;
  std::set<std::string> files_;
};

}  // namespace

std::map<std::string, std::set<std::string>> executables_of(const Texts& texts) {
  const Targets targets = targets_of(texts);
  std::map<std::string, std::set<std::string>> executables;
  for (const auto& [name, target] : targets) {
    if (!target.is_executable) continue;
    FileCollector collector(texts, targets);
    collector.link(name);
    executables.emplace(name, std::move(collector).take());
  }
  return executables;
}

}  // namespace millrace
