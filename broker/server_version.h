// The version of the NATS server, and whether a server or a cluster can use it. nats.c does not
// report the version, which a NATS server sends to each client that connects.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "broker/connection.h"

namespace millrace {

/// The version in the first line that a NATS server sends: `INFO {"version":"2.10.27",…}`.
/// nullopt: the line is another one. Pure.
std::optional<std::string> version_in_greeting(std::string_view line);

/// The version of the NATS server to which this connection is connected at present. Connects once
/// more and waits for one second at most. nullopt: there is none, or it says no version in that
/// time, such as one that begins with TLS.
std::optional<std::string> server_version(const Connection& connection);

/// Whether the log of a cluster can be on a NATS server of that version. Returns a warning for the
/// operator; empty: none. Error `cluster.broker`: older than 2.10. Pure.
Result<std::string> judge_server_version(std::string_view version);

/// The warning for the operator of a server without a cluster if that version is old; empty: it is
/// not, or the version is not known. Pure.
std::string warning_of_server_version(std::string_view version);

}  // namespace millrace
