// The bytes of a file, for tests.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "os/read_file.h"

namespace millrace {

/// Empty if there is no file: a test that compares the bytes then fails.
inline std::string file_bytes(const std::filesystem::path& path) {
  return read_file(path, size_t{1} << 30).value_or("");
}

}  // namespace millrace
