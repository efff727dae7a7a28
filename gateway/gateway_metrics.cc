#include "gateway/gateway_metrics.h"

#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace millrace {
namespace {

class MetricsText {
 public:
  void add(std::string_view name, std::string_view type, std::string_view help, uint64_t value) {
    head(name, type, help);
    fmt::format_to(std::back_inserter(text_), "{} {}\n", name, value);
  }

  /// A value for each lane.
  void add(std::string_view name, std::string_view type, std::string_view help,
           const std::vector<GatewayLanes::LaneFigures>& lanes,
           uint64_t (*value)(const WorkerLane::Counts&)) {
    head(name, type, help);
    for (const auto& [lane, counts] : lanes) {
      fmt::format_to(std::back_inserter(text_), "{}{{lane=\"{}\"}} {}\n", name, lane,
                     value(counts));
    }
  }

  std::string text() && { return std::move(text_); }

 private:
  void head(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
  }

  std::string text_;
};

}  // namespace

std::string to_prometheus(const GatewayFigures& figures) {
  MetricsText text;
  text.add("millrace_http_connections", "gauge", "Open HTTP connections.", figures.connections);
  text.add("millrace_http_connections_closed_total", "counter",
           "HTTP connections closed to make place for another or to free memory.",
           figures.closed_for_other);
  text.add("millrace_http_connections_refused_total", "counter",
           "HTTP connections refused because all places were taken.", figures.turned_away);
  text.add("millrace_http_waits", "gauge",
           "HTTP requests that wait for the end of an instance or of a check.", figures.waits);
  text.add("millrace_http_waits_refused_total", "counter",
           "HTTP requests refused because too many waited.", figures.waits_refused);
  text.add("millrace_http_streams", "gauge", "Open streams of live messages.", figures.streams);
  text.add("millrace_http_streams_refused_total", "counter",
           "Requests for streams refused because too many were open, of all clients or of one.",
           figures.streams_refused);
  text.add("millrace_http_memory_bytes", "gauge",
           "Bytes of bodies and answers of HTTP, beyond the first 64 KiB of each.",
           figures.memory_bytes);
  text.add("millrace_http_memory_refused_total", "counter",
           "Bodies and answers of HTTP refused because their memory was used up.",
           figures.memory_refused);
  text.add("millrace_http_handed_on", "gauge",
           "HTTP requests that wait for the answer of the active of the cluster.",
           figures.handed_on.under_way);
  text.add("millrace_http_handed_on_total", "counter",
           "HTTP requests handed on to the active of the cluster.", figures.handed_on.total);
  text.add("millrace_http_handed_on_refused_total", "counter",
           "HTTP requests refused because too many were handed on.", figures.handed_on.refused);
  text.add("millrace_http_requests_waiting", "gauge",
           "HTTP requests that wait for a thread, by lane.", figures.lanes,
           [](const WorkerLane::Counts& counts) { return uint64_t{counts.waiting}; });
  text.add("millrace_http_requests_refused_total", "counter",
           "HTTP requests refused because their lane was full, by lane.", figures.lanes,
           [](const WorkerLane::Counts& counts) { return counts.refused; });
  return std::move(text).text();
}

}  // namespace millrace
