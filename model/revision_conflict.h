// The conflict of a definition with a revision that was made meanwhile. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace millrace {

/// The newest revision of a workflow.
struct NewestRevision {
  uint64_t number = 0;    ///< 0: the workflow does not exist
  std::string_view text;  ///< empty: it is not known, because its row is damaged
};

/// Error `workflow.revision_conflict` if a definition of the workflow with that text was made from
/// the revision `base`, and another one with another text is the newest; nullopt: it may be
/// applied. `base`: 0: from none; nullopt: it is to be applied in any case.
std::optional<Error> revision_conflict(std::string_view workflow, std::string_view text,
                                       const std::optional<uint64_t>& base,
                                       const NewestRevision& newest);

}  // namespace millrace
