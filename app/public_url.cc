#include "app/public_url.h"

#include <fmt/format.h>

#include "os/host_name.h"

namespace millrace {

std::string public_url(const ServerSettings& settings, uint16_t port) {
  if (!settings.public_url.empty()) return settings.public_url;
  if (!settings.cluster.url.empty()) return settings.cluster.url;
  std::string host = settings.listen.substr(0, settings.listen.rfind(':'));
  if (host.empty()) host = "127.0.0.1";
  if (host == "0.0.0.0" || host == "[::]") host = host_name();
  return fmt::format("http://{}:{}", host, port);
}

}  // namespace millrace
