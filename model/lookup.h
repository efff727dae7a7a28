// Lookup: what a step may read beyond its instance, as it stands in the batch that the step belongs
// to. orchestrator/batch reads it from the transaction; tests have one in memory. A read that
// fails for the moment is not an outcome of a workflow: the runtime keeps the error and loses the
// batch. A row that is damaged stays so: that is an error here, and one of the workflow.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/task.h"
#include "model/variable.h"
#include "policies/action_policy.h"

namespace millrace {

class Lookup {
 public:
  virtual ~Lookup() = default;

  /// nullopt: there is none.
  virtual Result<std::optional<Variable>> variable(const VariableName& name) const = 0;
  virtual Result<std::optional<std::string>> secret(NamespaceNumber space,
                                                    std::string_view name) const = 0;
  /// What an instance was started with.
  virtual Result<LazyJson> input(const Instance& instance) const = 0;
  /// What actions of the namespace have where nothing nearer gives them a policy; null: none.
  virtual const RetryPolicy* default_retries(NamespaceNumber space) const = 0;
  /// What calls of that service have where nothing nearer says otherwise; null: nothing.
  virtual const ServicePolicy* service_policy(NamespaceNumber space,
                                              const NamedService& service) const = 0;
  /// Whether calls of that service wait until it goes on: it is paused, or it is not known where it
  /// is, since the settings can't be read.
  virtual bool is_held(NamespaceNumber /*space*/, const NamedService& /*service*/) const {
    return false;
  }
  /// What the ids of calls are keyed with, so that only this store can compute them; empty: they
  /// are not.
  virtual std::string_view id_key() const { return {}; }
  /// When a living instance last did anything; nullopt: there is none of that id.
  virtual std::optional<TimePoint> last_moved(NamespaceNumber space,
                                              const InstanceId& instance) const = 0;
};

}  // namespace millrace
