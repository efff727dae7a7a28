// Reads a file that a user named. If the path is a directory or does not exist, that is reported as
// an error. A pipe or an endless device is read up to a bound.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "os/descriptor.h"

namespace millrace {

/// Reads a file, pipe or device to its end. Error `file.unreadable`, with the path and the reason:
/// the file does not exist, is a directory, may not be read, or holds more than `most_bytes`.
/// Reading a pipe blocks until its writer closes it.
Result<std::string> read_file(const std::filesystem::path& path, size_t most_bytes);

/// Reads at most the first `most_bytes` of a file, pipe or device. Errors: those of read_file,
/// except that a larger file is not an error.
Result<std::string> read_at_most(const std::filesystem::path& path, size_t most_bytes);

/// Reads at most `most_bytes` of an open file, pipe or device from its current position. Error
/// `file.unreadable`; its message is the reason without a path.
Result<std::string> read_at_most(const Descriptor& file, size_t most_bytes);

}  // namespace millrace
