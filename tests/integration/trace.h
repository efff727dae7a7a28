// Traces: what happened to instances as a text that is the same in every run, for comparing with
// the file beside an example. Ids become `id-1`, `id-2`, … in the order of their appearance, times
// become `TIME`.
#pragma once

#include <string>
#include <vector>

#include "tests/support/millrace_server.h"

namespace millrace {

/// One paragraph an instance: how it ended, then its history, a line a record.
std::string trace_of(const MillraceServer& millrace, const std::vector<std::string>& instances);

/// Compares with the file; with UPDATE_GOLDEN=1 in the environment writes it instead.
void expect_golden(const std::string& path, const std::string& actual);

}  // namespace millrace
