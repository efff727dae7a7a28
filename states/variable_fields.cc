#include "states/variable_fields.h"

#include <fmt/format.h>

#include "states/state_fields.h"

namespace millrace {

VariableReference variable_reference(StateFields& entry) {
  VariableReference variable;
  variable.key = entry.required_nonempty("key");
  if (!variable.key.empty() && !is_variable_key(variable.key)) {
    entry.plain().report(
        "key", "definition.variable_key",
        fmt::format("{} cannot name a variable: {}", in_quotes(variable.key), kVariableKeyRule));
  }
  const auto scope =
      entry.plain().one_of<VariableScope>("scope", {{"instance", VariableScope::kInstance},
                                                    {"workflow", VariableScope::kWorkflow},
                                                    {"namespace", VariableScope::kNamespace}});
  variable.scope = scope.value_or(VariableScope::kInstance);
  return variable;
}

}  // namespace millrace
