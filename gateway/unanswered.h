// Unanswered: the exchanges of a node of a cluster that its engine may still answer. For one thread
// at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gateway/exchange.h"
#include "gateway/problem.h"

namespace millrace {

class Unanswered {
 public:
  void note(const std::shared_ptr<Exchange>& exchange) {
    if (exchanges_.size() >= most_) {
      std::erase_if(exchanges_, [](const auto& one) { return one.expired(); });
      most_ = std::max(kFew, 2 * exchanges_.size());
    }
    exchanges_.push_back(exchange);
  }

  /// Answers all of them, and forgets them. Those that were answered before keep their answer.
  void answer_all(const Error& error) {
    for (const auto& one : std::exchange(exchanges_, {})) {
      if (const auto exchange = one.lock()) exchange->answer(problem(error));
    }
  }

 private:
  /// How many are noted at least before those that have ended are forgotten.
  static constexpr size_t kFew = 64;

  std::vector<std::weak_ptr<Exchange>> exchanges_;  ///< some of them have ended
  size_t most_ = kFew;
};

}  // namespace millrace
