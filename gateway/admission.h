// Decides from the headers whether a request is processed at all. Without a token (bearer_token.h)
// every program on this machine may do everything, but a web page in a browser on this machine may
// not. The check of the Host header stops a page whose own name was made to resolve to this
// machine; the checks of the headers Origin and Sec-Fetch-Site stop scripts and forms of other
// sites. request_head.h has checked before that each of these headers occurs once. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cloudevents/headers.h"

namespace millrace {

/// What the server that got a request accepts.
struct AdmissionRules {
  std::span<const std::string> hosts;  ///< accepted Host headers besides loopback names
  /// Accepted Origin headers besides that of the Host header, such as `https://ops.example`.
  std::span<const std::string> origins;
  bool has_token = false;  ///< the server requires a token, which no web page knows
  bool is_page = false;    ///< the request is for a file of the page (Route::is_page)
};

/// Errors: `request.host` for a Host that is neither loopback nor one of `hosts`, unless the server
/// has a token; `request.origin` for an Origin other than the Host and `origins`, and without a
/// token for a Sec-Fetch-Site other than `same-origin` and `none`, except for the page, which a
/// link of another site may open; `request.content_encoding` for a compressed body.
Status admit(const Headers& headers, const AdmissionRules& rules);

}  // namespace millrace
