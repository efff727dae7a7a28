#include "states/start_key.h"

#include <utility>

#include <fmt/format.h>

#include "expressions/evaluation.h"
#include "states/key_text.h"

namespace millrace {

Result<LazyJson> start_value(const Template& query, std::string_view what, const LazyJson& input,
                             TimePoint now) {
  const Bindings bindings{.now = now};
  auto value = query.run_within(input, kMostOfAStartKey, &bindings);
  if (!value) {
    return fail(std::string(kStartKeyError),
                fmt::format("{}: the input, or what the jq program reads of it, has more than {} "
                            "KB; start the workflow with less input, such as a reference to it",
                            what, kMostOfAStartKey >> 10));
  }
  if (*value) return *std::move(value);
  return fail(std::string(kStartKeyError),
              fmt::format("{}: {}; correct the jq program, or the input that it reads", what,
                          value->error().message));
}

Result<std::string> start_key(const std::optional<Template>& key, std::string_view what,
                              const LazyJson& input, TimePoint now) {
  if (!key) return std::string("null");
  return key_text(TRY(start_value(*key, what, input, now)).text());
}

}  // namespace millrace
