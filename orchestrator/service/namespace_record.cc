#include "orchestrator/service/namespace_record.h"

#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/ids.h"

namespace millrace {

Error no_namespace(std::string_view ns) {
  return {"namespace.not_found", fmt::format("there is no namespace \"{}\"", excerpt(ns))};
}

Result<NamespaceRecord> namespace_record(const View& view, std::string_view ns) {
  // A text that is not an identifier names no namespace, and may be too long for a key.
  if (is_identifier(ns)) {
    if (auto record = TRY(read_namespace(view, ns))) return *std::move(record);
  }
  return tl::unexpected(no_namespace(ns));
}

}  // namespace millrace
