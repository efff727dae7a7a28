// Runs every tests/tables/*.table. Each case is a test, which is named after the title of the case.
// UPDATE_GOLDEN=1 build/dev/tests/tables/tables_test writes the actual behaviour into the files.
// Then read the diff.
#include "tests/tables/table_suite.h"

namespace millrace {
namespace {

class StateTable : public testing::TestWithParam<TableCase> {};

TEST_P(StateTable, Holds) {
  ASSERT_NE(GetParam().line, 0u) << GetParam().title;
  expect_rows(GetParam(), run_case(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Tables, StateTable, testing::ValuesIn(cases_in_files(".table")),
                         name_of_case);

}  // namespace
}  // namespace millrace
