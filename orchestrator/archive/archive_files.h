// The files of an archive: `NAMESPACE.NUMBER/000001.jsonl`, `000002.jsonl`, … in the folder of the
// archives, with a line of JSON for each deleted instance. NUMBER is the number of the namespace,
// so that a namespace that is created again has another folder. A link in place of a file or of the
// folder of a namespace is refused; the folder of the archives itself may be one. Blocking; for one
// thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/archive.h"
#include "orchestrator/ports/archiver.h"

namespace millrace {

/// The folder of the archives within the data folder.
inline constexpr std::string_view kArchiveFolder = "archive";

/// The file of that number. The name is the namespace's.
std::filesystem::path archive_file(const std::filesystem::path& folder, NamespaceNumber ns,
                                   std::string_view name, uint32_t file);

/// Makes the line of an instance, without its line feed. nullopt: the instance was started again
/// since, or no longer exists. Errors: its rows cannot be read.
using ArchiveLine = std::function<Result<std::optional<std::string>>(
    std::string_view ns, const ArchivePageEntry& entry)>;

/// Checks that the disk has space for a line of `line` bytes: afterwards 128 MiB must stay free, or
/// a quarter of the disk if that is less. `free`, `whole`: bytes of the disk. Error
/// `archive.write`.
Status check_archive_space(const std::filesystem::path& path, uint64_t free, uint64_t whole,
                           uint64_t line);

/// Writes a page as ArchivePage and ArchivedPage describe. After an error the file has no line of
/// the page. An error, and an instance whose line cannot be made, are reported in the log.
ArchivedPage write_page(const std::filesystem::path& folder, const ArchivePage& page,
                        const ArchiveLine& line);

/// Removes what the file of `at` has behind that position: the lines of a page that was not
/// committed when the process ended. A file that is missing or shorter is left as it is. Errors
/// `archive.write`, `store.link`.
Status cut_archive(const std::filesystem::path& folder, NamespaceNumber ns, std::string_view name,
                   const ArchivePosition& at);

/// The bytes of the files in the folder of the archives, those of all namespaces together; 0: there
/// is no archive. nullopt: there are more than 10 000 files and folders, or they cannot be read.
std::optional<uint64_t> archive_bytes(const std::filesystem::path& folder);

}  // namespace millrace
