// The flags that the deletions of workflows and namespaces share: cancel the instances that have
// not ended, and remove the leftovers of an earlier release. For one thread only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/command_parser.h"
#include "cli/console.h"

namespace millrace {

struct DeleteOptions {
  std::string id;          ///< the id of the workflow or namespace
  bool cancel = false;     ///< cancels the instances that have not ended
  bool drops = false;      ///< these instances make no compensation
  bool leftovers = false;  ///< `id` is the number under which an earlier release left rows
};

/// Adds the flags to the verb. The verb adds the argument `id` itself.
inline void add_deletion(Verb& verb, DeleteOptions& options) {
  verb.flag("--cancel", options.cancel, "Cancel the instances that have not ended");
  verb.flag("--drop-compensations", options.drops,
            "With --cancel: make no compensation of these instances");
  verb.flag(
      "--leftovers", options.leftovers,
      "Finish a deletion that an earlier release left incomplete; instead of the name, give the "
      "number that `millrace verify` shows");
}

/// Exit kUsage: only instances that are cancelled have compensations to drop, and a deletion that
/// an earlier release left has no instances to cancel.
inline Fallible<void> check_deletion(const DeleteOptions& options) {
  if (options.drops && !options.cancel) {
    return wrong_usage("--drop-compensations: only with --cancel");
  }
  if (!options.cancel || !options.leftovers) return {};
  return wrong_usage("--cancel: leftovers have no instances; leave out --cancel or --leftovers");
}

/// The flags as query parameters.
inline std::vector<std::pair<std::string, std::string>> deletion_query(
    const DeleteOptions& options) {
  return {{"cancel", options.cancel ? "1" : ""},
          {"dropCompensations", options.drops ? "1" : ""},
          {"leftovers", options.leftovers ? "1" : ""}};
}

}  // namespace millrace
