// docs/coverage.md names the tests of each key of the language. The page must have every key of
// the grammar, and each test that it names must exist.
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "language/grammar.h"
#include "tests/support/file_bytes.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPage = "docs/coverage.md";

/// The bytes of a file that must exist.
std::string bytes_of_existing(const fs::path& file) {
  EXPECT_TRUE(fs::is_regular_file(file)) << file;
  return file_bytes(file);
}

std::vector<std::string> split(std::string_view text, std::string_view by) {
  std::vector<std::string> parts;
  while (true) {
    const size_t at = text.find(by);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + by.size());
  }
}

/// A row of the page: its heading, its first cell, and its references to tests.
struct PageRow {
  std::string mapping;
  std::string what;
  std::string shown_by;
};

std::vector<PageRow> rows_of(const std::string& page) {
  std::vector<PageRow> rows;
  std::string mapping;
  for (const std::string& line : split(page, "\n")) {
    if (line.starts_with("## ")) mapping = line.substr(3);
    const auto cells = split(line, " | ");
    if (!line.starts_with("| ") || cells.size() != 2 || line.starts_with("| --- ")) continue;
    rows.push_back({mapping, cells[0].substr(2), cells[1].substr(0, cells[1].rfind(" |"))});
  }
  return rows;
}

/// A title as it is written in its file: a case of a table, a scenario or a test. In other files,
/// any text.
std::string as_written(const fs::path& file, const std::string& title) {
  const std::string name = file.filename().string();
  if (name.ends_with(".table")) return fmt::format(": {}\n", title);  // behind `case…`
  if (name.ends_with(".test.yaml")) return fmt::format("- name: {}\n", title);
  if (name.ends_with("_test.cc")) {
    const size_t dot = title.find('.');
    return fmt::format("({}, {})", title.substr(0, dot), title.substr(dot + 1));
  }
  return title;
}

/// Checks a reference `[name](path): title · title`: the file and each title in it must exist.
void check_reference(const std::string& reference, const std::string& row) {
  const size_t begin = reference.find("](") + 2;
  const size_t end = reference.find("): ");
  ASSERT_TRUE(reference.starts_with('[') && end != std::string::npos) << row << ": " << reference;
  const fs::path file = fs::path("docs") / reference.substr(begin, end - begin);
  const std::string text = bytes_of_existing(file.lexically_normal());
  for (const std::string& title : split(reference.substr(end + 3), " · ")) {
    EXPECT_NE(text.find(as_written(file, title)), std::string::npos)
        << row << ": " << file << " has no \"" << title << "\"";
  }
}

TEST(Coverage, HasEveryKeyOfTheGrammar) {
  std::set<std::pair<std::string, std::string>> found;
  for (const PageRow& row : rows_of(bytes_of_existing(kPage))) {
    const size_t begin = row.what.find('`') + 1;
    found.emplace(row.mapping, row.what.substr(begin, row.what.rfind('`') - begin));
  }
  for (const Mapping* mapping : all_mappings()) {
    for (const KeyRule* key : mapping->keys()) {
      EXPECT_TRUE(found.contains({std::string(mapping->name), std::string(key->name)}))
          << kPage << " has no row `" << key->name << "` below the heading " << mapping->name;
    }
  }
}

TEST(Coverage, NamesOnlyTestsThatExist) {
  const std::vector<PageRow> rows = rows_of(bytes_of_existing(kPage));
  EXPECT_GT(rows.size(), 250U);
  for (const PageRow& row : rows) {
    if (row.shown_by == "shown by") continue;
    for (const std::string& reference : split(row.shown_by, "<br>")) {
      if (reference.starts_with("not yet: ")) continue;
      check_reference(reference, fmt::format("{}, {}", row.mapping, row.what));
    }
  }
}

}  // namespace
}  // namespace millrace
