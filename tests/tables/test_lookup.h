// TestLookup: a Lookup in memory. What a step sets is there for the next one, as in a batch.
#pragma once

#include <utility>
#include <vector>

#include "model/effect.h"
#include "model/lookup.h"

namespace millrace {

class TestLookup final : public Lookup {
 public:
  std::optional<Variable> variable(const VariableName& name) const override {
    for (const auto& [known, value] : variables_) {
      if (known == name) return value;
    }
    return std::nullopt;
  }

  void take(const SetVariable& set) {
    std::erase_if(variables_, [&](const auto& one) { return one.first == set.name; });
    if (set.value) variables_.emplace_back(set.name, *set.value);
  }

 private:
  std::vector<std::pair<VariableName, Variable>> variables_;
};

}  // namespace millrace
