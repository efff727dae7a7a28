// EvaluationsUnderWay: the evaluations that were started for instances and whose results the engine
// thread has not taken yet. An evaluation whose result its instance does not need any more, because
// the instance has ended or has made another step, is stopped. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <unordered_map>

#include "base/ids.h"

namespace millrace {

class EvaluationsUnderWay {
 public:
  /// Adds an evaluation of the instance, whose number of the step is that of evaluation_of(), and
  /// stops those with another number: the instance ignores their results. Returns what stops the
  /// evaluation.
  std::stop_token add(const InstanceId& instance, uint64_t step);

  /// The result of the evaluation has come. An unknown one is ignored: it was stopped.
  void remove(const InstanceId& instance, uint64_t step);

  /// The instance has ended: stops its evaluations.
  void stop(const InstanceId& instance);

  /// The number of instances with an evaluation that was not stopped.
  size_t size() const { return instances_.size(); }

 private:
  struct Asked {
    uint64_t step = 0;
    size_t count = 0;  ///< several if the instance asked again after the store was read again
    std::stop_source stop;
  };
  std::unordered_map<InstanceId, Asked> instances_;
};

}  // namespace millrace
