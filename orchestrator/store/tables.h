// Tables: what concerns all tables of a View together.
#pragma once

#include <array>
#include <cstdint>

#include "orchestrator/store/transaction.h"

namespace millrace {

/// All tables, in the order of their absolute keys.
const std::array<Table, kTables.size()>& tables_in_order();

/// The approximate number of rows of all tables (View::about_rows), for messages of progress.
uint64_t about_rows_of(const View& view);

}  // namespace millrace
