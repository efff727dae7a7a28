#include "functions/runtime_environment.h"

#include <algorithm>
#include <array>

#include <unistd.h>

namespace millrace {
namespace {

constexpr std::string_view kSystemPath =
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

constexpr std::array<std::string_view, 31> kPassedVariables = {
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR",
    // The storage, the settings and the sockets of a user.
    "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS",
    // The server of the runtime.
    "CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINER_SSHKEY", "DOCKER_HOST", "DOCKER_CONTEXT",
    "DOCKER_CERT_PATH", "DOCKER_TLS", "DOCKER_TLS_VERIFY", "DOCKER_API_VERSION",
    // Settings in files, and the file with the logins of registries.
    "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "CONTAINERS_REGISTRIES_CONF", "DOCKER_CONFIG",
    "REGISTRY_AUTH_FILE", "SSL_CERT_FILE", "SSL_CERT_DIR",
    // For the pull of images; containers do not get them.
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"};

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

}  // namespace

std::vector<std::string> runtime_environment(const std::vector<std::string_view>& all) {
  std::vector<std::string> passed;
  bool has_path = false;
  for (const std::string_view variable : all) {
    const std::string_view name = name_of(variable);
    if (std::find(kPassedVariables.begin(), kPassedVariables.end(), name) ==
        kPassedVariables.end()) {
      continue;
    }
    has_path = has_path || name == "PATH";
    passed.emplace_back(variable);
  }
  if (!has_path) passed.emplace_back(kSystemPath);
  return passed;
}

std::vector<std::string> runtime_environment() {
  std::vector<std::string_view> all;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    all.emplace_back(*variable);
  }
  return runtime_environment(all);
}

}  // namespace millrace
