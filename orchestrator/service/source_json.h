// A source as it is shown to clients.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "orchestrator/service/source_run.h"
#include "orchestrator/store/rows/source_rows.h"

namespace millrace {

/// A source as it is shown:
/// {"name","stream","ownStream","subjects","rate","paused","begin","createdAt",
/// "appliedAt","position","highest","events","repeated","refused","lastRefusal"?:{"sequence","at",
/// "code","msg"},"reading","read"?,"lag"?,"consumers"?,"recreated"?,"rolledBack"?,"gone"?,
/// "lostEvents"?,"waits"?:{"code","msg"},"notice"?:{"code","msg"}}. `position`: all messages up to
/// it are applied; `highest`: the highest one that is. `stream`: its name, and with "ownStream"
/// that of the stream that millrace makes for the source. `figures`: nullopt if it is not read now.
Json source_json(const std::string& name, const std::string& stream, const SourceRecord& source,
                 const OriginRecord& origin, const std::optional<SourceFigures>& figures);

}  // namespace millrace
