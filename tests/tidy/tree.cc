#include "tests/tidy/tree.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

namespace millrace {
namespace {

/// Whether the file or folder is made by a build, or is not of the project.
bool is_foreign(const std::filesystem::path& path) {
  const std::filesystem::path relative = path.lexically_relative(root());
  const std::string first = relative.begin()->string();
  return first == "build" || first.starts_with(".") || relative == "page/node_modules" ||
         relative == "page/dist";
}

}  // namespace

std::filesystem::path root() { return MILLRACE_SOURCES; }

std::vector<std::filesystem::path> all_files() {
  std::vector<std::filesystem::path> files;
  for (auto at = std::filesystem::recursive_directory_iterator(root());
       at != std::filesystem::recursive_directory_iterator(); ++at) {
    if (is_foreign(at->path())) {
      if (at->is_directory()) at.disable_recursion_pending();
    } else if (at->is_regular_file()) {
      files.push_back(at->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_program_source(const std::filesystem::path& path) {
  static const std::set<std::string> kRooms = {
      "app",          "base",    "broker",   "cli",       "cloudevents", "expressions",
      "functions",    "gateway", "http",     "language",  "matchers",    "model",
      "orchestrator", "os",      "policies", "scenarios", "states"};
  const bool is_source = path.extension() == ".h" || path.extension() == ".cc";
  return is_source && kRooms.contains(path.begin()->string());
}

std::vector<std::string> includes_of(std::string_view text) {
  constexpr std::string_view kInclude = "#include \"";
  std::vector<std::string> headers;
  for (size_t at = text.find(kInclude); at != std::string_view::npos;
       at = text.find(kInclude, at + 1)) {
    const size_t begin = at + kInclude.size();
    headers.emplace_back(text.substr(begin, text.find('"', begin) - begin));
  }
  return headers;
}

}  // namespace millrace
