// Which requests are looked at at all. Without a token (bearer_token.h) whatever runs on this
// machine may do everything; a web page in its browser may not: it is kept out by the Host header
// (another name that was made to point here) and the Origin header (another site's script). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cloudevents/headers.h"

namespace millrace {

/// Whether a host, without its port, names this machine only: `localhost` and names below it,
/// 127.0.0.0/8, `[::1]`.
bool is_loopback_host(std::string_view host);

/// Errors: `request.host` for a Host that is neither loopback nor one of `hosts`, unless there is a
/// token, which no page knows; `request.origin` for an Origin other than the Host,
/// `request.content_encoding` for a compressed body, `request.malformed` for a second Host.
Status admit(const Headers& headers, const std::vector<std::string>& hosts, bool has_token);

}  // namespace millrace
