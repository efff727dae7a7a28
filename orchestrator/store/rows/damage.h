// Damaged rows: a row with content that no release writes gives an error that names the row.
// Because of a damaged row, only the instance, webhook message, delayed event … that the row
// belongs to is given up.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/store/disk/table.h"

namespace millrace {

/// The code of all errors about damaged rows. A retry does not help. Other `store.…` errors are
/// about files and disk space.
inline constexpr std::string_view kDamagedRow = "store.damaged_row";

/// The error of one damaged row. The message of the error has the table, the key, the damage and
/// what to do. `what` is a clause such as "its record is cut short".
Error damaged_row(Table table, std::string_view key, std::string_view what);

inline bool is_damaged_row(const Error& error) { return error.code == kDamagedRow; }

/// Receives the error of each damaged row that a walk skips. If this function is empty, the first
/// damaged row ends the walk, and the walk returns the error of that row.
using OnDamage = std::function<void(const Error& damage)>;

/// The highest number that a row or a counter may have: the ids of timers have the kind of timer in
/// the bits above the number (orchestrator/memory/wait_index.cc). A counter that assigns a million
/// numbers a second reaches the limit after 2 000 years.
inline constexpr uint64_t kMostNumber = (uint64_t{1} << 56) - 1;

/// The bounds of every time in the store: the years 0 to 9999, as RFC 3339 writes them.
inline constexpr TimePoint kFirstTime{Duration{-62'167'219'200'000}};
inline constexpr TimePoint kLastTime{Duration{253'402'300'799'999}};

}  // namespace millrace
