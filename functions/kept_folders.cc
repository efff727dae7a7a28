#include "functions/kept_folders.h"

#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "functions/call_folder.h"
#include "functions/container_folder.h"

namespace millrace {
namespace {

constexpr size_t kBytesOfId = 36;

/// Whether this process may use what the folder of that epoch has. Another node of a cluster that
/// had the call meanwhile was the active in an epoch between the two.
bool continues(uint64_t epoch, uint64_t kept) { return epoch == kept || epoch == kept + 1; }

}  // namespace

std::string KeptFolders::name_of(const InstanceId& task, const std::string& delivery) {
  return fmt::format("{}-{}", to_string(task), delivery);
}

void KeptFolders::find(const std::filesystem::path& folder, uint64_t epoch,
                       const AwaitsFiles& awaits_files) {
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::absolute(folder, ignored);
  // In another user's folder, or behind a link, there is nothing that millrace has kept.
  if (!is_own_folder(path)) return remove_folder(path);
  std::vector<std::filesystem::path> all;
  for (std::filesystem::directory_iterator entry(path, ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    all.push_back(entry->path());
  }
  for (const std::filesystem::path& one : all) {
    const std::string name = one.filename();
    const Result<InstanceId> task = parse_instance_id(name.substr(0, kBytesOfId));
    const std::optional<FolderMark> mark = CallFolder::mark_of(one);
    const bool is_named = task && name.size() > kBytesOfId + 1 && name[kBytesOfId] == '-';
    // If the store cannot say it now, the folder stays.
    const bool is_used =
        is_named && mark && continues(epoch, mark->epoch) && awaits_files(*task).value_or(true);
    if (is_used) {
      const Kept kept{.path = one, .delivery = name.substr(kBytesOfId + 1)};
      if (found_.try_emplace(*task, kept).second) continue;
    }
    remove_folder(one);
  }
}

std::optional<KeptFolders::Kept> KeptFolders::take(const InstanceId& task) {
  auto found = found_.extract(task);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

}  // namespace millrace
