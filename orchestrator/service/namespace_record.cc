#include "orchestrator/service/namespace_record.h"

#include <utility>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/ids.h"
#include "orchestrator/store/rows/damage.h"

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

Result<NamespaceSettings> readable_settings(const View& view, std::string_view ns) {
  const auto record = read_namespace(view, ns);
  if (!record && !is_damaged_row(record.error())) return tl::unexpected(record.error());
  if (!record || !*record) return NamespaceSettings();
  return read_settings((*record)->settings).value_or(NamespaceSettings());
}

}  // namespace millrace
