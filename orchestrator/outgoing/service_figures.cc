#include "orchestrator/outgoing/service_figures.h"

#include <algorithm>

namespace millrace {
namespace {

/// The value that `percent` % of the sorted values do not exceed. There is at least one value.
Duration percentile(const std::vector<Duration>& sorted, size_t percent) {
  return sorted[(sorted.size() * percent + 99) / 100 - 1];
}

}  // namespace

ServiceFigures::Number ServiceFigures::number_of(NamespaceNumber ns, std::string_view service) {
  const std::lock_guard lock(mutex_);
  const Name name{ns, std::string(service)};
  if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
  if (services_.size() == kMostServices) return 0;
  services_.emplace_back();
  const auto number = static_cast<Number>(services_.size());
  numbers_.emplace(name, number);
  return number;
}

void ServiceFigures::started(Number service, Duration after) {
  const std::lock_guard lock(mutex_);
  if (service == 0 || service > services_.size()) return;
  Service& one = services_[service - 1];
  one.starts[one.count++ % kLatestStarts] = after;
}

void ServiceFigures::failed(Number service, const Error& error, bool is_sealed, TimePoint at) {
  const std::lock_guard lock(mutex_);
  if (service == 0 || service > services_.size()) return;
  Failure failure{
      .code = error.code.substr(0, kMostMessageBytes), .message = std::nullopt, .at = at};
  if (!is_sealed) failure.message = error.message.substr(0, kMostMessageBytes);
  services_[service - 1].last_failure = std::move(failure);
}

ServiceFigures::Figures ServiceFigures::of(NamespaceNumber ns, std::string_view service) const {
  std::vector<Duration> starts;
  Figures figures;
  {
    const std::lock_guard lock(mutex_);
    const auto found = numbers_.find(Name{ns, std::string(service)});
    if (found == numbers_.end()) return figures;
    const Service& one = services_[found->second - 1];
    const size_t count = std::min(one.count, kLatestStarts);
    starts.assign(one.starts.begin(), one.starts.begin() + static_cast<std::ptrdiff_t>(count));
    figures.last_failure = one.last_failure;
  }
  if (starts.empty()) return figures;
  std::sort(starts.begin(), starts.end());
  figures.p50 = percentile(starts, 50);
  figures.p99 = percentile(starts, 99);
  return figures;
}

}  // namespace millrace
