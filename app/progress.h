// Progress: shows on a terminal how many rows a verb has processed. For one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>

#include <fmt/format.h>

#include "cli/console.h"

namespace millrace {

class RowProgress {
 public:
  explicit RowProgress(Console& console) : console_(console) {}
  ~RowProgress() { clear(); }
  RowProgress(const RowProgress&) = delete;
  RowProgress& operator=(const RowProgress&) = delete;

  /// `of`: the approximate number of all rows; 0: unknown.
  void show(uint64_t rows, uint64_t of) {
    const auto now = std::chrono::steady_clock::now();
    if (!console_.err_is_terminal || now < next_) return;
    next_ = now + kInterval;
    shown_ = true;
    console_.err << "\r\x1b[K"
                 << (of > 0 ? fmt::format("{} of about {} rows", rows, of)
                            : fmt::format("{} rows", rows))
                 << std::flush;
  }

  /// Erases the line.
  void clear() {
    if (shown_) console_.err << "\r\x1b[K" << std::flush;
    shown_ = false;
  }

 private:
  /// Progress is shown only after this time; a shorter verb shows none.
  static constexpr std::chrono::milliseconds kDelay{500};
  static constexpr std::chrono::milliseconds kInterval{200};

  Console& console_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kDelay;
};

}  // namespace millrace
