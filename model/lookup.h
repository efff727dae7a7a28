// Lookup: the values outside the instance that a step may read, as of the current batch.
// orchestrator/batch reads them from the transaction; tests have an implementation in memory. A
// temporary read error must not become an outcome of a workflow: the implementation stores the
// error and the batch is lost. A damaged row is permanent, so it is returned as an error and
// becomes an error of the workflow.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"
#include "model/task.h"
#include "model/variable.h"
#include "policies/action_policy.h"

namespace millrace {

/// What stands in the error of a timeout before Lookup::awaited_limit().
inline constexpr std::string_view kWaitedFor = ": it waited for ";

class Lookup {
 public:
  virtual ~Lookup() = default;

  /// The value of a variable; nullopt if the variable does not exist.
  virtual Result<std::optional<Variable>> variable(const VariableName& name) const = 0;
  /// The value of a secret; nullopt if the namespace does not have the secret.
  virtual Result<std::optional<std::string>> secret(NamespaceNumber ns,
                                                    std::string_view name) const = 0;
  /// The name of the namespace of an instance.
  virtual std::string_view name_of(NamespaceNumber /*space*/) const { return {}; }
  /// The value of Instance::start_event, also of an instance that was read without it.
  virtual Result<LazyJson> start_event(const Instance& instance) const {
    return instance.start_event;
  }
  /// The input that an instance was started with.
  virtual Result<LazyJson> input(const Instance& instance) const = 0;
  /// The compensation of the instance with that number, counted from 0, which has a row; those
  /// without a row are in Instance::new_compensations. Error: a damaged or missing row.
  virtual Result<Compensation> compensation(const Instance& /*instance*/,
                                            uint32_t /*number*/) const {
    return fail("store.damaged_row", "the compensation has no row");
  }
  /// The namespace's default retry policy, for actions that have no policy of a narrower scope;
  /// null: the namespace has no such policy.
  virtual const RetryPolicy* default_retries(NamespaceNumber ns) const = 0;
  /// The default policy for calls of the service that have no policy of a narrower scope; null: the
  /// service has no such policy.
  virtual const ServicePolicy* service_policy(NamespaceNumber ns,
                                              const NamedService& service) const = 0;
  /// Whether calls of that service are held: the service is paused, or its address is unknown
  /// because the settings cannot be read.
  virtual bool is_held(NamespaceNumber /*space*/, const NamedService& /*service*/) const {
    return false;
  }
  /// Why the namespace may generate no further event at that time: error
  /// `millrace.quota.eventsPerSecond`; nullopt: it may, and the event is counted. An implementation
  /// may count the refusal.
  virtual std::optional<Error> refusal_of_generated(NamespaceNumber /*space*/,
                                                    TimePoint /*now*/) const {
    return std::nullopt;
  }
  /// Why the namespace may store no further delayed event: error `millrace.quota.storeBytes`;
  /// nullopt: it may. An implementation may count the refusal.
  virtual std::optional<Error> refusal_of_delayed(NamespaceNumber /*space*/) const {
    return std::nullopt;
  }
  /// Why the variable may not get a value of `bytes` bytes: error `millrace.quota.storeBytes`;
  /// nullopt: it may. An implementation may count the refusal.
  virtual std::optional<Error> refusal_of_variable(const VariableName& /*name*/,
                                                   size_t /*bytes*/) const {
    return std::nullopt;
  }
  /// The key of the hash that makes the ids of calls and of the instances that events start, so
  /// that only this store can compute them; empty: the hash has no key.
  virtual std::string_view id_key() const { return {}; }
  /// The time of the latest step of a live instance; nullopt if no live instance has that id.
  virtual std::optional<TimePoint> last_moved(NamespaceNumber ns,
                                              const InstanceId& instance) const = 0;
  /// For what limit of its service a task waits, such as `a slot of service "bank" (limit 3)`;
  /// empty: it waits for none.
  virtual std::string awaited_limit(const InstanceId& /*task*/) const { return {}; }
};

}  // namespace millrace
