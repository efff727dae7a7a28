// The lists and counts of FakeService that its other files do not have.
#include "tests/unit/gateway/fake_service.h"

namespace millrace {

CountRequest FakeService::last_count_request() {
  const std::lock_guard lock(mutex_);
  return count_request_;
}

Result<Json> FakeService::instance_counts(std::string_view ns, const CountRequest& request) {
  const std::lock_guard lock(mutex_);
  if (const Status known = check(ns); !known) return tl::unexpected(known.error());
  count_request_ = request;
  return Json{{"items",
               {{{"workflow", "order"}, {"status", "waiting"}, {"count", 12}},
                {{"workflow", "order"}, {"status", "failed"}, {"count", 1}}}},
              {"asOf", "2021-09-01T12:00:00.000Z"}};
}

}  // namespace millrace
