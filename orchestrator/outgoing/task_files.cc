#include "orchestrator/outgoing/task_files.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "orchestrator/store/rows/damage.h"
#include "orchestrator/store/rows/task_rows.h"
#include "orchestrator/store/rows/variable_rows.h"

namespace millrace {
namespace {

/// A variable of more bytes is read by the runner of its task.
constexpr uint64_t kMostReadBytes = uint64_t{64} << 10;

/// Reads the value of a large variable, which had this sealing when its task was handed out.
Result<std::string> read_large(const ReadVariable& read, const VariableName& name, Sealing sealed) {
  Result<std::optional<Variable>> found = read(name);
  if (!found) {
    return fail(std::string(kFunctionFiles),
                fmt::format("reading variable {}: {}", name.key, found.error().message));
  }
  if (!*found) return std::string();
  if ((*found)->sealed.level() > sealed.level()) {
    return fail(std::string(kFunctionFiles),
                fmt::format("variable {} has got data of a secret since the call began; call the "
                            "function again",
                            name.key));
  }
  return std::move((*found)->bytes);
}

}  // namespace

Result<FilesOfTask> files_of(const View& view, const StartTask& task, const ReadVariable& read) {
  FilesOfTask files;
  for (const FunctionFile& file : task.files) {
    const VariableName name{owner_of(task.ns, task.workflow, task.by, file.scope), file.key};
    const auto failed = [&](const Error& error) -> Result<FilesOfTask> {
      if (is_damaged_row(error)) return tl::unexpected(error);
      return fail(error.code, fmt::format("reading variable {}: {}", file.key, error.message));
    };
    files.all.push_back({.name = file.as, .type = file.type, .bytes = {}});
    const auto head = read_variable_head(view, name);
    if (!head) return failed(head.error());
    if (!*head) continue;
    files.sealed |= (*head)->sealed;
    files.bytes += (*head)->size;
    if (read && (*head)->size > kMostReadBytes) {
      files.all.back().read = [read, name, sealed = (*head)->sealed] {
        return read_large(read, name, sealed);
      };
      continue;
    }
    auto found = read_variable(view, name);
    if (!found) return failed(found.error());
    if (*found) files.all.back().bytes = std::move((*found)->bytes);
  }
  return files;
}

bool has_served_files(const StartTask& task) {
  return std::holds_alternative<NamedService>(task.runs) && !task.files.empty();
}

Result<bool> awaits_files(const View& view, const InstanceId& task) {
  const std::optional<StartTask> found = TRY(read_task(view, task));
  return found && found->is_accepted && has_served_files(*found);
}

}  // namespace millrace
