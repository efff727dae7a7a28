#include "app/public_url.h"

#include <fmt/format.h>

#include "os/host_name.h"

namespace millrace {

std::string public_url(const ServerSettings& settings, uint16_t port) {
  if (!settings.public_url.empty()) return settings.public_url;
  if (!settings.cluster.url.empty()) return settings.cluster.url;
  return fmt::format("http://{}:{}", reachable_host(settings.listen), port);
}

}  // namespace millrace
