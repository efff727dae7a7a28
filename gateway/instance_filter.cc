#include "gateway/instance_filter.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.h"
#include "gateway/parameters.h"
#include "language/findings.h"

namespace millrace {
namespace {

/// The longest pattern of error codes; a code has at most half as many characters.
constexpr size_t kMaxErrorPattern = 256;

tl::unexpected<Error> wrong_filter(std::string_view parameter, std::string_view value,
                                   std::string_view expected) {
  return fail("request.parameter", fmt::format("{}: {} is not valid; expected {}", parameter,
                                               in_quotes(value), expected));
}

/// The names in a text, which commas separate; none if the text is empty.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  if (text.empty()) return names;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    names.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// The statuses with the names in a text.
Result<std::vector<InstanceStatus>> statuses_of(std::string_view text) {
  std::vector<InstanceStatus> statuses;
  for (const std::string& name : names_in(text)) {
    const std::optional<InstanceStatus> status = parse_status(name);
    if (!status) {
      return fail("request.parameter",
                  fmt::format("status: {} is not a status; expected pending, running, waiting, "
                              "paused, complete, failed, cancelled or timedout, or several of "
                              "them, separated by commas",
                              in_quotes(name)));
    }
    if (std::find(statuses.begin(), statuses.end(), *status) == statuses.end()) {
      statuses.push_back(*status);
    }
  }
  return statuses;
}

std::optional<InstanceTrait> parse_trait(std::string_view name) {
  if (name == "retrying") return InstanceTrait::kRetrying;
  if (name == "calls") return InstanceTrait::kCalls;
  if (name == "deadline") return InstanceTrait::kDeadline;
  if (name == "compensations") return InstanceTrait::kCompensations;
  return std::nullopt;
}

std::optional<CountField> parse_count_field(std::string_view name) {
  if (name == "workflow") return CountField::kWorkflow;
  if (name == "revision") return CountField::kRevision;
  if (name == "state") return CountField::kState;
  if (name == "status") return CountField::kStatus;
  return std::nullopt;
}

Result<std::vector<InstanceTrait>> traits_of(const Request& request) {
  std::vector<InstanceTrait> traits;
  for (const std::string& name : names_in(text_parameter(request, "has"))) {
    const auto trait = parse_trait(name);
    if (!trait) return wrong_filter("has", name, "retrying, calls, deadline or compensations");
    traits.push_back(*trait);
  }
  return traits;
}

/// "newest", "oldest", or empty: it is not given.
Result<std::string> order_of(const Request& request) {
  std::string order = text_parameter(request, "order");
  if (order.empty() || order == "newest" || order == "oldest") return order;
  return wrong_filter("order", order, "newest or oldest");
}

}  // namespace

Result<ListenerFilter> listener_filter_of(const Request& request) {
  using Kind = ListenerFilter::Kind;
  ListenerFilter filter;
  const std::string kind = text_parameter(request, "kind");
  if (!kind.empty() && kind != "start" && kind != "instance") {
    return wrong_filter("kind", kind, "start or instance");
  }
  if (!kind.empty()) filter.kind = kind == "start" ? Kind::kStart : Kind::kInstance;
  filter.type = text_parameter(request, "type");
  filter.workflow = text_parameter(request, "workflow");
  filter.attribute = text_parameter(request, "attribute");
  if (request.query.contains("value")) {
    filter.value = text_parameter(request, "value");
    if (!is_utf8(*filter.value)) return wrong_filter("value", *filter.value, "UTF-8");
  }
  filter.limit = TRY(limit_parameter(request));
  filter.cursor = text_parameter(request, "cursor");
  return filter;
}

Result<HistoryFilter> history_filter_of(const Request& request) {
  HistoryFilter filter;
  filter.limit = TRY(limit_parameter(request, filter.limit));
  filter.cursor = text_parameter(request, "cursor");
  if (request.query.contains("data")) filter.data = TRY(flag_parameter(request, "data"));
  filter.newest_first = TRY(order_of(request)) == "newest";
  filter.after = TRY(number_parameter(request, "after"));
  filter.before = TRY(number_parameter(request, "before"));
  for (const std::string& name : names_in(text_parameter(request, "kind"))) {
    const auto kind = parse_history_kind(name);
    if (!kind) {
      return wrong_filter("kind", name,
                          fmt::format("one or more of these, separated by commas: {}",
                                      fmt::join(history_kind_names(), ", ")));
    }
    filter.kinds.push_back(*kind);
  }
  return filter;
}

Result<GroupFilter> group_filter_of(const Request& request) {
  GroupFilter filter{.id = text_parameter(request, "id"),
                     .workflow = text_parameter(request, "workflow")};
  const std::string attribute = text_parameter(request, "attribute");
  if (attribute.empty() != !request.query.contains("value")) {
    return fail("request.parameter",
                "attribute and value: give both, an attribute of the correlation and its value, or "
                "neither");
  }
  if (!attribute.empty()) filter.correlate.emplace(attribute, text_parameter(request, "value"));
  return filter;
}

Result<CountRequest> count_request_of(const Request& request) {
  CountRequest counts;
  counts.workflow = text_parameter(request, "workflow");
  counts.statuses = TRY(statuses_of(text_parameter(request, "status")));
  counts.state = text_parameter(request, "state");
  for (const std::string& name : names_in(text_parameter(request, "by"))) {
    const auto field = parse_count_field(name);
    if (!field) return wrong_filter("by", name, "workflow, revision, state or status");
    counts.by.push_back(*field);
  }
  return counts;
}

Result<InstanceFilter> instance_filter_of(const Request& request) {
  InstanceFilter filter;
  filter.workflow = text_parameter(request, "workflow");
  filter.statuses = TRY(statuses_of(text_parameter(request, "status")));
  filter.since = TRY(time_parameter(request, "since"));
  filter.until = TRY(time_parameter(request, "until"));
  filter.ended_since = TRY(time_parameter(request, "endedSince"));
  filter.ended_until = TRY(time_parameter(request, "endedUntil"));
  filter.id = text_parameter(request, "id");
  filter.key = text_parameter(request, "key");
  filter.correlation = text_parameter(request, "correlation");
  if (const std::string parent = text_parameter(request, "parent"); !parent.empty()) {
    Result<InstanceId> id = parse_instance_id(parent);
    if (!id) return fail_in("parent", std::move(id.error()));
    filter.parent = *id;
  }
  filter.state = text_parameter(request, "state");
  filter.error = text_parameter(request, "error");
  if (filter.error.size() > kMaxErrorPattern) {
    return fail("request.parameter",
                fmt::format("error: the pattern has {} bytes; expected at most {}",
                            filter.error.size(), kMaxErrorPattern));
  }
  filter.traits = TRY(traits_of(request));
  filter.waits_for = text_parameter(request, "waitsFor");
  filter.oldest_first = TRY(order_of(request)) == "oldest";
  filter.limit = TRY(limit_parameter(request));
  filter.cursor = text_parameter(request, "cursor");
  return filter;
}

}  // namespace millrace
