// RecordingLog: a log of a cluster that keeps what is appended to it, and fails on request.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/ports/commit_log.h"

namespace millrace {

class RecordingLog final : public CommitLog {
 public:
  Result<LogPosition> append(std::string_view write_set) override {
    ++asked;
    if (on_append) on_append();
    if (failure) return tl::unexpected(*failure);
    appended.emplace_back(write_set);
    return last();
  }

  /// The position of the last commit.
  LogPosition last() const {
    const uint64_t number = appended.size();
    LogPosition position{.sequence = number + 10, .name = {.epoch = 3, .commit = number}};
    position.name.incarnation.fill(1);
    position.node.fill(2);
    position.chain.fill(static_cast<uint8_t>(number));
    return position;
  }

  int asked = 0;
  std::vector<std::string> appended;
  std::optional<Error> failure;     ///< the error of each append
  std::function<void()> on_append;  ///< called before each commit is in the log
};

}  // namespace millrace
