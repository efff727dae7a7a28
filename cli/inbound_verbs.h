// The part of `millrace workflow apply` that applies inbound files. For one thread only.
#pragma once

#include <vector>

#include "base/json.h"
#include "cli/session.h"
#include "cli/source.h"

namespace millrace {

struct AppliedInboundFiles {
  /// {"kind":"source"|"webhook","id","changed","created"} for each entry that was applied.
  Json items = Json::array();
  bool has_errors = false;  ///< findings that are errors were printed
};

/// Applies the inbound files to the namespace of the session, and prints findings. Also prints
/// which sources and inbound webhooks of the namespace are in none of the files; they stay. Fails
/// if the namespace does not exist, or the server cannot be asked.
Fallible<AppliedInboundFiles> apply_inbound_files(Session& session,
                                                  const std::vector<DefinitionFile>& files,
                                                  bool is_dry_run);

}  // namespace millrace
