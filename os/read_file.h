// The bytes of a file that a user named: a path may lead to a folder, a pipe, a device without an
// end, or nowhere, and each of these is an error value or is read up to a bound.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "os/descriptor.h"

namespace millrace {

/// Reads a file, pipe or device to its end. Error `file.unreadable`, with the path and the reason:
/// it does not exist, is a directory, may not be read, or holds more than `most_bytes`. A pipe
/// blocks until its writer has closed it.
Result<std::string> read_file(const std::filesystem::path& path, size_t most_bytes);

/// The first bytes of it, all if there are no more than `most_bytes`. Errors: those of read_file,
/// but for the size.
Result<std::string> read_at_most(const std::filesystem::path& path, size_t most_bytes);

/// What is still to be read of an open file, pipe or device, up to `most_bytes`. The message of an
/// error is the reason alone.
Result<std::string> read_at_most(const Descriptor& file, size_t most_bytes);

}  // namespace millrace
