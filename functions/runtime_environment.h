// The environment variables that the command line of the container runtime gets. The environment of
// millrace has credentials that neither the runtime nor a container needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// The variables of `all`, as `NAME=value`, by which podman and docker find their programs,
/// storage, sockets and registries, and the proxies through which they pull images. If there is no
/// PATH, a PATH with the folders of the system is added.
std::vector<std::string> runtime_environment(const std::vector<std::string_view>& all);

/// The same for the environment of this process.
std::vector<std::string> runtime_environment();

}  // namespace millrace
