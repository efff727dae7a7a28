#include "states/start_key.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "expressions/evaluation.h"

namespace millrace {

Result<LazyJson> start_value(const Template& query, std::string_view what, const LazyJson& input,
                             TimePoint now) {
  std::vector<LazyJson> results;
  size_t left = kMostOfAStartKey;
  const Bindings bindings{.now = now};
  for (const Program& program : query.programs()) {
    std::optional<QueryResult> result;
    if (program.fast != nullptr) result = program.fast->run_within(input, left, true, &bindings);
    if (!result) {
      return fail(std::string(kStartKeyError),
                  fmt::format("{}: the input, or what the jq program reads of it, has more than {} "
                              "KB; start the workflow with less input, such as a reference to it",
                              what, kMostOfAStartKey >> 10));
    }
    if (!*result) {
      return fail(std::string(kStartKeyError),
                  fmt::format("{}: {}; correct the jq program, or the input that it reads", what,
                              result->error().message));
    }
    results.push_back(std::move(**result));
  }
  return query.assemble(results);
}

Result<std::string> start_key(const std::optional<Template>& key, std::string_view what,
                              const LazyJson& input, TimePoint now) {
  if (!key) return std::string("null");
  return TRY(start_value(*key, what, input, now)).text();
}

}  // namespace millrace
