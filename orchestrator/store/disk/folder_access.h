// Who may use a data folder besides millrace. Another user who can write to the folder could give
// millrace a store of that user's choice, or plant links that make millrace write to other files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace {

/// Error `store.link`: one of the files that millrace makes in a data folder is a symbolic link, a
/// named pipe, a socket or a device, or has a second name (a hard link), or its folder `tasks` is a
/// link. millrace makes none of them. A folder that does not exist has none.
Status refuse_links(const std::filesystem::path& folder);

/// Error `store.exposed`: every user of the machine may change the folder.
Status refuse_shared_folder(const std::filesystem::path& folder);

/// The files of the folder that users other than the owner may read or change, and the folder
/// itself if its group may change it, each with the reason, for warnings. Empty if no other user
/// may enter the folder.
std::vector<std::string> exposed_files(const std::filesystem::path& folder);

}  // namespace millrace
