// StoreLookup: the Lookup of the batch in hand, on its transaction: what an earlier step has set is
// there for a later one. Engine thread only.
#pragma once

#include <string>

#include "model/lookup.h"
#include "orchestrator/memory/catalog.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

class StoreLookup final : public Lookup {
 public:
  StoreLookup(const View& view, const Catalog& catalog, std::string_view id_key)
      : view_(view), catalog_(catalog), id_key_(id_key) {}

  Result<std::optional<Variable>> variable(const VariableName& name) const override;
  Result<std::optional<std::string>> secret(NamespaceNumber space,
                                            std::string_view name) const override;
  Result<LazyJson> input(const Instance& instance) const override;
  const RetryPolicy* default_retries(NamespaceNumber space) const override;
  const ServicePolicy* service_policy(NamespaceNumber space,
                                      const NamedService& service) const override;
  bool is_held(NamespaceNumber space, const NamedService& service) const override {
    return catalog_.is_held(space, service);
  }
  std::string_view id_key() const override { return id_key_; }
  std::optional<TimePoint> last_moved(NamespaceNumber space,
                                      const InstanceId& instance) const override;

  /// The first error of a read since this was asked before: what was told then is not so.
  Status take_status();

 private:
  /// Notes an error that is not of a damaged row, and has nothing in its place.
  template <class T>
  Result<T> noted(Result<T> found) const;

  const View& view_;
  const Catalog& catalog_;
  const std::string id_key_;
  mutable Status status_;
};

}  // namespace millrace
