// Archive rows: for each namespace with an archive, how far the archive is committed. Rows
// `archive/` of table `meta`. A damaged row gives an error that names it (damage.h).
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "model/archive.h"
#include "model/definition.h"
#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// nullopt: the namespace has no archive.
Result<std::optional<ArchivePosition>> read_archive(const View& view, NamespaceNumber ns);
void write_archive(Transaction& tx, NamespaceNumber ns, const ArchivePosition& position);
void erase_archive(Transaction& tx, NamespaceNumber ns);

/// Visits the archives in the order of the numbers of their namespaces.
Status each_archive(
    const View& view,
    const std::function<void(NamespaceNumber ns, const ArchivePosition& position)>& see,
    const OnDamage& damaged = nullptr);

/// The position in the value of a row. Decoding fails with `store.corrupt`.
Result<ArchivePosition> decode_archive(std::string_view bytes);

}  // namespace millrace
