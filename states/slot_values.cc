#include "states/slot_values.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "model/instance.h"
#include "states/key_text.h"

namespace millrace {
namespace {

/// How many bytes a query may copy, compare and write: as much as a small input has.
constexpr size_t kSlotQueryBytes = kLargeJson;

constexpr const char* kSlotKeyError = "millrace.concurrency.key";
constexpr const char* kThrottleKeyError = "millrace.throttle.key";
constexpr const char* kPriorityError = "millrace.concurrency.priority";

tl::unexpected<Error> wrong_key(CallKey of, std::string_view why) {
  if (of == CallKey::kThrottle) {
    return fail(kThrottleKeyError, fmt::format("`throttle.key`: {}", why));
  }
  return fail(kSlotKeyError, fmt::format("`concurrency.key`: {}", why));
}

tl::unexpected<Error> wrong_priority(std::string_view why) {
  return fail(kPriorityError, fmt::format("`priority`: {}", why));
}

/// The value of a query over the input. The loader has refused programs that the fast lane cannot
/// run.
Result<LazyJson> evaluated_over(const Template& query, const LazyJson& input, std::string_view of) {
  auto value = query.run_within(input, kSlotQueryBytes);
  if (value) return *std::move(value);
  return fail("", fmt::format("the input of the {}, or a value made of it, has more than {} bytes; "
                              "make the {} with a smaller input",
                              of, kSlotQueryBytes, of));
}

}  // namespace

bool is_call_flow_error(std::string_view code) {
  return code == kSlotKeyError || code == kThrottleKeyError || code == kPriorityError;
}

Result<std::string> evaluated_call_key(CallKey of, const Template& query, const LazyJson& input) {
  const Result<LazyJson> value = evaluated_over(query, input, "call");
  if (!value) return wrong_key(of, value.error().message);
  std::string text = key_text(value->text());
  if (text.size() > kMostSlotKeyBytes) {
    return wrong_key(of, fmt::format("the result has {} bytes as JSON, more than {}", text.size(),
                                     kMostSlotKeyBytes));
  }
  return text;
}

Result<int32_t> evaluated_priority(const Template& query, const LazyJson& input,
                                   std::string_view of) {
  const Result<LazyJson> value = evaluated_over(query, input, of);
  if (!value) return wrong_priority(value.error().message);
  using Limits = std::numeric_limits<int32_t>;
  const auto wrong = [&] {
    return wrong_priority(fmt::format("the result is {}; expected an integer from {} to {}",
                                      value->is_large() ? value->type_name() : value->text(),
                                      Limits::min(), Limits::max()));
  };
  if (value->is_large() || !value->value().is_number()) return wrong();
  const auto number = value->value().get<double>();  // an int32_t is one exactly
  if (number < Limits::min() || number > Limits::max() || std::trunc(number) != number) {
    return wrong();
  }
  return static_cast<int32_t>(number);
}

}  // namespace millrace
