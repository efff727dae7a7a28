#include "gateway/stale_read.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "gateway/parameters.h"
#include "gateway/problem.h"

namespace millrace {

Result<bool> may_be_stale(const Route& route, const Request& request) {
  if (!route.read) return false;
  return flag_parameter(request, kStaleParameter);
}

Status answer_stale(const NodeStore& store, const Route& route,
                    const std::shared_ptr<Exchange>& exchange) {
  const NodeStore::Copy copy = TRY(store.copy());
  Result<Response> read = route.read(*copy.reads, exchange->request());
  Response response = read ? *std::move(read) : problem(read.error());
  const double seconds = static_cast<double>(copy.age.count()) / 1'000;
  response.headers.emplace_back(kStaleHeader, fmt::format("{:.3f}", seconds));
  response.headers.emplace_back(kPositionHeader, std::to_string(copy.position));
  exchange->answer(std::move(response));
  return {};
}

}  // namespace millrace
