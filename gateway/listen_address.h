// The address on which the gateway listens, as the option `--listen` has it. Pure.
#pragma once

#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "base/result.h"

namespace millrace {

/// Parses `127.0.0.1:8780`, `[::1]:8780`, `localhost:8780` or `:8780`. Errors:
/// `gateway.malformed_address`, `gateway.refused_address` (not loopback, and no token).
Result<boost::asio::ip::tcp::endpoint> parse_listen_address(const std::string& text,
                                                            bool has_token);

}  // namespace millrace
