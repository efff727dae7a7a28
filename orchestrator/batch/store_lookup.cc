#include "orchestrator/batch/store_lookup.h"

#include <utility>

#include "orchestrator/batch/call_waits.h"
#include "orchestrator/store/rows/compensation_rows.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/instance_rows.h"
#include "orchestrator/store/rows/secret_rows.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {

template <class T>
Result<T> StoreLookup::noted(Result<T> found) const {
  if (found || is_damaged_row(found.error())) return found;
  if (status_) status_ = tl::unexpected(std::move(found).error());
  return T();
}

Result<std::optional<Variable>> StoreLookup::variable(const VariableName& name) const {
  return noted(read_variable(view_, name));
}

Result<std::optional<std::string>> StoreLookup::secret(NamespaceNumber ns,
                                                       std::string_view name) const {
  return noted(read_secret(view_, ns, name));
}

Result<LazyJson> StoreLookup::input(const Instance& instance) const {
  if (!instance.input.is_null()) return instance.input;  // this batch started the instance
  return noted(read_input(view_, instance));
}

Result<LazyJson> StoreLookup::start_event(const Instance& instance) const {
  // This batch may have started the instance, or have started it again.
  if (!instance.start_event.is_null()) return instance.start_event;
  return noted(read_start_event(view_, instance));
}

Result<Compensation> StoreLookup::compensation(const Instance& instance, uint32_t number) const {
  return noted(read_compensation(view_, instance, number));
}

const RetryPolicy* StoreLookup::default_retries(NamespaceNumber ns) const {
  const auto& retries = catalog_.settings(ns).default_retries;
  return retries ? &*retries : nullptr;
}

const ServicePolicy* StoreLookup::service_policy(NamespaceNumber ns,
                                                 const NamedService& service) const {
  const ServiceSetting* const setting = catalog_.find_service(ns, service);
  return setting == nullptr || setting->policy.empty() ? nullptr : &setting->policy;
}

std::optional<Error> StoreLookup::refusal_of_generated(NamespaceNumber ns, TimePoint now) const {
  return quotas_ == nullptr ? std::nullopt : quotas_->refusal_of_generated(ns, now);
}

std::optional<Error> StoreLookup::refusal_of_delayed(NamespaceNumber ns) const {
  if (quotas_ == nullptr) return std::nullopt;
  return noted(quotas_->refusal_of_bytes(ns)).value_or(std::nullopt);
}

std::optional<Error> StoreLookup::refusal_of_variable(const VariableName& name,
                                                      size_t bytes) const {
  if (quotas_ == nullptr) return std::nullopt;
  return noted(quotas_->refusal_of_variable(name, bytes)).value_or(std::nullopt);
}

std::optional<TimePoint> StoreLookup::last_moved(NamespaceNumber ns,
                                                 const InstanceId& instance) const {
  // If the subflow is damaged, the time is not known.
  return noted(read_last_moved(view_, ns, instance)).value_or(std::nullopt);
}

std::string StoreLookup::awaited_limit(const InstanceId& task) const {
  return noted(millrace::awaited_limit(view_, tasks_, task)).value_or(std::string());
}

Status StoreLookup::take_status() { return std::exchange(status_, {}); }

}  // namespace millrace
