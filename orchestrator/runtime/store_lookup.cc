#include "orchestrator/runtime/store_lookup.h"

#include <utility>

#include "orchestrator/store/secrets.h"
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

Status StoreLookup::take_status() { return std::exchange(status_, {}); }

}  // namespace millrace
