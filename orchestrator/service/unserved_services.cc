#include "orchestrator/service/unserved_services.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/memory/catalog.h"

namespace millrace {
namespace {

constexpr size_t kMostUnservedAsked = 20;
constexpr Duration kUnservedTime{500};

}  // namespace

IsUnserved unserved_check(NamesService names_service, std::string_view ns, const Clock& clock,
                          CountRequests count) {
  if (!names_service || !count) return nullptr;
  return [names_service = std::move(names_service), ns = std::string(ns), &clock,
          count = std::move(count), end = clock.elapsed() + kUnservedTime,
          left = kMostUnservedAsked](const std::string& service, bool is_global) mutable {
    if (names_service(service, is_global)) return false;
    const Duration time = end - clock.elapsed();
    if (left == 0 || time <= Duration(0)) return false;
    --left;
    const std::string home = is_global ? std::string(kDefaultNamespace) : ns;
    const Result<uint64_t> requests = count(default_queue(home, service).subject, time);
    if (!requests) left = 0;
    return requests && *requests == 0;
  };
}

}  // namespace millrace
