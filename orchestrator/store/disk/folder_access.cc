#include "orchestrator/store/disk/folder_access.h"

#include <array>
#include <optional>

#include <fmt/format.h>
#include <sys/stat.h>

#include "os/file_access.h"

namespace millrace {
namespace {

/// The files that millrace makes in a data folder.
constexpr std::array kFilesOfStore = {"data.mdb", "lock.mdb",   "journal-0", "journal-1", "lock",
                                      "in-hand",  "secret-key", "clearing",  "node"};

/// The folders that millrace makes for the files of containers, and of calls of services.
constexpr std::array kFoldersOfFiles = {"tasks", "calls"};

}  // namespace

Status refuse_links(const std::filesystem::path& folder) {
  for (const char* const name : kFilesOfStore) {
    TRY(refuse_link(folder / name,
                    "If you have made the link, put the file in its place or name the folder of "
                    "the file with --data; otherwise restore a backup"));
    TRY(refuse_special_file(folder / name));
    TRY(refuse_hard_link(folder / name));
  }
  for (const char* const name : kFoldersOfFiles) {
    TRY(refuse_link(folder / name,
                    "If you have made the link, remove it and name the other folder with "
                    "--container-folder; otherwise restore a backup"));
  }
  return {};
}

Status refuse_shared_folder(const std::filesystem::path& folder) {
  const Result<FileAccess> access = access_to(folder);
  if (!access || !access->others_write) return {};  // opening the files reports other errors
  return fail("store.exposed",
              fmt::format("every user of this machine can change the data folder {}; `chmod 700` "
                          "it, or name a new folder in it, which millrace makes with mode 700",
                          folder.string()));
}

std::vector<std::string> exposed_files(const std::filesystem::path& folder) {
  std::vector<std::string> exposed;
  struct stat found {};
  if (::stat(folder.c_str(), &found) != 0 || (found.st_mode & (S_IXGRP | S_IXOTH)) == 0) {
    return exposed;
  }
  if ((found.st_mode & S_IWGRP) != 0) {
    exposed.push_back(fmt::format(
        "the data folder {} can be changed by every user of its group, who could give millrace "
        "another store; chmod 700 it",
        folder.string()));
  }
  for (const char* const name : kFilesOfStore) {
    if (std::optional<std::string> one = exposure_of(folder / name)) {
      exposed.push_back(*std::move(one));
    }
  }
  return exposed;
}

}  // namespace millrace
