#include "bench/metrics_text.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace millrace {
namespace {

/// Calls `see` with the labels, as in the text, and the value of each series of a metric.
void each_series(std::string_view metrics, std::string_view name,
                 const std::function<void(std::string_view labels, double value)>& see) {
  for (size_t begin = 0; begin < metrics.size();) {
    const size_t end = std::min(metrics.find('\n', begin), metrics.size());
    const std::string_view line = metrics.substr(begin, end - begin);
    begin = end + 1;
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    if (!rest.starts_with('{') && !rest.starts_with(' ')) continue;
    const size_t blank = rest.rfind(' ');
    see(rest.substr(0, blank), std::strtod(std::string(rest.substr(blank + 1)).c_str(), nullptr));
  }
}

/// The value of a label; "" if the series has no such label.
std::string label_of(std::string_view labels, std::string_view label) {
  const std::string start = std::string(label).append("=\"");
  const size_t at = labels.find(start);
  if (at == std::string_view::npos) return "";
  const std::string_view value = labels.substr(at + start.size());
  return std::string(value.substr(0, value.find('"')));
}

/// How many values the buckets above `low` and up to `high` have. `low` is the bound before `high`.
double values_in(const Buckets& buckets, std::optional<double> low, double high) {
  const auto up_to = [&](double bound) {
    const auto found = buckets.find(bound);
    return found == buckets.end() ? 0 : found->second;
  };
  return up_to(high) - (low ? up_to(*low) : 0);
}

}  // namespace

double sum_of(std::string_view metrics, std::string_view name) {
  double sum = 0;
  each_series(metrics, name, [&](std::string_view, double value) { sum += value; });
  return sum;
}

std::optional<double> value_with(std::string_view metrics, std::string_view name,
                                 std::string_view label, std::string_view value) {
  const std::string wanted = std::string(label).append("=\"").append(value).append("\"");
  std::optional<double> found;
  each_series(metrics, name, [&](std::string_view labels, double of_series) {
    if (labels.find(wanted) != std::string_view::npos) found = of_series;
  });
  return found;
}

std::optional<ReportedTurn> longest_turn(std::string_view metrics) {
  const auto part = [&](std::string_view name) {
    return value_with(metrics, "millrace_engine_longest_turn_seconds", "part", name);
  };
  const auto all = part("all");
  if (!all) return std::nullopt;
  return ReportedTurn{.all = *all,
                      .apply = part("apply").value_or(0),
                      .commit = part("commit").value_or(0),
                      .perform = part("perform").value_or(0),
                      .processor = part("processor").value_or(0)};
}

Buckets buckets_of(std::string_view metrics, const std::string& name) {
  constexpr std::string_view kBound = "le=\"";
  Buckets buckets;
  each_series(metrics, name + "_bucket", [&](std::string_view labels, double value) {
    const size_t at = labels.find(kBound);
    if (at == std::string_view::npos) return;
    const std::string bound(labels.substr(at + kBound.size()));
    buckets[std::strtod(bound.c_str(), nullptr)] = value;
  });
  return buckets;
}

std::optional<double> highest_new_bucket(const Buckets& before, const Buckets& after) {
  std::optional<double> highest;
  std::optional<double> low;
  for (const auto& [bound, values] : after) {
    if (values_in(after, low, bound) > values_in(before, low, bound)) highest = bound;
    low = bound;
  }
  return highest;
}

std::optional<ReportedUnit> longest_unit(std::string_view before, std::string_view after) {
  constexpr const char* kUnits = "millrace_engine_unit_seconds";
  const auto bucket = highest_new_bucket(buckets_of(before, kUnits), buckets_of(after, kUnits));
  if (!bucket) return std::nullopt;
  // The gauges are exact, but they also have units from before the first reading.
  ReportedUnit of_last_minute;
  each_series(after, "millrace_engine_longest_unit_seconds",
              [&](std::string_view labels, double value) {
                if (value <= of_last_minute.seconds) return;
                of_last_minute = {.seconds = value, .kind = label_of(labels, "kind")};
              });
  if (of_last_minute.kind.empty()) return ReportedUnit{.seconds = *bucket, .kind = ""};
  of_last_minute.seconds = std::min(*bucket, of_last_minute.seconds);
  return of_last_minute;
}

}  // namespace millrace
