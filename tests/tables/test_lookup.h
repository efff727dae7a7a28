// TestLookup: a Lookup in memory. The next step sees what a step has set, as in a batch. A test
// that needs another answer to one question overrides its function.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/effect.h"
#include "model/lookup.h"

namespace millrace {

class TestLookup : public Lookup {
 public:
  Result<std::optional<Variable>> variable(const VariableName& name) const override {
    for (const auto& [known, value] : variables_) {
      if (known == name) return std::optional(value);
    }
    return std::optional<Variable>();
  }

  Result<std::optional<std::string>> secret(NamespaceNumber, std::string_view name) const override {
    const auto found = secrets_.find(name);
    return found == secrets_.end() ? std::nullopt : std::optional(found->second);
  }

  std::string_view name_of(NamespaceNumber) const override { return "default"; }
  Result<LazyJson> input(const Instance& instance) const override { return instance.input; }

  const RetryPolicy* default_retries(NamespaceNumber) const override { return nullptr; }
  const ServicePolicy* service_policy(NamespaceNumber, const NamedService&) const override {
    return nullptr;
  }

  std::optional<TimePoint> last_moved(NamespaceNumber, const InstanceId& child) const override {
    const auto found = moved_.find(child);
    return found == moved_.end() ? std::nullopt : std::optional(found->second);
  }
  void set_moved(const InstanceId& child, TimePoint at) { moved_[child] = at; }

  void set_secret(std::string name, std::string value) {
    secrets_.insert_or_assign(std::move(name), std::move(value));
  }

  void take(const SetVariable& set) {
    std::erase_if(variables_, [&](const auto& one) { return one.first == set.name; });
    if (set.value) variables_.emplace_back(set.name, *set.value);
  }

 private:
  std::vector<std::pair<VariableName, Variable>> variables_;
  std::map<std::string, std::string, std::less<>> secrets_;
  std::map<InstanceId, TimePoint> moved_;
};

}  // namespace millrace
