// Runs every tests/tables/*.table. Each case is a test, which is named after the title of the case.
// UPDATE_GOLDEN=1 build/dev/tests/tables/tables_test writes the actual behaviour into the files.
// Then read the diff.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/tables/table_file.h"

namespace millrace {

// The name that gtest prints beside the name of the test.
void PrintTo(const TableCase& table_case, std::ostream* out) { *out << table_case.title; }

namespace {

std::filesystem::path folder() { return MILLRACE_TABLES; }

std::string read_file(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(folder() / name).rdbuf();
  return text.str();
}

/// A file that cannot be read gives one case, which fails and has the reason as its title.
std::vector<TableCase> all_cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() == ".table") names.push_back(entry.path().filename());
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

std::string name_of(const testing::TestParamInfo<TableCase>& info) {
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

class StateTable : public testing::TestWithParam<TableCase> {};

TEST_P(StateTable, Holds) {
  const TableCase& expected = GetParam();
  const std::string path = folder() / expected.file;
  ASSERT_NE(expected.line, 0u) << expected.title;
  const auto actual = run_case(expected);
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

INSTANTIATE_TEST_SUITE_P(Tables, StateTable, testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace millrace
