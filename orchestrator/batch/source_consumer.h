// The consumer at the broker of a source that consumes its stream. It is the source's own, and the
// stream may keep messages for it; so it must go when the source does not have it any more
// (left_consumer_rows.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/origin_mark.h"
#include "orchestrator/store/rows/left_consumer_rows.h"
#include "orchestrator/store/rows/source_rows.h"

namespace millrace {

/// The name of the consumer of a source, as OriginWish has it. The beginning of the source's id,
/// which is random, makes it unique among the sources of all servers: both names may contain `-`.
std::string consumer_name(std::string_view ns, std::string_view name, const SourceId& source);

/// The consumer of a source of the namespace `ns` that consumes its stream; nullopt: it does not,
/// or its settings cannot be read.
std::optional<SourceConsumer> consumer_of(std::string_view ns, const SourcePlace& place,
                                          const SourceRecord& record);

}  // namespace millrace
