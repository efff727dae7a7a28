#include "orchestrator/runtime/store_lookup.h"

#include <utility>

#include "orchestrator/store/secrets.h"
#include "orchestrator/store/tables.h"
#include "orchestrator/store/variables.h"

namespace millrace {

template <class T>
std::optional<T> StoreLookup::noted(Result<std::optional<T>> found) const {
  if (found) return std::move(*found);
  if (status_) status_ = tl::unexpected(std::move(found).error());
  return std::nullopt;
}

std::optional<Variable> StoreLookup::variable(const VariableName& name) const {
  return noted(read_variable(view_, name));
}

std::optional<std::string> StoreLookup::secret(NamespaceNumber space, std::string_view name) const {
  return noted(read_secret(view_, space, name));
}

LazyJson StoreLookup::input(const Instance& instance) const {
  if (!instance.input.is_null()) return instance.input;  // it was made in this batch
  Result<LazyJson> found = read_input(view_, instance);
  if (found) return std::move(*found);
  if (status_) status_ = tl::unexpected(std::move(found).error());
  return {};
}

const RetryPolicy* StoreLookup::default_retries(NamespaceNumber space) const {
  const auto& retries = catalog_.settings(space).default_retries;
  return retries ? &*retries : nullptr;
}

const ServicePolicy* StoreLookup::service_policy(NamespaceNumber space,
                                                 const NamedService& service) const {
  const ServiceSetting* const setting = catalog_.find_service(space, service);
  return setting == nullptr || setting->policy.empty() ? nullptr : &setting->policy;
}

std::optional<TimePoint> StoreLookup::last_moved(NamespaceNumber space,
                                                 const InstanceId& instance) const {
  return noted(read_last_moved(view_, space, instance));
}

Status StoreLookup::take_status() { return std::exchange(status_, {}); }

}  // namespace millrace
