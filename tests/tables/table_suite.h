// Table suite: each case of the table files is a test, which is named after the title of the case.
// With UPDATE_GOLDEN=1 the test writes the actual behaviour into the file.
#pragma once

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/result.h"
#include "tests/tables/table_file.h"

namespace millrace {

/// The name that gtest prints beside the name of the test.
void PrintTo(const TableCase& table_case, std::ostream* out);

/// The cases of all files with that ending, such as `.table`, by the names of the files. A file
/// that cannot be read gives one case, which fails and has the reason as its title.
std::vector<TableCase> cases_in_files(std::string_view ending);

/// The file without its ending and the title of the case, as the name of a test.
std::string name_of_case(const testing::TestParamInfo<TableCase>& info);

/// Expects the rows of the case; `actual`: those that running it has given.
void expect_rows(const TableCase& expected, const Result<std::vector<TableRow>>& actual);

}  // namespace millrace
