// WorkBudget: decides when a loop stops, so that no unit of work on the engine thread is long.
#pragma once

#include <cstddef>

namespace millrace {

class WorkBudget {
 public:
  virtual ~WorkBudget() = default;

  /// Whether the current unit of work must end before its next step. `bytes`: what the caller has
  /// written in this unit and has not reported otherwise.
  virtual bool is_spent(size_t bytes = 0) const = 0;
};

}  // namespace millrace
