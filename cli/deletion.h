// What the deletions of workflows and namespaces have in common: what is done about instances that
// have not ended, and about what an earlier deletion left. One thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/command_parser.h"

namespace millrace {

struct DeleteOptions {
  std::string id;          ///< of what is deleted
  bool cancel = false;     ///< instances that have not ended
  bool leftovers = false;  ///< `id` is the number of what an earlier deletion left
};

/// Adds the flags to the verb; its argument is the verb's own.
inline void add_deletion(Verb& verb, DeleteOptions& options) {
  verb.flag("--cancel", options.cancel, "Cancel the instances that have not ended");
  verb.flag("--leftovers", options.leftovers,
            "Finish a deletion by an earlier release: give the number that `millrace verify` shows "
            "instead of the name");
}

/// The flags as parameters of the call.
inline std::vector<std::pair<std::string, std::string>> deletion_query(
    const DeleteOptions& options) {
  return {{"cancel", options.cancel ? "1" : ""}, {"leftovers", options.leftovers ? "1" : ""}};
}

}  // namespace millrace
