// A table file: workflows, and for each of them cases of rows that say what an instance is given
// and what it does (README.md has the form). Reads it, runs it, writes it again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tests/tables/instance_run.h"

namespace millrace {

/// Rows that would be wider are written below each other.
inline constexpr size_t kMostWidth = 160;

struct TableRow {
  size_t line = 0;                    ///< counted from 1
  std::vector<std::string> comments;  ///< above it
  TraceRow row;
  bool is_inherited = false;  ///< of `case after enter:`: it stands in the case above
};

struct TableCase {
  std::string file;
  size_t line = 0;
  std::string title;
  std::string workflow;  ///< YAML
  Json input = Json::object();
  std::vector<TableRow> rows;
};

/// The cases of a file, in order. Error `table.malformed` names file and line.
Result<std::vector<TableCase>> parse_table(const std::string& file, std::string_view text);

/// What the case really does: its rows with state, status and does as they come out. Error
/// `table.input` names file and line of a row that cannot be carried out.
Result<std::vector<TableRow>> run_case(const TableCase& table_case);

/// `text` with the rows of the case in place of those it has, in columns of at most kMostWidth.
/// Inherited rows stay where they are.
std::string replace_rows(std::string_view text, const TableCase& table_case,
                         const std::vector<TableRow>& rows);

}  // namespace millrace
