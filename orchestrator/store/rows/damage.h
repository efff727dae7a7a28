// Damaged rows: one that holds what no release writes is an error of its own, which names the row.
// What owns the row (an instance, a hook, a delayed event …) is set aside for it, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/store/disk/table.h"

namespace millrace {

/// The code of all errors of damaged rows. Reading again does not help; other `store.…` errors are
/// about files and room.
inline constexpr std::string_view kDamagedRow = "store.damaged_row";

/// The error of one row: names the table and the key, says what is wrong with it and what to do.
/// `what` reads as "its record is cut short".
Error damaged_row(Table table, std::string_view key, std::string_view what);

inline bool is_damaged_row(const Error& error) { return error.code == kDamagedRow; }

/// Hears of each damaged row that a walk has passed over; none: the first one ends the walk, as its
/// error.
using OnDamage = std::function<void(const Error& damage)>;

/// The highest number that a row or a counter may have: the timers of rows have their kind above it
/// (orchestrator/memory/wait_index.cc). It takes a million numbers a second for 2 000 years.
inline constexpr uint64_t kMostNumber = (uint64_t{1} << 56) - 1;

/// The bounds of every time in the store: the years 0 to 9999, as RFC 3339 writes them.
inline constexpr TimePoint kFirstTime{Duration{-62'167'219'200'000}};
inline constexpr TimePoint kLastTime{Duration{253'402'300'799'999}};

}  // namespace millrace
