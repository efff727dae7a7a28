// Decides from the headers whether a request is processed at all. Without a token (bearer_token.h)
// every program on this machine may do everything, but a web page in a browser on this machine may
// not. The check of the Host header stops a page whose own name was made to resolve to this
// machine; the checks of the headers Origin and Sec-Fetch-Site stop scripts and forms of other
// sites. request_head.h has checked before that each of these headers occurs once. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cloudevents/headers.h"

namespace millrace {

/// Errors: `request.host` for a Host that is neither loopback nor one of `hosts`, unless the server
/// has a token, which no web page knows; `request.origin` for an Origin other than the Host, and
/// without a token for a Sec-Fetch-Site other than `same-origin` and `none`;
/// `request.content_encoding` for a compressed body.
Status admit(const Headers& headers, const std::vector<std::string>& hosts, bool has_token);

}  // namespace millrace
