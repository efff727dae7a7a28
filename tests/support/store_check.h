// The store check (orchestrator/check) behind a test: each finding fails it.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "orchestrator/check/store_check.h"

namespace millrace {

/// How tests check stores: as the server does, but each definition is loaded once a process.
StoreCheckOptions test_check_options();

/// Checks the rows as `view` has them. `when` is told with each finding.
void expect_sound(const View& view, std::string_view when);

/// Checks the store in that folder, which nobody may have open. A folder without one is sound.
void expect_sound_folder(const std::filesystem::path& folder, std::string_view when);

}  // namespace millrace
