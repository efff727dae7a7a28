#include "functions/attempt_urls.h"

#include <utility>

#include <fmt/format.h>

namespace millrace {

std::string AttemptUrls::files_of(const InstanceId& task) const {
  return fmt::format("{}/v1/tasks/{}/files", public_url(), to_string(task));
}

std::string AttemptUrls::callback_of(std::string_view ns, const InstanceId& task,
                                     std::string_view key) const {
  return fmt::format("{}/v1/ns/{}/callbacks/{}.{}", public_url(), ns, to_string(task), key);
}

TaskCallback AttemptUrls::callback_of(const Task& task) const {
  std::string key = task.folder ? task.folder->key : keys.key_of(task.id);
  return {.url = callback_of(task.ns, task.id, key), .key = std::move(key)};
}

}  // namespace millrace
