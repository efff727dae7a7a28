#include "orchestrator/service/asking_workers.h"

#include <cstddef>

namespace millrace {
namespace {

constexpr size_t kMostServicesAsked = 100;
constexpr Duration kServicesTime{500};

}  // namespace

void add_asking(Json& services, const Clock& clock, const CountRequests& count) {
  const Duration end = clock.elapsed() + kServicesTime;
  size_t asked = 0;
  for (Json& item : services["items"]) {
    const Json& target = item["target"];
    if (target["kind"] != "workers") continue;
    const Duration left = end - clock.elapsed();
    if (asked++ == kMostServicesAsked || left <= Duration(0)) return;
    const Result<uint64_t> requests = count(target["at"].get<std::string>(), left);
    if (!requests) return;
    item["asking"] = *requests;
  }
}

}  // namespace millrace
