// The rows of a case whose calls are answered from outside: reads their inputs and plays them
// (README.md, "Calls").
#pragma once

#include <vector>

#include "base/result.h"
#include "tests/tables/call_run.h"
#include "tests/tables/table_file.h"

namespace millrace {

/// Plays the case in the world, which must be new: its rows with the actual state, status and does.
/// Error `table.input` names file and line of a row that cannot be run.
Result<std::vector<TableRow>> run_call_case(const TableCase& table_case, World& world,
                                            CallRun::MakeService make_service);

}  // namespace millrace
