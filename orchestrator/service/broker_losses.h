// BrokerLosses: the messages that the broker was found to have lost since startup. Each loss is
// logged as an error and counted in the metrics; `/v1/info` shows the latest kShown losses. Any
// thread.
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

  /// Both arguments outlive the BrokerLosses.
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
