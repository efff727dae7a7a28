#include "tests/unit/definition/corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace millrace {
namespace {

/// Whether the line is a mark: `#`, blanks and `^ `, or `#< `.
bool is_mark(std::string_view line) {
  if (line.starts_with("#< ")) return true;
  if (!line.starts_with('#')) return false;
  const size_t at = line.find_first_not_of(' ', 1);
  return at != std::string_view::npos && line.substr(at).starts_with("^ ");
}

std::string mark(const Finding& finding) {
  const std::string place =
      finding.at.column == 1 ? "#<" : "#" + std::string(finding.at.column - 2, ' ') + "^";
  return fmt::format("{} {}{}{}: {}\n", place, finding.code, finding.path.empty() ? "" : " ",
                     finding.path, finding.message);
}

/// The lines of the text, with their line breaks.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

}  // namespace

std::vector<std::string> corpus_files(std::string_view folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path("tests/corpus/definitions") / folder)) {
    files.push_back(entry.path().string());
  }
  if (files.empty()) throw std::runtime_error("no files in the corpus");
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string without_marks(std::string_view annotated) {
  std::string text;
  for (const std::string_view line : lines_of(annotated)) {
    if (!is_mark(line)) text += line;
  }
  return text;
}

std::string with_marks(std::string_view text, const Findings& findings) {
  const std::vector<std::string_view> lines = lines_of(text);
  const std::vector<Finding> sorted = findings.sorted();
  std::string out;
  auto next = sorted.begin();
  for (size_t i = 0; i < lines.size(); ++i) {
    out += lines[i];
    // A finding that is after the last line is marked at the last line.
    for (; next != sorted.end() && (next->at.line == i + 1 || i + 1 == lines.size()); ++next) {
      out += mark(*next);
    }
  }
  return out;
}

}  // namespace millrace
