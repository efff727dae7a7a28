// The row of the namespace that a request names, and its settings.
#pragma once

#include <string_view>

#include "base/result.h"
#include "orchestrator/definition/namespace_settings.h"
#include "orchestrator/store/rows/catalog_rows.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// Error `namespace.not_found`: no namespace has the name.
Error no_namespace(std::string_view ns);

/// The row. Errors: no_namespace(), and those of the store.
Result<NamespaceRecord> namespace_record(const View& view, std::string_view ns);

/// Its settings; empty settings if there are none that can be read. Errors: those of the store.
Result<NamespaceSettings> readable_settings(const View& view, std::string_view ns);

}  // namespace millrace
