#include "tests/tables/table_suite.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace millrace {
namespace {

std::filesystem::path folder() { return MILLRACE_TABLES; }

std::string read_file(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(folder() / name).rdbuf();
  return text.str();
}

bool same(const TraceRow& a, const TraceRow& b) {
  return a.state == b.state && a.status == b.status && a.does == b.does;
}

/// The lines that only the table has, and the lines that only the actual row has.
std::string difference(const TraceRow& expected, const TraceRow& actual) {
  const auto lines = [](const TraceRow& row) {
    std::vector<std::string> all{row.state + " | " + row.status};
    all.insert(all.end(), row.does.begin(), row.does.end());
    return all;
  };
  const auto only = [](const std::vector<std::string>& these, const std::vector<std::string>& those,
                       std::string_view mark) {
    std::string text;
    for (const std::string& line : these) {
      if (std::find(those.begin(), those.end(), line) == those.end()) {
        text.append("\n").append(mark).append(line);
      }
    }
    return text;
  };
  const auto before = lines(expected);
  const auto after = lines(actual);
  const std::string text =
      only(before, after, "  expected: ") + only(after, before, "  actual:   ");
  return text.empty() ? "\n  the lines have another order, or another count" : text;
}

}  // namespace

void PrintTo(const TableCase& table_case, std::ostream* out) { *out << table_case.title; }

std::vector<TableCase> cases_in_files(std::string_view ending) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() == ending) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  std::vector<TableCase> all;
  for (const std::string& name : names) {
    auto cases = parse_table(name, read_file(name));
    if (!cases) cases = std::vector{TableCase{.file = name, .title = cases.error().message}};
    for (TableCase& one : *cases) all.push_back(std::move(one));
  }
  return all;
}

std::string name_of_case(const testing::TestParamInfo<TableCase>& info) {
  std::string name = info.param.file.substr(0, info.param.file.find('.')) + "_";
  bool begins_word = true;
  for (const char c : info.param.title) {
    if (c >= 'a' && c <= 'z' && begins_word) {
      name.push_back(static_cast<char>(c - 'a' + 'A'));
    } else if (std::isalnum(static_cast<unsigned char>(c))) {
      name.push_back(c);
    }
    begins_word = c == ' ';
  }
  return name;
}

void expect_rows(const TableCase& expected, const Result<std::vector<TableRow>>& actual) {
  const std::string path = folder() / expected.file;
  ASSERT_TRUE(actual) << actual.error().message;
  ASSERT_FALSE(actual->empty()) << path << ":" << expected.line << ": a case needs rows";

  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    // The lines of the case may have moved, because a case above it was written before.
    const std::string text = read_file(expected.file);
    const auto now = parse_table(expected.file, text);
    ASSERT_TRUE(now) << now.error().message;
    for (const TableCase& one : *now) {
      if (one.title != expected.title) continue;
      std::ofstream(path) << replace_rows(text, one, *actual);
    }
    return;
  }
  for (size_t i = 0; i < actual->size(); ++i) {
    const TableRow& row = expected.rows[i];
    if (same(row.row, (*actual)[i].row)) continue;
    ADD_FAILURE_AT(path.c_str(), static_cast<int>(row.line))
        << row.row.at << " | " << row.row.input << difference(row.row, (*actual)[i].row)
        << "\nUPDATE_GOLDEN=1 writes the actual behaviour";
  }
}

}  // namespace millrace
