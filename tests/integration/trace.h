// Traces: the history of instances as a text that is the same in every run, for a comparison with
// the file trace.golden of an example. Ids become `id-1`, `id-2`, … in the order of their
// appearance, times become `TIME`.
#pragma once

#include <string>
#include <vector>

#include "tests/support/millrace_server.h"

namespace millrace {

/// One paragraph for each instance: its status and output, then its history, one line a record.
std::string trace_of(const MillraceServer& millrace, const std::vector<std::string>& instances);

/// Expects that the file has this text. With UPDATE_GOLDEN=1 in the environment it writes the file.
void expect_golden(const std::string& path, const std::string& actual);

}  // namespace millrace
