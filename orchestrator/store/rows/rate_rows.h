// Rate rows: how far namespaces have used up the rate of their events (the quota eventsPerSecond),
// as of the cursor. Rows `rate/` of table `meta`. A damaged row gives an error that names it
// (damage.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/instance.h"
#include "model/rate.h"
#include "orchestrator/store/transaction.h"

namespace millrace {

/// nullopt: the namespace has no row, so its bucket is full.
Result<std::optional<RateUse>> read_rate_use(const View& view, NamespaceNumber ns);
void write_rate_use(Transaction& tx, NamespaceNumber ns, const RateUse& use);
void erase_rate_use(Transaction& tx, NamespaceNumber ns);

/// The namespace of a key; nullopt: it is not the key of such a row.
std::optional<NamespaceNumber> namespace_of_rate(std::string_view key);
std::string encode(const RateUse& use);
/// Decoding fails with `store.corrupt`.
Result<RateUse> decode_rate_use(std::string_view bytes);

}  // namespace millrace
