// What the benchmarks read from the metrics of a server, the text of `/metrics`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// The value of a metric, summed over its labels; 0: there is no such metric.
double sum_of(std::string_view metrics, std::string_view name);

/// The value of the series with this label; nullopt: no series has it.
std::optional<double> value_with(std::string_view metrics, std::string_view name,
                                 std::string_view label, std::string_view value);

/// The buckets of a histogram without labels: for each upper bound, the number of values up to it.
using Buckets = std::map<double, double>;
Buckets buckets_of(std::string_view metrics, const std::string& name);

/// The upper bound of the highest bucket that got a value between two readings of a histogram;
/// infinite if that is the last bucket; nullopt: no bucket got a value.
std::optional<double> highest_new_bucket(const Buckets& before, const Buckets& after);

/// A turn of the engine thread by its parts, in seconds.
struct ReportedTurn {
  double all = 0;
  double apply = 0;
  double commit = 0;
  double perform = 0;
  double processor = 0;  ///< the processor time of all parts
};

/// The longest turn in the minute before the reading of the metrics; nullopt: the server does not
/// measure it.
std::optional<ReportedTurn> longest_turn(std::string_view metrics);

struct ReportedUnit {
  double seconds = 0;  ///< its processor time, at most
  std::string kind;  ///< of the longest unit in the minute before the second reading; "": not known
};

/// The longest unit of work on the engine thread between two readings of the metrics. nullopt: the
/// server measured no unit in that time, or does not measure any.
std::optional<ReportedUnit> longest_unit(std::string_view before, std::string_view after);

}  // namespace millrace
