// A table file: workflows, and for each workflow cases. The rows of a case have the inputs of an
// instance and its behaviour (README.md has the format). Reads, runs and writes such a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tests/tables/instance_run.h"

namespace millrace {

/// The `does` of a wider row is written below the row.
inline constexpr size_t kMostWidth = 160;

struct TableRow {
  size_t line = 0;                    ///< counted from 1
  std::vector<std::string> comments;  ///< above it
  TraceRow row;
  bool is_inherited = false;  ///< of `case after enter:`: the row is written in the case above
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

/// Runs the case: its rows with the actual state, status and does. Error `table.input` names file
/// and line of a row that cannot be run.
Result<std::vector<TableRow>> run_case(const TableCase& table_case);

/// `text` with `rows` in place of the rows of the case, in columns of at most kMostWidth. Inherited
/// rows are not written.
std::string replace_rows(std::string_view text, const TableCase& table_case,
                         const std::vector<TableRow>& rows);

}  // namespace millrace
