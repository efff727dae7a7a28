// The fields of a variable that getter and setter have in common: its key and its scope.
#pragma once

#include <string>

#include "model/variable.h"

namespace millrace {

class StateFields;

struct VariableReference {
  VariableScope scope = VariableScope::kInstance;
  std::string key;
};

/// Reads `key` and `scope` of an entry of `variables`.
VariableReference variable_reference(StateFields& entry);

}  // namespace millrace
