// The store check (orchestrator/check) at the end of a test: each finding fails the test.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "orchestrator/check/store_check.h"

namespace millrace {

/// The options of store checks in tests: those of millrace itself, but each definition is loaded
/// only once in a process, and the store may belong to a cluster.
StoreCheckOptions test_check_options();

/// Checks the rows of `view`. Findings are reported with `when`.
void expect_sound(const View& view, std::string_view when);

/// Checks the store in that folder, which no process may have open. A folder without a store is
/// sound, and so is one into which a snapshot was being loaded: its node loads it again.
void expect_sound_folder(const std::filesystem::path& folder, std::string_view when);

}  // namespace millrace
