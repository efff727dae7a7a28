// Checks the head of a request where RFC 9112 leaves room: a proxy and this server must not differ
// about where a request ends, which host it is for, or which of two equal headers counts. Such a
// request is refused, so the connection ends with the answer. Pure.
#pragma once

#include <string_view>

#include "base/result.h"
#include "cloudevents/headers.h"

namespace millrace {

/// The parts of a request's head that decide how it is read.
struct RequestHead {
  unsigned version = 11;    ///< 10 for HTTP/1.0, 11 for HTTP/1.1
  std::string_view target;  ///< of the request line
  const Headers& headers;
  bool has_folded_line = false;  ///< a header continues on another line
};

/// Error `request.malformed`: a header continues on another line; a header that may occur once
/// occurs twice; HTTP/1.1 without a Host header; a Host header that is not a host and a port; a
/// target with another host than the Host header; a Content-Length that is not one number; a
/// Transfer-Encoding other than `chunked`, in HTTP/1.0, or beside a Content-Length.
Status check_head(const RequestHead& head);

}  // namespace millrace
