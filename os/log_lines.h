// LogLines: the lines that the messages of the log become. Messages quote input, so a message may
// have any bytes and any length, and a client may cause any number of messages. Each message
// becomes one line of printable text of bounded length; many messages of one kind become few lines
// and their number. Pure; for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace millrace {

/// The text on one line: control characters, characters that change the direction of text, and
/// bytes that are not UTF-8 are escaped (`\n`, `\x1b`, `\u202e`). A text of more than `most` bytes
/// is cut after at most as many, and `...` follows.
std::string one_line(std::string_view text, size_t most);

/// What messages of one kind have in common: the message without quoted texts and without words
/// that have a digit, a point or a slash, of which each becomes `#`. Cut after 100 bytes, as in
/// one_line().
std::string kind_of_message(std::string_view text);

class LogLines {
 public:
  static constexpr size_t kMostBytes = 4'096;   ///< of a message, see one_line()
  static constexpr uint64_t kMostOfAKind = 20;  ///< lines of one kind in one period
  static constexpr Duration kPeriod = std::chrono::minutes(1);
  static constexpr size_t kMostKinds = 200;  ///< further kinds count as one kind

  /// The lines to write for a message at the time `now`: first the numbers of messages that were
  /// left out in periods that have ended, then the message, unless it is left out. A message that
  /// is `urgent` is never left out.
  std::vector<std::string> add(std::string_view message, TimePoint now, bool urgent = false);

  /// The lines with the numbers of all messages that were left out and not reported yet. For the
  /// end of the process.
  std::vector<std::string> rest();

 private:
  struct Kind {
    TimePoint since;
    uint64_t written = 0;
    uint64_t left_out = 0;
  };

  std::vector<std::string> end_periods(TimePoint now);

  std::map<std::string, Kind> kinds_;
};

}  // namespace millrace
