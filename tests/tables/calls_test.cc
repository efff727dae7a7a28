// Runs every tests/tables/*.calls: calls that a service answers, accepts or never answers, and
// their files. UPDATE_GOLDEN=1 build/dev/tests/tables/calls_test writes the actual behaviour into
// the files. Then read the diff.
#include <memory>
#include <utility>

#include "tests/tables/call_rows.h"
#include "tests/tables/table_suite.h"
#include "tests/unit/service/local_service_fixture.h"

namespace millrace {
namespace {

class CallTable : public LocalServiceTest, public testing::WithParamInterface<TableCase> {};

TEST_P(CallTable, Holds) {
  ASSERT_NE(GetParam().line, 0u) << GetParam().title;
  service.reset();  // the run makes one for each process
  const auto make_service = [this](CallFiles& files) {
    LocalService::Parts made = parts(world.processor());
    made.call_files = &files;
    return std::make_unique<LocalService>(std::move(made));
  };
  expect_rows(GetParam(), run_call_case(GetParam(), world, make_service));
}

INSTANTIATE_TEST_SUITE_P(Tables, CallTable, testing::ValuesIn(cases_in_files(".calls")),
                         name_of_case);

}  // namespace
}  // namespace millrace
