// A fresh data folder for one test, gone with it.
#pragma once

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace millrace {

class Folder {
 public:
  explicit Folder(const std::string& parent = testing::TempDir()) {
    std::string pattern = parent + "millrace-store-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace millrace
