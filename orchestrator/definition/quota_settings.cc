#include "orchestrator/definition/quota_settings.h"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/quantity.h"
#include "orchestrator/definition/invalid_setting.h"

namespace millrace {
namespace {

std::optional<Quota> quota_named(std::string_view name) {
  for (size_t i = 0; i < kQuotas; ++i) {
    if (to_string(static_cast<Quota>(i)) == name) return static_cast<Quota>(i);
  }
  return std::nullopt;
}

std::string quota_names() {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kQuotas; ++i) names.push_back(to_string(static_cast<Quota>(i)));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// The limit that `value` says; nullopt: it says none.
std::optional<uint64_t> read_limit(Quota quota, const Json& value) {
  if (value == "unlimited") return kUnlimited;
  if (value.is_string() && is_of_bytes(quota)) {
    return parse_quantity(value.get_ref<const std::string&>());
  }
  if (!value.is_number_integer()) return std::nullopt;
  if (!value.is_number_unsigned() && value.get<int64_t>() < 0) return std::nullopt;
  const auto number = value.get<uint64_t>();
  return number > 0 ? std::optional(number) : std::nullopt;
}

Result<uint64_t> parse_limit(const std::string& where, Quota quota, const Json& value) {
  const auto limit = read_limit(quota, value);
  if (!limit) {
    return invalid_setting(
        where, is_of_bytes(quota)
                   ? R"(write a whole number above zero, a text such as "10GiB", or "unlimited")"
                   : R"(write a whole number above zero, or "unlimited")");
  }
  if (quota == Quota::kHistoryBytes && *limit < kLeastHistoryQuota) {
    return invalid_setting(where, "write at least 1MiB");
  }
  if (quota == Quota::kEventsPerSecond && *limit != kUnlimited && *limit > kMostEventsPerSecond) {
    return invalid_setting(where, R"(write at most 1000000, or "unlimited")");
  }
  return *limit;
}

}  // namespace

Result<QuotaLimits> parse_quotas(const Json& value) {
  const std::string where = "quotas";
  if (!value.is_object()) {
    return invalid_setting(where, "write an object that maps names of quotas to their limits");
  }
  QuotaLimits limits;
  for (const auto& [key, one] : value.items()) {
    const std::string place = fmt::format("{}.{}", where, key);
    const auto quota = quota_named(key);
    if (!quota) return invalid_setting(place, "unknown quota; valid: " + quota_names());
    limits.set(*quota, TRY(parse_limit(place, *quota, one)));
  }
  return limits;
}

}  // namespace millrace
