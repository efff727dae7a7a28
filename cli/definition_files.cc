#include "cli/definition_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/characters.h"
#include "language/document.h"
#include "language/scenario_names.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool has_definition_name(const fs::path& file) {
  if (is_scenario_file(file.filename().string())) return false;
  const fs::path ending = file.extension();
  return ending == ".yaml" || ending == ".yml" || ending == ".json";
}

bool is_yaml(const fs::path& file) {
  const fs::path ending = file.extension();
  return ending == ".yaml" || ending == ".yml";
}

bool mentions_state(std::string_view text) {
  constexpr std::string_view kWord = "state";
  return std::search(text.begin(), text.end(), kWord.begin(), kWord.end(),
                     [](char a, char b) { return lower_case(a) == b; }) != text.end();
}

}  // namespace

Result<std::vector<fs::path>> definition_files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (is_hidden(path)) {
      entry.disable_recursion_pending();
      continue;
    }
    if (!has_definition_name(path)) continue;
    std::error_code unknown;
    const fs::file_type type = entry->status(unknown).type();
    // A dangling link stays in the list, so that reading it reports the error.
    if (type == fs::file_type::regular || type == fs::file_type::not_found) files.push_back(path);
  }
  if (error) {
    return fail("file.unreadable", fmt::format("{}: {}", folder.string(), error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool looks_like_definition(const fs::path& file, std::string_view text) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  if (!document) {
    const bool is_empty = findings.sorted().front().code == "definition.empty";
    return is_yaml(file) ? !is_empty : mentions_state(text);
  }
  if (document->find("states") != nullptr) return true;
  if (document->find("id") == nullptr) return false;
  return is_yaml(file) ||
         std::any_of(document->members.begin(), document->members.end(), [](const Member& member) {
           return likely(member.key, {"states"}).has_value();
         });
}

std::string passed_over(const fs::path& file, std::string_view text) {
  Findings findings;
  const std::optional<Node> document = parse_document(text, findings);
  if (document && document->find("services") != nullptr) {
    return fmt::format(
        "{0}: skipped: it has settings of a namespace; set them with `millrace "
        "namespace create NAMESPACE --settings @{0}`",
        file.string());
  }
  return fmt::format("{}: skipped: it is not a workflow, which has an \"id\" and \"states\"",
                     file.string());
}

}  // namespace millrace
