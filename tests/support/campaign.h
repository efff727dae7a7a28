// Campaign: many runs of one kind in one test. A Campaign counts its runs. Its destructor prints a
// line, from which `./dev faults` makes its table.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace millrace {

class Campaign {
 public:
  /// `checked` describes the checks of each run.
  Campaign(std::string name, std::string checked)
      : name_(std::move(name)), checked_(std::move(checked)) {}

  ~Campaign() {
    if (failures_ == 0 && failed_parts() != 0) ++failures_;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - started_;
    fmt::print("campaign|{}|{}|{}|{}|{:.1f} s\n", name_, runs_, checked_, failures_, time.count());
  }
  Campaign(const Campaign&) = delete;
  Campaign& operator=(const Campaign&) = delete;

  /// Runs once. The failures of the run are reported with `label`.
  template <class Body>
  void run(std::string_view label, const Body& body) {
    const testing::ScopedTrace trace("", 0, std::string(label));
    const int before = failed_parts();
    body();
    ++runs_;
    if (failed_parts() != before) ++failures_;
  }

  /// Counts a run that is not made by run() and whose checks come at the end of the test.
  void count() { ++runs_; }

 private:
  static int failed_parts() {
    const testing::TestResult& result =
        *testing::UnitTest::GetInstance()->current_test_info()->result();
    int failed = 0;
    for (int i = 0; i < result.total_part_count(); ++i)
      failed += result.GetTestPartResult(i).failed();
    return failed;
  }

  std::string name_;
  std::string checked_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  size_t runs_ = 0;
  size_t failures_ = 0;
};

}  // namespace millrace
