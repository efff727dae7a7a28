// The bytes of a file that a user named: a path may lead to a folder, a pipe, a device without an
// end, or nowhere, and each of these is an error value or is read up to a bound.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace millrace {

/// Reads a file, pipe or device to its end. Error `file.unreadable`, with the path and the reason:
/// it does not exist, is a directory, may not be read, or holds more than `most_bytes`. A pipe
/// blocks until its writer has closed it.
Result<std::string> read_file(const std::filesystem::path& path, size_t most_bytes);

}  // namespace millrace
