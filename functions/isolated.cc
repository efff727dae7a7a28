#include "functions/isolated.h"

#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "functions/container_folder.h"
#include "functions/files.h"
#include "functions/output_lines.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;
using Answer = tl::expected<std::string, Error>;

constexpr const char* kInput = "input.json";
constexpr const char* kCallback = "callback";
constexpr const char* kProgress = "progress.json";
constexpr const char* kVariables = "vars";
constexpr fs::perms kReadable =
    fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read | fs::perms::others_read;
/// The exit code for SIGKILL, as in a shell. The kernel sends SIGKILL when memory is used up.
constexpr int kKilled = 137;
/// The exit code for SIGXFSZ: a file reached the limit of its size.
constexpr int kFileTooLarge = 153;
constexpr size_t kMaxErrorBytes = size_t{64} << 10;

tl::unexpected<Error> error(std::string_view code, std::string message) {
  return tl::unexpected(Error{std::string(code), std::move(message)});
}

tl::unexpected<Error> error(const Error& from) { return error(from.code, from.message); }

Answer bounded(std::string bytes, std::string_view where) {
  if (bytes.size() <= kMaxAnswerBytes) return bytes;
  return error(kFunctionTooLarge,
               fmt::format("{} is larger than {} bytes", where, kMaxAnswerBytes));
}

/// Reads an `error.json`, which is `{"code","msg"}`.
Error error_of(std::string_view text) {
  const Result<Json> parsed = parse_json(text);
  if (!parsed || !parsed->is_object() || !parsed->contains("code") ||
      !(*parsed)["code"].is_string() || (*parsed)["code"].get_ref<const std::string&>().empty()) {
    return {std::string(kFunctionUnavailable), R"(its file error.json is not {"code","msg"})"};
  }
  const Json& message = parsed->value("msg", Json());
  return {(*parsed)["code"].get<std::string>(),
          message.is_string() ? message.get<std::string>() : ""};
}

/// Whether the function has written the file.
bool has_file(const fs::path& file) {
  const Result<std::optional<std::string>> head = head_of_file(file, 0);
  return head && *head;
}

/// The answer of a function that did not write an error.json.
Answer answer_of(const fs::path& folder, const IsolatedEnd& end, IsolatedAnswer& all) {
  if (end.code == kKilled) {
    return error(kFunctionUnavailable,
                 "its container was killed: it may have needed more memory than its size allows");
  }
  if (end.code == kFileTooLarge) {
    return error(kFunctionTooLarge,
                 fmt::format("its container was ended, because it wrote a file of more than {} MiB",
                             kMaxFolderBytes >> 20));
  }
  if (end.code != 0) {
    return error(kFunctionUnavailable, fmt::format("its container ended with code {}{}{}", end.code,
                                                   end.errors.empty() ? "" : ": ", end.errors));
  }
  if (end.may_accept && has_file(folder / "accepted")) {
    all.is_accepted = true;
    return "";
  }
  const Result<std::optional<std::string>> output =
      head_of_file(folder / "output.json", kMaxAnswerBytes + 1);
  if (!output) return error(output.error());
  if (*output) return bounded(**output, "output.json");
  if (has_file(folder / "done")) return "";
  all.is_output_result = true;
  return bounded(end.output, "its standard output");
}

/// Writes a file that all users may read, because a container may run as any user.
bool write_readable(const fs::path& file, std::string_view bytes) {
  std::error_code failed;
  if (!(std::ofstream(file, std::ios::binary) << bytes).flush().good()) return false;
  fs::permissions(file, kReadable, failed);
  return !failed;
}

/// Writes what the function gets besides its variables.
bool write_task(const Task& task, const fs::path& folder) {
  return write_readable(folder / kInput, task.input) &&
         (!task.callback || write_readable(folder / kCallback, task.callback->url)) &&
         (task.progress.empty() || write_readable(folder / kProgress, task.progress));
}

}  // namespace

Status lay_out_isolated(const Task& task, const fs::path& folder) {
  std::error_code failed;
  fs::create_directory(folder, failed);
  // Open to all users like the folders of files, because a container may run as any user.
  if (!failed) fs::permissions(folder, fs::perms::all, failed);
  Status done = !failed && write_task(task, folder)
                    ? lay_out_files(task.files, folder / kVariables)
                    : fail(std::string(kFunctionFiles), "the folder of the task can't be created");
  if (!done) fs::remove_all(folder, failed);
  return done;
}

IsolatedAnswer read_isolated(const fs::path& folder, const IsolatedEnd& end) {
  IsolatedAnswer all{.ended = {.result = ""}};
  const Result<std::optional<std::string>> log =
      head_of_file(folder / "out.log", kMaxOutputBytes + 1);
  if (log && *log) all.log = **log;

  const Result<std::optional<std::string>> failure =
      head_of_file(folder / "error.json", kMaxErrorBytes);
  const bool has_failed_itself = failure && *failure;
  if (has_failed_itself) {
    all.ended.result = tl::unexpected(error_of(**failure));
  } else if (!failure) {
    all.ended.result = error(failure.error());
  } else {
    all.ended.result = answer_of(folder, end, all);
  }
  if (all.is_accepted) return all;
  if (!all.ended.result && !has_failed_itself) return all;

  Result<std::vector<TaskVariable>> variables = collect_variables(folder / kVariables);
  if (variables) {
    all.ended.variables = *std::move(variables);
  } else if (all.ended.result) {
    all.ended.result = error(variables.error());
  }
  return all;
}

}  // namespace millrace
