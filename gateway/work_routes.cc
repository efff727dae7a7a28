// The routes that show the work of a namespace as a whole: what will fire
// next, its services, an overview; and the series of the server.
#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gateway/parameters.h"
#include "gateway/routes.h"
#include "language/findings.h"

namespace millrace {
namespace {

/// The words of a list that is separated by commas.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    words.emplace_back(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(text.size(), words.back().size() + 1));
  }
  return words;
}

/// Reads a list of kinds, separated by commas.
Result<std::vector<FiringKind>> kinds_of(std::string_view text) {
  std::vector<FiringKind> kinds;
  for (const std::string& word : words_of(text)) {
    const auto* const found = std::find(kFiringKinds.begin(), kFiringKinds.end(), word);
    if (found == kFiringKinds.end()) {
      return fail("request.parameter",
                  fmt::format("kind: {} is not valid; expected one or more of {}, separated by "
                              "commas",
                              in_quotes(word), fmt::join(kFiringKinds, ", ")));
    }
    const auto kind = static_cast<FiringKind>(found - kFiringKinds.begin());
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return kinds;
}

Result<NextFilter> next_filter_of(const Request& request) {
  NextFilter filter;
  filter.limit = TRY(limit_parameter(request, filter.limit));
  filter.kinds = TRY(kinds_of(text_parameter(request, "kind")));
  filter.until = TRY(time_parameter(request, "until"));
  return filter;
}

}  // namespace

void add_work_routes(Router& router, Service& service) {
  add_read(router, service,
           {.method = "GET",
            .path = "/v1/ns/{ns}/next",
            .operation = "listFirings",
            .summary = "Lists what time will cause in a namespace, soonest first.",
            .query = {"until", "kind", "limit"},
            .answer = "Firings",
            .errors = {"namespace.not_found", "time.malformed"},
            .lane = Lane::kBroker,
            .read = showing([](StoreReads& store, const Request& request) -> Result<Json> {
              const std::string ns = TRY(namespace_of(request));
              const NextFilter filter = TRY(next_filter_of(request));
              return store.next_firings(ns, filter);
            })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/functions",
              .operation = "listServices",
              .summary = "Lists the services with their tasks, times to start and latest errors.",
              .answer = "Services",
              .errors = {"namespace.not_found", "settings.invalid"},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                return service.functions(ns);
              })});
  router.add({.method = "GET",
              .path = "/v1/ns/{ns}/overview",
              .operation = "getOverview",
              .summary = "Counts the instances of a namespace, and names what asks for attention.",
              .answer = "Overview",
              .errors = {"namespace.not_found"},
              .lane = Lane::kBroker,
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const std::string ns = TRY(namespace_of(request));
                return service.overview(ns);
              })});
  router.add({.method = "GET",
              .path = "/v1/series",
              .operation = "getSeries",
              .summary = "Shows the work of the last hour of the server, in steps of 10 s.",
              .query = {"names", "since"},
              .answer = "Series",
              .errors = {"time.malformed"},
              .handler = reading([&service](const Request& request) -> Result<Json> {
                const auto since = TRY(time_parameter(request, "since"));
                return service.series(words_of(text_parameter(request, "names")), since);
              })});
}

}  // namespace millrace
