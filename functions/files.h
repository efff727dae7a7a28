// Variables as files, and files as variables (Direktiv's FunctionFileDefinition): what a
// function finds in its folder before it begins, and what it has left in `out/<scope>/` when it is
// done. Names and archives come from strangers: nothing outside the folder is read or written,
// nothing is followed, everything is bounded. For any thread; it blocks on the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/task.h"

namespace millrace {

/// All that is laid out for one task, and all that is collected from it, unpacked.
inline constexpr uint64_t kMaxFilesBytes = uint64_t{64} << 20;
inline constexpr size_t kMaxFilesEntries = 10'000;
/// Variables that one task may set by files.
inline constexpr size_t kMaxFileVariables = 1'000;

inline constexpr size_t kMaxFileName = 1'024;
inline constexpr size_t kMaxFileDepth = 32;

/// Whether a file may have that name in the folder of a task. It is relative: components with one
/// `/` between them, each of 1 to 255 bytes of UTF-8 without control characters and backslashes,
/// none of them `.` or `..`; kMaxFileName bytes and kMaxFileDepth components at most. So what
/// stands before the last `/` are folders, which are made. Error kFunctionFiles says what is wrong.
Status check_file_name(std::string_view name);

/// Makes `folder`, which must not exist, and in it the files, and `out/<scope>/` of each scope for
/// what the function leaves. `tar` and `tar.gz` become a folder of their name, an empty one where
/// the variable is empty. An archive has regular files and folders, each file once; of their modes
/// the right to execute is kept. All may be read and written by whoever reaches the folder,
/// since a container may have any user: who does is the business of the folder around it.
/// Error kFunctionFiles names the file and what is wrong with it; then there is no folder.
Status lay_out_files(const std::vector<TaskFile>& files, const std::filesystem::path& folder);

/// What is in `out/<scope>/`, by scope and name. A file becomes a variable of its name with its
/// bytes, as JSON, text or bytes by what they are; a folder one with a tar.gz of it, whose bytes
/// depend on names, contents and the right to execute only. Error kFunctionFiles names what can't
/// become a variable: then nothing does.
Result<std::vector<TaskVariable>> collect_variables(const std::filesystem::path& folder);

/// The first `most` bytes of a regular file, which a function may have made; nullopt: there is
/// none. Error kFunctionFiles: it is something else, or can't be read.
Result<std::optional<std::string>> head_of_file(const std::filesystem::path& path, size_t most);

}  // namespace millrace
