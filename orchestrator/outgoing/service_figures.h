// ServiceFigures: how fast the workers of each service start its tasks, and with which error an
// attempt failed last, for queries. In memory only: the figures begin again when millrace starts.
// Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/instance.h"

namespace millrace {

class ServiceFigures {
 public:
  /// The number of a service that has figures; 0: it has none.
  using Number = uint32_t;

  /// The most services that have figures; further ones have none.
  static constexpr size_t kMostServices = 4'096;
  /// The number of latest starts of a service from which its percentiles are computed.
  static constexpr size_t kLatestStarts = 256;
  /// The length at which the code and the message of an error are cut, in bytes.
  static constexpr size_t kMostMessageBytes = 1'024;

  /// The service with this name, of the tasks of this namespace.
  Number number_of(NamespaceNumber ns, std::string_view service);

  /// The first report of a task came this long after the task was handed out.
  void started(Number service, Duration after);
  /// An attempt has failed. `is_sealed`: the message may contain data of a secret, and is not kept.
  void failed(Number service, const Error& error, bool is_sealed, TimePoint at);

  struct Failure {
    std::string code;
    std::optional<std::string> message;  ///< nullopt: it is not shown
    TimePoint at;
  };
  struct Figures {
    /// Times from a task's handing out to its start: half of the latest ones, and 99 % of them, are
    /// not longer. nullopt: no task has started.
    std::optional<Duration> p50;
    std::optional<Duration> p99;
    std::optional<Failure> last_failure;
  };
  Figures of(NamespaceNumber ns, std::string_view service) const;

 private:
  struct Service {
    std::array<Duration, kLatestStarts> starts{};
    size_t count = 0;  ///< of all starts; the next one replaces starts[count % kLatestStarts]
    std::optional<Failure> last_failure;
  };
  using Name = std::pair<NamespaceNumber, std::string>;

  mutable std::mutex mutex_;
  std::map<Name, Number> numbers_;  ///< guarded by mutex_
  std::vector<Service> services_;   ///< guarded by mutex_; by number - 1
};

}  // namespace millrace
