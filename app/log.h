// The log of the process, on standard error.
#pragma once

namespace millrace {

/// Sends the log to standard error: `2026-11-23T09:00:00.000Z warning …`, one line of printable
/// text for each message, and few lines for many messages of one kind (os/log_lines.h).
void log_to_stderr();

/// Writes how many messages were left out and not reported yet. For the end of the process.
void end_log();

}  // namespace millrace
