#include "functions/attempt_urls.h"

#include <fmt/format.h>

namespace millrace {

std::string AttemptUrls::files_of(const InstanceId& task) const {
  return fmt::format("{}/v1/tasks/{}/files", public_url(), to_string(task));
}

std::string AttemptUrls::callback_of(std::string_view ns, const InstanceId& task) const {
  return fmt::format("{}/v1/ns/{}/callbacks/{}", public_url(), ns, keys.named_key_of(task));
}

}  // namespace millrace
