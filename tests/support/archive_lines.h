// The lines of an archive of deleted instances, for tests.
#pragma once

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/support/file_bytes.h"

namespace millrace {

/// The lines of the file. A line that is not JSON or has no line feed fails the test.
inline std::vector<Json> archive_lines_of(const std::filesystem::path& file) {
  std::vector<Json> found;
  std::istringstream bytes(file_bytes(file));
  for (std::string line; std::getline(bytes, line);) {
    EXPECT_TRUE(is_json(line)) << line;
    EXPECT_FALSE(bytes.eof()) << "the last line has no line feed: " << line;
    if (is_json(line)) found.push_back(Json::parse(line));
  }
  return found;
}

/// The ids of the instances in the file, each as often as it has a line.
inline std::multiset<std::string> archived_ids(const std::filesystem::path& file) {
  std::multiset<std::string> ids;
  for (const Json& line : archive_lines_of(file)) ids.insert(line.at("id").get<std::string>());
  return ids;
}

}  // namespace millrace
