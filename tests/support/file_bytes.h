// The bytes of a file, for tests.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "os/read_file.h"

namespace millrace {

/// The bytes of the file; empty if it does not exist, so that a test which compares the bytes
/// fails.
inline std::string file_bytes(const std::filesystem::path& path) {
  return read_file(path, size_t{1} << 30).value_or("");
}

}  // namespace millrace
