// GatewayLanes: the lanes of the gateway, each with threads and a queue of its own. Any thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "gateway/router.h"
#include "gateway/worker_lane.h"

namespace millrace {

struct TransportLimits;

/// Where the request comes from. Requests without a namespace have turns by their path, so that
/// `/readyz` does not wait for all requests of the same client for `/metrics`.
RequestSource source_of(const Request& request);

class GatewayLanes {
 public:
  explicit GatewayLanes(const TransportLimits& limits);

  /// Calls `work` on a thread of the lane, which is not kByMethod; for kInPlace at once. If the
  /// lane has no place for it, `refuse` is called instead, with the error `busy`, on the thread of
  /// this call or of a later one.
  void run(Lane lane, const RequestSource& source, std::function<void()> work,
           std::function<void(const Error&)> refuse);

  /// Calls `work`, which continues a request, on a thread of the lane. It is never refused: in the
  /// lane for reads such requests are bounded by those that wait long, and in the lane for files
  /// each connection has one at most.
  void proceed(Lane lane, std::function<void()> work);

  struct LaneFigures {
    std::string_view lane;  ///< the name of the lane in metrics
    WorkerLane::Counts counts;
  };
  /// The figures of all lanes that have threads.
  std::vector<LaneFigures> figures() const;

  /// Drops the waiting work; returns when the running work has ended. May be called again.
  void stop();

 private:
  struct Named {
    Lane lane;
    std::string_view name;
    std::unique_ptr<WorkerLane> threads;
  };

  std::array<Named, 7> lanes_;
};

}  // namespace millrace
