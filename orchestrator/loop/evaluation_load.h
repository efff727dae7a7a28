// EvaluationLoad: the evaluations that were started and whose results the engine has not applied
// yet. They keep their inputs in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "orchestrator/batch/input.h"

namespace millrace {

struct EvaluationLoad {
  size_t count = 0;
  uint64_t bytes = 0;  ///< of the inputs

  EvaluationLoad& operator+=(const EvaluationLoad& other) {
    count += other.count;
    bytes += other.bytes;
    return *this;
  }
  EvaluationLoad& operator-=(const EvaluationLoad& other) {
    count -= other.count;
    bytes -= other.bytes;
    return *this;
  }
  friend EvaluationLoad operator+(EvaluationLoad one, const EvaluationLoad& other) {
    return one += other;
  }
  bool operator==(const EvaluationLoad&) const = default;
};

/// The load of the evaluations with these results.
inline EvaluationLoad load_of(std::span<const EvaluatedInput> results) {
  EvaluationLoad load;
  for (const EvaluatedInput& one : results) load += {.count = 1, .bytes = one.bytes};
  return load;
}

}  // namespace millrace
