#include "language/key_hints.h"

#include <algorithm>
#include <array>
#include <vector>

#include "language/findings.h"
#include "policies/vocabularies.h"

namespace millrace {
namespace {

// The names of the mappings, and the sets of them that hints are for.
constexpr std::string_view kStartSlots = "Concurrency";
constexpr std::string_view kCallSlots = "CallConcurrency";
constexpr std::string_view kStartThrottle = "Throttle";
constexpr std::string_view kCallThrottle = "CallThrottle";
constexpr std::string_view kRateLimit = "RateLimit";
constexpr std::string_view kDebounce = "Debounce";
constexpr std::string_view kBatch = "StartBatch";
constexpr std::string_view kCompensation = "Compensation";
constexpr std::string_view kSubflow = "SubflowFunctionDefinition";

constexpr std::array kFlowMappings = {kStartSlots, kCallSlots, kStartThrottle, kCallThrottle,
                                      kRateLimit,  kDebounce,  kBatch};

/// The mappings of a hint.
using Names = std::array<std::string_view, 5>;
constexpr Names kWithLimit = {kStartSlots, kCallSlots, kStartThrottle, kCallThrottle, kRateLimit};
constexpr Names kSlots = {kStartSlots, kCallSlots};
constexpr Names kRates = {kStartThrottle, kCallThrottle, kRateLimit};
constexpr Names kThrottles = {kStartThrottle, kCallThrottle};

struct KeyHint {
  Names mappings;
  std::string_view key;  ///< in lower case, without `_` and `-`
  std::string_view hint;
};

constexpr std::string_view kWriteLimit = "write `limit`";
constexpr std::string_view kWritePeriod = "write `period`";
constexpr std::string_view kWriteKey = "write `key`";
constexpr std::string_view kWriteMaxSize = "write `maxSize`";
constexpr std::string_view kWriteMaxWait = "write `timeout`";
constexpr std::string_view kPriorityBeside =
    "`priority` stands beside this mapping, not in it, and orders what waits";
constexpr std::string_view kUndoIsLimitedByFunction =
    "a compensation has the limits and the priority of its function: write the key there";
constexpr std::string_view kLimitOfSubflow =
    "this key is for calls of services and containers, and the workflow of a subflow limits its "
    "own instances: write the key in that workflow";

constexpr KeyHint kHints[] = {
    {kWithLimit, "max", kWriteLimit},
    {kWithLimit, "maximum", kWriteLimit},
    {kWithLimit, "count", kWriteLimit},
    {kWithLimit, "size", kWriteLimit},
    {kWithLimit, "slots", kWriteLimit},
    {kWithLimit, "n", kWriteLimit},
    {kWithLimit, "maxconcurrent", kWriteLimit},
    {kWithLimit, "maxconcurrency", kWriteLimit},
    {kWithLimit, "maxsize", kWriteLimit},
    {kWithLimit, "rate", kWriteLimit},
    {kWithLimit, "group", kWriteKey},
    {kWithLimit, "groupby", kWriteKey},
    {kWithLimit, "by", kWriteKey},
    {kWithLimit, "keys", kWriteKey},
    {kWithLimit, "priority", kPriorityBeside},
    {kSlots, "period", "`throttle` and `rateLimit` have a period, slots have none"},
    {kSlots, "interval", "`throttle` and `rateLimit` have a period, slots have none"},
    {kSlots, "window", "`throttle` and `rateLimit` have a period, slots have none"},
    {{kStartSlots}, "overflow", "write `onLimit`"},
    {{kStartSlots}, "strategy", "write `onLimit`"},
    {{kStartSlots}, "policy", "write `onLimit`"},
    {{kStartSlots}, "cancelinprogress", "write `onLimit: replace`"},
    {{kCallSlots},
     "onlimit",
     "a call without a free slot always waits, and only the `concurrency` of a workflow has "
     "`onLimit`"},
    {kRates, "interval", kWritePeriod},
    {kRates, "per", kWritePeriod},
    {kRates, "window", kWritePeriod},
    {kRates, "duration", kWritePeriod},
    {kRates, "burst", "as many as `limit` may come at once"},
    {kThrottles, "onlimit",
     "what is beyond the limit always waits, and only `rateLimit` of a workflow refuses starts"},
    {{kRateLimit}, "onlimit", "a start beyond the limit is refused, and with `throttle` it waits"},
    {{kRateLimit},
     "timeout",
     "a start beyond the limit is refused at once, and with `throttle` it waits"},
    {{kDebounce}, "delay", kWritePeriod},
    {{kDebounce}, "wait", kWritePeriod},
    {{kDebounce}, "duration", kWritePeriod},
    {{kDebounce}, "window", kWritePeriod},
    {{kDebounce}, "maxwait", kWriteMaxWait},
    {{kDebounce}, "maxdelay", kWriteMaxWait},
    {{kDebounce}, "limit", "of the requests the newest one counts, and with `batch` all of them"},
    {{kDebounce}, "maxsize", "of the requests the newest one counts, and with `batch` all of them"},
    {{kBatch}, "limit", kWriteMaxSize},
    {{kBatch}, "max", kWriteMaxSize},
    {{kBatch}, "size", kWriteMaxSize},
    {{kBatch}, "maxitems", kWriteMaxSize},
    {{kBatch}, "period", kWriteMaxWait},
    {{kBatch}, "window", kWriteMaxWait},
    {{kBatch}, "interval", kWriteMaxWait},
    {{kBatch}, "maxwait", kWriteMaxWait},
    {{kCompensation}, "action", "write `function` and `input` here, without `action`"},
    {{kCompensation},
     "async",
     "the instance always waits for a compensation before it makes the next one"},
    {{kCompensation}, "concurrency", kUndoIsLimitedByFunction},
    {{kCompensation}, "throttle", kUndoIsLimitedByFunction},
    {{kCompensation}, "priority", kUndoIsLimitedByFunction},
    {{kCompensation}, "secrets", "the input of a compensation cannot read secrets"},
    {{kCompensation},
     "catch",
     "a compensation that fails for good ends the instance: write `retries`"},
    {{kCompensation},
     "transition",
     "behind a compensation the one that was noted before it is made, and no state follows"},
    {{kSubflow}, "concurrency", kLimitOfSubflow},
    {{kSubflow}, "throttle", kLimitOfSubflow},
    {{kSubflow}, "priority", kLimitOfSubflow},
};

std::string plain_key(std::string_view key) {
  std::string plain;
  for (const char c : key) {
    if (c == '_' || c == '-') continue;
    plain.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return plain;
}

bool is_timeout(const KeyRule& key) {
  return key.name == "timeout_scope" ||
         std::any_of(kActionTimeouts.begin(), kActionTimeouts.end(),
                     [&](const TimeoutKey& one) { return one.name == key.name; });
}

}  // namespace

std::string_view hint_on_key(const Mapping& mapping, std::string_view key) {
  const std::string plain = plain_key(key);
  for (const KeyHint& one : kHints) {
    const auto& names = one.mappings;
    const bool is_of_it = std::find(names.begin(), names.end(), mapping.name) != names.end();
    if (is_of_it && one.key == plain) return one.hint;
  }
  return "";
}

std::string_view hint_on_mapping(const Mapping& mapping) {
  if (mapping.name != kCompensation) return "";
  return "write the function that undoes the work of the state, such as `compensate: {function: "
         "undo}`; `compensate: true` is a key of the workflow, `on_failure` and Error states";
}

std::string keys_of_small_mapping(const Mapping& mapping) {
  const bool undoes = mapping.name == kCompensation;
  const auto& flow = kFlowMappings;
  if (!undoes && std::find(flow.begin(), flow.end(), mapping.name) == flow.end()) return "";
  std::vector<std::string> names;
  for (const KeyRule* const key : mapping.keys()) {
    if (!undoes || !is_timeout(*key)) names.push_back(in_quotes(key->name));
  }
  if (undoes) names.emplace_back("the timeouts of actions");
  std::string list = " keys here are ";
  for (size_t i = 0; i < names.size(); ++i) {
    list += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    list += names[i];
  }
  return list;
}

}  // namespace millrace
