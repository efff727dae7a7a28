// StoreLookup: the Lookup of the current batch. StoreLookup reads the batch's transaction, so a
// step sees the values that earlier steps of the batch have set. Engine thread only.
#pragma once

#include <string>

#include "model/lookup.h"
#include "orchestrator/batch/quotas.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/outgoing/task_dispatch.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class StoreLookup final : public Lookup {
 public:
  /// `quotas` outlives the StoreLookup; null: no quota refuses anything.
  StoreLookup(const View& view, const Catalog& catalog, const TaskDispatch& tasks,
              std::string_view id_key, Quotas* quotas = nullptr)
      : view_(view), catalog_(catalog), tasks_(tasks), id_key_(id_key), quotas_(quotas) {}

  Result<std::optional<Variable>> variable(const VariableName& name) const override;
  Result<std::optional<std::string>> secret(NamespaceNumber ns,
                                            std::string_view name) const override;
  std::string_view name_of(NamespaceNumber ns) const override { return catalog_.name_of(ns); }
  Result<LazyJson> start_event(const Instance& instance) const override;
  Result<LazyJson> input(const Instance& instance) const override;
  Result<Compensation> compensation(const Instance& instance, uint32_t number) const override;
  const RetryPolicy* default_retries(NamespaceNumber ns) const override;
  const ServicePolicy* service_policy(NamespaceNumber ns,
                                      const NamedService& service) const override;
  bool is_held(NamespaceNumber ns, const NamedService& service) const override {
    return catalog_.is_held(ns, service);
  }
  std::optional<Error> refusal_of_generated(NamespaceNumber ns, TimePoint now) const override;
  std::optional<Error> refusal_of_delayed(NamespaceNumber ns) const override;
  std::optional<Error> refusal_of_variable(const VariableName& name, size_t bytes) const override;
  std::string_view id_key() const override { return id_key_; }
  std::optional<TimePoint> last_moved(NamespaceNumber ns,
                                      const InstanceId& instance) const override;
  std::string awaited_limit(const InstanceId& task) const override;

  /// Returns and clears the first read error since the previous call of take_status(). If there was
  /// an error, the values that the Lookup returned since that call are not valid.
  Status take_status();

 private:
  /// Returns `found` if it is a value or the error of a damaged row. Records any other error, and
  /// returns an empty value instead.
  template <class T>
  Result<T> noted(Result<T> found) const;

  const View& view_;
  const Catalog& catalog_;
  const TaskDispatch& tasks_;
  const std::string id_key_;
  Quotas* const quotas_;
  mutable Status status_;
};

}  // namespace millrace
