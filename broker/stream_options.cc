#include "broker/stream_options.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/excerpt.h"

namespace millrace {
namespace {

/// The largest number of replicas that JetStream supports.
constexpr int kMostReplicas = 5;

constexpr size_t kMostPrefix = 32;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

/// Prefixes have no capitals, so two different prefixes never give the same stream names.
bool is_prefix(std::string_view prefix) {
  return !prefix.empty() && prefix.size() <= kMostPrefix && is_lower(prefix.front()) &&
         std::all_of(prefix.begin(), prefix.end(), [](char c) {
           return is_lower(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
         });
}

}  // namespace

Status check_stream_options(const StreamOptions& options) {
  if (!is_prefix(options.prefix)) {
    return fail("broker.settings",
                fmt::format("the stream prefix \"{}\" is not 1 to {} lower-case letters, digits, - "
                            "and _ that begin with a letter",
                            options.prefix, kMostPrefix));
  }
  if (options.replicas < 1 || options.replicas > kMostReplicas) {
    return fail("broker.settings",
                fmt::format("{} stream replicas are not possible; JetStream supports 1 to {}",
                            options.replicas, kMostReplicas));
  }
  for (const StreamLimits* const limits : {&options.events, &options.dead_letters,
                                           &options.lifecycle, &options.tasks, &options.results}) {
    if (limits->max_bytes && *limits->max_bytes > std::numeric_limits<int64_t>::max()) {
      return fail(
          "broker.settings",
          fmt::format("a stream limit of {} bytes is too large; JetStream supports up to {}",
                      *limits->max_bytes, std::numeric_limits<int64_t>::max()));
    }
  }
  return {};
}

Status check_cluster_name(std::string_view name) {
  if (is_prefix(name)) return {};
  return fail(
      "broker.settings",
      fmt::format("the cluster name \"{}\" is not 1 to {} lower-case letters, digits, - and "
                  "_ that begin with a letter",
                  excerpt(name), kMostPrefix));
}

std::string stream_name(std::string_view prefix, std::string_view family) {
  std::string name(prefix);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; });
  return name.append("_").append(family);
}

std::string broker_subject(std::string_view prefix, std::string_view subject) {
  const bool is_ours =
      subject.starts_with(kDefaultPrefix) && subject.substr(kDefaultPrefix.size()).starts_with('.');
  if (!is_ours || prefix == kDefaultPrefix) return std::string(subject);
  return std::string(prefix).append(subject.substr(kDefaultPrefix.size()));
}

std::optional<std::string> inside_subject(std::string_view prefix, std::string_view subject) {
  if (!subject.starts_with(prefix) || !subject.substr(prefix.size()).starts_with('.')) {
    return std::nullopt;
  }
  return std::string(kDefaultPrefix).append(subject.substr(prefix.size()));
}

}  // namespace millrace
