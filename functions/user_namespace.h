// Whether podman can give each container a user namespace with users of its own
// (`--userns=auto`).
#pragma once

#include <string_view>

namespace millrace {

/// Whether one of the lines `NAME:FIRST:COUNT` of /etc/subuid or /etc/subgid gives ids to the user
/// `containers`, from which podman takes the users of containers if it runs as root.
bool has_container_ids(std::string_view lines);

/// Whether this process runs as root and the system has such ids. If podman runs as another user,
/// the user of a container is already one without rights; and with users of its own, a container
/// would leave files that millrace can neither read nor remove.
bool maps_container_users();

}  // namespace millrace
