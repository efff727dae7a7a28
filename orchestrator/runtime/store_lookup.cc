#include "orchestrator/runtime/store_lookup.h"

#include <utility>

#include "orchestrator/store/variables.h"

namespace millrace {

std::optional<Variable> StoreLookup::variable(const VariableName& name) const {
  auto found = read_variable(view_, name);
  if (found) return std::move(*found);
  if (status_) status_ = tl::unexpected(std::move(found).error());
  return std::nullopt;
}

Status StoreLookup::take_status() { return std::exchange(status_, {}); }

}  // namespace millrace
