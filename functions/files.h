// Variables as files, and files as variables (Direktiv's FunctionFileDefinition): the files that a
// function finds in its folder when it starts, and the files that it has left in `out/<scope>/`
// when it ends. Names and archives are untrusted input: nothing outside of the folder is read or
// written, links are not followed, and everything has a limit. Any thread; the functions block on
// the disk.
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

/// The limits for all files that one task is given, and again for all files that are collected from
/// it; an archive counts with its unpacked size.
inline constexpr uint64_t kMaxFilesBytes = uint64_t{64} << 20;
inline constexpr size_t kMaxFilesEntries = 10'000;
/// The number of variables that one task may set with files.
inline constexpr size_t kMaxFileVariables = 1'000;

inline constexpr size_t kMaxFileName = 1'024;
inline constexpr size_t kMaxFileDepth = 32;

/// What a variable has at most, and what to do with a larger file; for errors.
std::string limit_of_variable();

/// Whether a file in the folder of a task may have the name `name`. A name is relative: components
/// with one `/` between them, each of 1 to 255 bytes of UTF-8 without control characters and
/// backslashes, none of them `.` or `..`; at most kMaxFileName bytes and kMaxFileDepth components.
/// The components before the last are folders, which are created. Error kFunctionFiles has the
/// reason.
Status check_file_name(std::string_view name);

/// Creates `folder`, which must not exist, the files in it, and `out/<scope>/` of each scope for
/// the variables that the function sets. A file of type `tar` or `tar.gz` becomes a folder with the
/// name of the file; the folder is empty if the variable is empty. An archive may have regular
/// files and folders, each file once; of their modes only the right to execute is used. All users
/// with access to the folder can read and write all files, because a container may run as any user;
/// the folder above limits the access. Error kFunctionFiles names the file and the reason; `folder`
/// does not exist then.
Status lay_out_files(const std::vector<TaskFile>& files, const std::filesystem::path& folder);

/// The files in `out/<scope>/`, by scope and name. A file becomes a variable with the file's name
/// and bytes; the content decides between JSON, text and binary. A folder becomes a tar.gz, whose
/// bytes depend only on names, contents and the right to execute. Error kFunctionFiles names the
/// file that cannot become a variable; then no variable is set.
Result<std::vector<TaskVariable>> collect_variables(const std::filesystem::path& folder);

/// The first `most` bytes of a regular file, which a function may have created; nullopt: the file
/// does not exist. Error kFunctionFiles: it is not a regular file, or can't be read.
Result<std::optional<std::string>> head_of_file(const std::filesystem::path& path, size_t most);

}  // namespace millrace
