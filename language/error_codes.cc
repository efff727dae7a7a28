#include "language/error_codes.h"

#include <algorithm>

#include "base/characters.h"

namespace millrace {
namespace {

constexpr ErrorCode kCodes[] = {
    {"direktiv.cancels.api", "An operator cancelled the instance."},
    {"direktiv.cancels.parent", "The caller of this subflow no longer waits for it."},
    {"direktiv.cancels.timeout", "The workflow's `interrupt` or `kill` has expired."},
    {"direktiv.event.jq", "A jq query in `context` failed or yielded null."},
    {"direktiv.foreachInput", "`array` does not yield an array."},
    {"direktiv.jq.badCommand", "A jq query failed, or did not yield exactly one result."},
    {"direktiv.jq.notObject", "A key cannot be added to data that is not an object."},
    {"direktiv.limits.depth", "Subflows are nested deeper than 20."},
    {"direktiv.mutex", "A singular workflow has an instance that has not ended."},
    {"direktiv.parallel.allFailed", "With `mode: or`, every action failed."},
    {"direktiv.retries.exceeded", "No attempt is left; the message holds the last error."},
    {"direktiv.schema.failed", "The subject of a validate state does not match its schema."},
    {"direktiv.secrets.notFound", "The namespace does not have the secret."},
    {"direktiv.stateTimeout", "The state's `timeout` has expired."},
    {"direktiv.subflow.notExist", "The workflow of a subflow does not exist or does not load."},
    {"millrace.event.invalid", "A generated event is not a valid CloudEvent."},
    {"millrace.event.tooLarge", "A generated event exceeds the size limit."},
    {"millrace.function.files", "A file of the function could not be provided or read back."},
    {"millrace.function.refused", "The server does not call services on that NATS subject."},
    {"millrace.function.status", "A service answered with an HTTP status other than 2xx."},
    {"millrace.function.tooLarge", "The answer of a function is too large."},
    {"millrace.function.unavailable", "The worker or service could not be reached."},
    {"millrace.jq.memory", "A jq query exceeded its memory limit."},
    {"millrace.limits.data", "The data of the instance would be too large or too deep."},
    {"millrace.limits.foreach", "`array` has more elements than a foreach accepts."},
    {"millrace.limits.log", "A log record is too large."},
    {"millrace.limits.transitions", "The instance has reached the limit of transitions."},
    {"millrace.limits.variable", "A variable is too large."},
    {"millrace.poison", "The process died several times while it executed the instance."},
    {"millrace.quota.calls", "The namespace has too many calls that have not ended."},
    {"millrace.quota.historyBytes", "The history of the instance has too many bytes."},
    {"millrace.quota.instances", "The namespace has too many live instances."},
    {"millrace.quota.storeBytes", "The namespace has too many bytes in the store."},
    {"millrace.store.damaged", "A stored value that the instance needs is damaged."},
    {"millrace.timeout.execution", "The workflow's execution timeout has expired."},
    {"millrace.timeout.heartbeat", "The worker of a call has missed its heartbeat."},
    {"millrace.timeout.run", "The workflow's run timeout has expired."},
    {"millrace.timeout.scheduleToClose", "All attempts of a call together took too long."},
    {"millrace.timeout.scheduleToStart", "No worker took the call in time."},
    {"millrace.timeout.startToClose", "One attempt of a call took too long."},
    {"millrace.timeout.task", "A jq query ran longer than its timeout."},
};

}  // namespace

std::span<const ErrorCode> error_codes() { return kCodes; }

std::vector<std::string_view> error_code_names() {
  std::vector<std::string_view> names;
  for (const ErrorCode& one : kCodes) names.push_back(one.code);
  return names;
}

bool is_reserved_code(std::string_view text) {
  const auto begins_with = [&](std::string_view prefix) {
    return text.size() >= prefix.size() &&
           std::equal(prefix.begin(), prefix.end(), text.begin(),
                      [](char a, char b) { return a == lower_case(b); });
  };
  return begins_with("direktiv.") || begins_with("millrace.");
}

}  // namespace millrace
