// BrokerLosses: what the broker was found to have lost since this process began. Each is an error
// in the log and counted in the metrics; the last ones are shown by `/v1/info`. Any thread.
#pragma once

#include <deque>
#include <mutex>

#include "base/json.h"
#include "base/time.h"
#include "orchestrator/loop/metrics.h"
#include "orchestrator/ports/clock.h"
#include "orchestrator/ports/event_stream.h"

namespace millrace {

class BrokerLosses {
 public:
  static constexpr size_t kShown = 16;

  /// Both outlive it.
  BrokerLosses(const Clock& clock, Metrics& metrics) : clock_(clock), metrics_(metrics) {}

  void add(const BrokerLoss& loss);

  /// [{"time","kind","first","last","detail"}], oldest first.
  Json list() const;

 private:
  const Clock& clock_;
  Metrics& metrics_;
  mutable std::mutex lock_;
  std::deque<Json> last_;
};

}  // namespace millrace
